public import TapedeckModel
public import TapedeckProjections

/// The positions at which playback of videos stopped, and the videos that were watched to the end.
///
/// The position comes from the last report in canonical order, no matter which player sent it. This
/// need not be the furthest position: rewinding a video moves its position back, and restarting a
/// finished video puts it in progress again. A report finishes the video if its position is at most
/// `endSeconds` before the end.
///
/// A `VideoWatched` that names a viewing changes no position, because the viewing's reports already
/// contain the position.
///
/// Each field is the newest value or a sum, so the order of arrival does not affect the state. Most
/// reports of the latest viewing use only the state, not the items. The item `v` viewing records
/// whether that viewing has finished. Table 0 contains the videos that were started but not
/// finished.
public struct Playback: Projection {
    /// Creates the projection.
    public init() {}

    /// The length of the credits: a video counts as finished this many seconds before its end.
    public static let endSeconds = 5.0

    /// `playback`.
    public var name: String { "playback" }
    /// 2.
    public var version: Int { 2 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Playback reports and watched intervals.
    public var eventTypes: [EventType] { [PlaybackProgressed.eventType, VideoWatched.eventType] }
    /// Any order, because each field is the newest value or a sum.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        The last report from any player determines where playback stopped; a report within \
        \(Int(Playback.endSeconds)) seconds of the end finishes the video.
        """
    }
    /// One table, which contains the videos in progress.
    public var tables: [String] { ["in-progress"] }

    /// True, because the state of a finished video has no row.
    public var statesAreFollowed: Bool { true }

    static let viewing: [UInt8] = [UInt8(ascii: "v")]
    private static let begun: [UInt8] = [0]
    private static let finished: [UInt8] = [1]

    /// The playback of a video across all viewings.
    public struct State: ProjectionState, Equatable {
        var last: Report?
        /// The last duration reported by a player, and the order of that report.
        var duration: Duration?
        /// The last report that finished the video, and its time in Unix milliseconds.
        var finish: Finish?
        /// The number of viewings, and how many of them finished.
        var viewings: UInt64 = 0
        var finishedViewings: UInt64 = 0
        /// The time of the last `VideoWatched` in Unix milliseconds.
        var watchedAt: Int64?
        /// Whether the viewing that the last report belongs to has finished.
        var hasLastFinished = false

        /// Creates the state of a video that has never been played.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            last = try bytes.optional { (reader) throws(ModelError) in
                try Report(reading: &reader)
            }
            duration = try bytes.optional { (reader) throws(ModelError) in
                Duration(order: try reader.foldOrder(), seconds: try reader.double())
            }
            finish = try bytes.optional { (reader) throws(ModelError) in
                Finish(order: try reader.foldOrder(), at: try reader.int64())
            }
            viewings = try bytes.uint64()
            finishedViewings = try bytes.uint64()
            watchedAt = try bytes.optionalInt64()
            hasLastFinished = try bytes.bool()
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(last) { $1.encode(into: &$0) }
            bytes.add(duration) { writer, duration in
                writer.add(duration.order)
                writer.add(duration.seconds)
            }
            bytes.add(finish) { writer, finish in
                writer.add(finish.order)
                writer.add(finish.at)
            }
            bytes.add(viewings)
            bytes.add(finishedViewings)
            bytes.add(watchedAt)
            bytes.add(hasLastFinished)
        }

        /// Whether the last reported position is between the start and the end of the video.
        var isInProgress: Bool { last.map { !$0.isFinish && $0.positionSeconds > 0 } ?? false }
    }

    /// A report of a playback position.
    struct Report: Equatable {
        var order: FoldOrder
        /// The time in Unix milliseconds.
        var at: Int64
        /// The viewing; empty for a `VideoWatched` that names none.
        var viewing: [UInt8]
        var positionSeconds: Double
        var isFinish: Bool

        init(
            _ event: borrowing FoldEvent, viewing: [UInt8], positionSeconds: Double, isFinish: Bool
        ) {
            order = event.order
            at = Int64(event.stamp.milliseconds)
            self.viewing = viewing
            self.positionSeconds = positionSeconds
            self.isFinish = isFinish
        }

        init(reading bytes: inout StateReader) throws(ModelError) {
            order = try bytes.foldOrder()
            at = try bytes.int64()
            viewing = try bytes.bytes()
            positionSeconds = try bytes.double()
            isFinish = try bytes.bool()
        }

        func encode(into bytes: inout StateWriter) {
            bytes.add(order)
            bytes.add(at)
            bytes.add(viewing)
            bytes.add(positionSeconds)
            bytes.add(isFinish)
        }
    }

    /// A duration and the order of the report that contains it.
    struct Duration: Equatable {
        var order: FoldOrder
        var seconds: Double
    }

    /// A report that finished a video.
    struct Finish: Equatable {
        var order: FoldOrder
        /// The time in Unix milliseconds.
        var at: Int64
    }

    /// Folds a playback report or a watched interval.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: try foldProgress(event, into: &key)
        default: try foldWatched(event, &key.state)
        }
    }

    /// Adds a row for a video in progress; the video played last comes first.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard let last = state.last, state.isInProgress else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(
            table: 0, key: RowKey().descending(last.at).text(key.name), value: value.bytes)
    }

    private func foldProgress(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        let wire = try ProgressWire(finite: event.payload)
        let duration = wire.duration
        if duration > 0, key.state.duration.map({ $0.order < event.order }) ?? true {
            key.state.duration = Duration(order: event.order, seconds: duration)
        }
        let report = Report(
            event, viewing: event.payload.bytes(wire.viewing), positionSeconds: wire.position,
            isFinish: Playback.isEnd(wire.position, of: duration))
        let hasFinished = Playback.count(report, &key)
        take(report, hasFinished: hasFinished, &key.state)
    }

    private func foldWatched(_ event: borrowing FoldEvent, _ state: inout State) throws {
        let watched = try event.decode(VideoWatched.self).normalized()
        let at = Int64(event.stamp.milliseconds)
        state.watchedAt = max(state.watchedAt ?? at, at)
        guard !watched.hasViewing, watched.hasEndSeconds || watched.isComplete else { return }
        take(
            Report(
                event, viewing: [], positionSeconds: watched.endSeconds,
                isFinish: watched.isComplete),
            hasFinished: watched.isComplete, &state)
    }

    private func take(_ report: Report, hasFinished: Bool, _ state: inout State) {
        if report.isFinish, state.finish.map({ $0.order < report.order }) ?? true {
            state.finish = Finish(order: report.order, at: report.at)
        }
        if state.last.map({ $0.order < report.order }) ?? true {
            state.last = report
            state.hasLastFinished = hasFinished
        } else if state.last?.viewing == report.viewing, !report.viewing.isEmpty {
            state.hasLastFinished = hasFinished
        }
    }

    /// Returns whether a position counts as the end; false if the duration is unknown.
    static func isEnd(_ position: Double, of duration: Double) -> Bool {
        // If the video is no longer than the credits, only its very end counts as the end.
        duration > 0 && position >= (duration > endSeconds ? duration - endSeconds : duration)
    }

    /// Increments the number of viewings at a viewing's first report, and the number of finished
    /// viewings once the viewing finishes; returns whether the viewing has finished.
    private static func count(_ report: Report, _ key: inout KeyedState<State>) -> Bool {
        let isLast = key.state.last?.viewing == report.viewing
        if isLast, key.state.hasLastFinished || !report.isFinish {
            return key.state.hasLastFinished
        }
        let name = RowKey(viewing + report.viewing)
        let known = key.item(name)
        if known == nil { key.state.viewings += 1 }
        if known == finished { return true }
        if report.isFinish { key.state.finishedViewings += 1 }
        if known == nil || report.isFinish {
            key.setItem(name, report.isFinish ? finished : begun)
        }
        return report.isFinish
    }
}
