public import TapedeckModel
public import TapedeckProjections

/// Hands a video of YouTube in, unless it is there already.
///
/// ```swift
/// let submit = try SubmitVideo("https://youtu.be/aqz-KE-bpKQ", title: "Big Buck Bunny")
/// try await store.decide { try submit.decide(VideoQueries($0)) }
/// ```
public struct SubmitVideo: Sendable {
    /// What is recorded.
    public let submission: VideoSubmitted

    /// Makes the command.
    ///
    /// - Parameters:
    ///   - video: the address of the video's page, or its key.
    ///   - title: its title; nil where it is not known.
    ///   - thumbnail: where its still picture is; nil where that is not known.
    ///
    /// Throws `ModelError`: `.invalidVideo` for what is no video of YouTube, `.tooLarge`.
    public init(
        _ video: String, title: String? = nil, thumbnail: String? = nil
    ) throws(ModelError) {
        var event = VideoSubmitted()
        let key = try VideoKey(video)
        event.video = key.text
        // A key of YouTube has no slash, an address has.
        if video.contains("/") { event.url = video }
        if let title { event.title = title }
        if let thumbnail { event.thumbnail = thumbnail }
        submission = try event.normalized()
    }

    /// What happens: the submission, or nothing.
    ///
    /// Nothing is to be done where a remote lists the video or an earlier submission still waits; one that
    /// was refused is handed in again.
    ///
    /// Throws `ModelError` with `.signInRequired` where nobody is signed in. Costs a few look-ups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        _ = try queries.requireSignedIn()
        switch try queries.submission(video: submission.video)?.state {
        case .registered, .submitted: return []
        case .refused, nil: return [submission]
        }
    }
}
