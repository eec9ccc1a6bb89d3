public import TapedeckModel
public import TapedeckProjections

/// Opens a video, which counts as a view.
///
/// ```swift
/// let open = try OpenVideo("youtube:aqz-KE-bpKQ", viewer: account, viewing: UUID().uuidString)
/// try await store.decide { try open.decide(VideoQueries($0)) }
/// ```
public struct OpenVideo: Sendable {
    /// What is recorded.
    public let opening: VideoOpened

    /// Makes the command.
    ///
    /// - Parameters:
    ///   - video: the video's key, or any URL form of it.
    ///   - viewer: who opens it: an account, or a name that the device gives its guests.
    ///   - viewing: the name of the viewing, unique for ever; the same when it is tried again.
    ///
    /// Throws `ModelError`: `.invalidVideo`, `.invalidPayload`, `.tooLarge`.
    public init(_ video: String, viewer: String, viewing: String) throws(ModelError) {
        opening = try VideoOpened.with {
            ($0.video, $0.viewer, $0.viewing) = (video, viewer, viewing)
        }.normalized()
    }

    /// What happens: the opening, or nothing where this viewing is recorded already.
    ///
    /// It takes nobody to be signed in. Whether the opening counts is the affair of `ViewCounts`. Costs a
    /// look-up.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try queries.isOpened(opening) ? [] : [opening]
    }
}

extension VideoQueries {
    /// Whether a viewing of a video is recorded.
    fileprivate func isOpened(_ opening: VideoOpened) throws -> Bool {
        try reader.item(
            of: projections.viewCounts, key: VideoKey(opening.video).tag,
            name: ViewItems.viewing(opening.viewing)) != nil
    }
}
