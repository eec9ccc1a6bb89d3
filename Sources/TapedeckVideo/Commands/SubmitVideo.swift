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

    /// Returns the submission, or nothing if a remote lists the video or an earlier submission of
    /// this account is pending.
    ///
    /// If a remote refused an earlier submission, the video is submitted again. Throws `ModelError`
    /// with `.signInRequired` if the user is not signed in. The cost is a few lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        _ = try queries.requireSignedIn()
        switch try queries.submission(video: submission.video)?.state {
        case .registered: return []
        case .submitted: return try queries.isSubmitting(submission.video) ? [] : [submission]
        case .refused, nil: return [submission]
        }
    }
}

extension VideoQueries {
    /// Returns whether a submission of this account is pending for a video.
    fileprivate func isSubmitting(_ video: String) throws -> Bool {
        let account = try deviceAccount(at: BirdTube.system)
        let key = try VideoKey(video).tag
        let waiting = try reader.items(
            of: projections.submissions, key: key, prefix: RowKey(OwnIntents.waiting), after: nil,
            limit: QueryLimits.pageCountMax)
        let own = waiting.last { row in
            EventID(row.value.utf8Text).map { !account.isOthers($0) } ?? false
        }
        guard let own else { return false }
        let outcome = try reader.item(
            of: projections.submissions, key: key, name: OwnIntents.outcome(own.value))
        return try outcome.map { try IntentOutcome(decoding: $0).refusal == nil } ?? true
    }
}
