public import TapedeckModel
public import TapedeckProjections

/// Records that a viewer opened a video, so that the view can be counted.
///
/// ```swift
/// let open = try OpenVideo("youtube:aqz-KE-bpKQ", viewer: account, viewing: UUID().uuidString)
/// try await store.decide { try open.decide(VideoQueries($0)) }
/// ```
public struct OpenVideo: Sendable {
    /// The event to record.
    public let opening: VideoOpened

    /// Creates the command.
    ///
    /// - Parameters:
    ///   - video: The video's key, or any of its URLs.
    ///   - viewer: An account, or a name that the device assigns to its guests.
    ///   - viewing: A unique name for this viewing; reuse the name only to retry this command.
    ///
    /// Throws `ModelError`: `.invalidVideo`, `.invalidPayload`, `.tooLarge`.
    public init(_ video: String, viewer: String, viewing: String) throws(ModelError) {
        opening = try VideoOpened.with {
            ($0.video, $0.viewer, $0.viewing) = (video, viewer, viewing)
        }.normalized()
    }

    /// Returns the event to record, or nothing if this viewing is already recorded.
    ///
    /// The user need not be signed in. `ViewCounts` determines whether the view is counted. The
    /// cost is one lookup.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try queries.isOpened(opening) ? [] : [opening]
    }
}

extension VideoQueries {
    /// Returns whether a viewing of a video is recorded.
    fileprivate func isOpened(_ opening: VideoOpened) throws -> Bool {
        try reader.item(
            of: projections.viewCounts, key: VideoKey(opening.video).tag,
            name: ViewItems.viewing(opening.viewing)) != nil
    }
}
