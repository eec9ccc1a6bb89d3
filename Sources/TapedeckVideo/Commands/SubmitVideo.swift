public import TapedeckModel
public import TapedeckProjections

/// Submits a YouTube video that has not been submitted yet.
///
/// ```swift
/// let submit = try SubmitVideo("https://youtu.be/aqz-KE-bpKQ", title: "Big Buck Bunny")
/// try await store.decide { try submit.decide(VideoQueries($0)) }
/// ```
public struct SubmitVideo: Sendable {
    /// The event to record.
    public let submission: VideoSubmitted

    /// Creates the command.
    ///
    /// - Parameters:
    ///   - video: The URL of the video's page, or the video's key.
    ///   - title: The title; nil if unknown.
    ///   - thumbnail: The URL of the still picture; nil if unknown.
    ///
    /// Throws `ModelError`: `.invalidVideo` if `video` is not a YouTube video, and `.tooLarge` if a
    /// field is too long.
    public init(
        _ video: String, title: String? = nil, thumbnail: String? = nil
    ) throws(ModelError) {
        var event = VideoSubmitted()
        let key = try VideoKey(video)
        event.video = key.text
        // Unlike a URL, a YouTube key contains no slash.
        if video.contains("/") { event.url = video }
        if let title { event.title = title }
        if let thumbnail { event.thumbnail = thumbnail }
        submission = try event.normalized()
    }

    /// Returns the submission, or nothing if a remote lists the video or an earlier submission is
    /// pending.
    ///
    /// If a remote refused an earlier submission, the video is submitted again. Throws `ModelError`
    /// with `.signInRequired` if the user is not signed in. The cost is a few lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        _ = try queries.requireSignedIn()
        switch try queries.submission(video: submission.video)?.state {
        case .registered, .submitted: return []
        case .refused, nil: return [submission]
        }
    }
}
