public import TapedeckModel
public import TapedeckProjections

/// The video that each device is playing, and the position in it.
///
/// Only the newest report from a device is used, so the order of arrival does not affect the state.
public struct NowPlaying: Projection {
    /// Creates the projection.
    public init() {}

    /// `now-playing`.
    public var name: String { "now-playing" }
    /// 1.
    public var version: Int { 1 }
    /// `device`.
    public var tagKind: String { "device" }
    /// The event type of reports from devices.
    public var eventTypes: [EventType] { [NowPlayingChanged.eventType] }
    /// Events can be folded in any order, because only the newest report from a device is used.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        "Only the newest report from the device is used."
    }
    /// Two tables: all devices, and the devices on which a video is playing or paused, sorted by
    /// video.
    public var tables: [String] { ["newest-first", "by-video"] }

    static let newestFirst = 0
    static let byVideo = 1

    /// The playback of a device.
    public struct State: ProjectionState, Equatable {
        var order = FoldOrder.start
        /// The time of the report, in Unix milliseconds.
        var at: Int64 = 0
        var video: String?
        var viewing: String?
        var positionSeconds = 0.0
        var isPlaying = false

        /// Creates the state before the first report.
        public init() {}

        /// The number of seconds for which a device is assumed to keep playing after its last
        /// report, if the duration of the video is unknown.
        private static let silenceSecondsMax = 4.0 * 3_600

        /// Returns the position in seconds at a given time, assuming that a playing device keeps
        /// playing until the end of its video.
        ///
        /// - Parameter duration: The video's duration in seconds; nil if it is unknown.
        func position(at now: UTCTime, duration: Double?) -> Double {
            guard isPlaying else { return positionSeconds }
            let end = duration ?? positionSeconds + State.silenceSecondsMax
            let estimate = positionSeconds + Double(max(0, now.milliseconds - at)) / 1_000
            return min(estimate, max(end, positionSeconds))
        }

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            order = try bytes.foldOrder()
            at = try bytes.int64()
            video = try bytes.optionalString()
            viewing = try bytes.optionalString()
            positionSeconds = try bytes.double()
            isPlaying = try bytes.bool()
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(order)
            bytes.add(at)
            bytes.add(video)
            bytes.add(viewing)
            bytes.add(positionSeconds)
            bytes.add(isPlaying)
        }
    }

    /// Folds a report from a device.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        guard key.state.order < event.order else { return }
        let said = try event.decode(NowPlayingChanged.self).normalized()
        key.state.order = event.order
        key.state.at = Int64(event.stamp.milliseconds)
        key.state.video = said.hasVideo ? said.video : nil
        key.state.viewing = said.hasViewing ? said.viewing : nil
        key.state.positionSeconds = said.positionSeconds
        key.state.isPlaying = said.isPlaying
    }

    /// Adds a row for the device and, if a video is playing or paused on it, another row under that
    /// video.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(
            table: NowPlaying.newestFirst, key: RowKey().descending(state.at).text(key.name),
            value: value.bytes)
        if let video = state.video {
            rows.add(
                table: NowPlaying.byVideo, key: RowKey().text(video).text(key.name),
                value: value.bytes)
        }
    }
}
