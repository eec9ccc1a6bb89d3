public import TapedeckModel
public import TapedeckProjections

/// Likes or unlikes a video.
///
/// ```swift
/// let like = try LikeVideo("vimeo:1084537")
/// try await store.decide { try like.decide(VideoQueries($0)) }
/// ```
public struct LikeVideo: Sendable {
    /// The video.
    public let video: VideoKey
    /// Whether to like the video.
    public let isOn: Bool

    /// Creates the command.
    ///
    /// - Parameters:
    ///   - video: The video's key, or any of its URLs.
    ///   - isOn: Whether to like the video.
    ///
    /// Throws `ModelError` with `.invalidVideo`.
    public init(_ video: String, isOn: Bool = true) throws(ModelError) {
        self.video = try VideoKey(video)
        self.isOn = isOn
    }

    /// Returns the event to record, or nothing if the video is already liked or unliked as
    /// requested, locally or on a remote.
    ///
    /// Throws `ShareVideo.Refusal` if the video is unknown; `ModelError` with `.signInRequired` if
    /// the store now belongs to another account; or errors from reading the store. The cost is a few
    /// lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try queries.requireDeviceAccount(at: Shelby.system)
        let isLiked = try queries.requireKnown(video)?.isLiked ?? false
        guard isLiked != isOn else { return [] }
        return [LikeToggled.with { ($0.video, $0.isOn) = (video.text, isOn) }]
    }
}
