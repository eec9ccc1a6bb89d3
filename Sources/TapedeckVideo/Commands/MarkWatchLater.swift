public import TapedeckModel
public import TapedeckProjections

/// Adds a video to the watch-later list, or removes it.
///
/// ```swift
/// let mark = try MarkWatchLater("vimeo:1084537")
/// try await store.decide { try mark.decide(VideoQueries($0)) }
/// ```
public struct MarkWatchLater: Sendable {
    /// The video.
    public let video: VideoKey
    /// Whether the video is to be on the list.
    public let isOn: Bool

    /// Creates the command.
    ///
    /// - Parameters:
    ///   - video: The video's key, or any of its URLs; the video need not be known.
    ///   - isOn: Whether the video is to be on the list.
    ///
    /// Throws `ModelError` with `.invalidVideo`.
    public init(_ video: String, isOn: Bool = true) throws(ModelError) {
        self.video = try VideoKey(video)
        self.isOn = isOn
    }

    /// Returns the event to record, or nothing if the video is already on or off the list as
    /// requested.
    ///
    /// Throws `ModelError` with `.signInRequired` if the store now belongs to another account, or
    /// errors from reading the store. The cost is a few lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try queries.requireDeviceAccount(at: Shelby.system)
        guard try queries.isOnWatchLater(video) != isOn else { return [] }
        return [WatchLaterToggled.with { ($0.video, $0.isOn) = (video.text, isOn) }]
    }
}
