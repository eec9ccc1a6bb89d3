public import TapedeckModel
public import TapedeckProjections

/// Where videos were left, and which were watched to their ends.
///
/// The last report of any player counts, in canonical order, and not the furthest position: who goes back
/// in a video is there again, and who begins a finished one anew is in the midst of it. A report that lies
/// within `endSeconds` of the duration that it tells has finished the video.
///
/// All of it is the newest of something, or a sum, so any order of arrival gives the same state. A report of
/// the viewing that came last costs no item. Items: `v` viewing → whether it has finished. Table 0 holds the
/// videos that were begun and not finished.
public struct Playback: Projection {
    /// Makes the projection.
    public init() {}

    /// So many seconds before its end a video counts as finished: the credits.
    public static let endSeconds = 5.0

    /// `playback`.
    public var name: String { "playback" }
    /// 1.
    public var version: Int { 1 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Reports of players, and what was watched.
    public var eventTypes: [EventType] { [PlaybackProgressed.eventType, VideoWatched.eventType] }
    /// Any.
    public var law: FoldLaw { .any }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        The last report of any player says where the video was left; one within \
        \(Int(Playback.endSeconds)) seconds of the end has finished it.
        """
    }
    /// One: the videos in progress.
    public var tables: [String] { ["in-progress"] }

    /// Yes: that a video was finished is in no row.
    public var statesAreFollowed: Bool { true }

    static let viewing: [UInt8] = [UInt8(ascii: "v")]
    private static let begun: [UInt8] = [0]
    private static let finished: [UInt8] = [1]

    /// Where a video was left.
    public struct State: ProjectionState, Equatable {
        var last: Report?
        /// The last duration that a player told, and where it did.
        var duration: Duration?
        /// The last report that finished the video, and its time in Unix milliseconds.
        var finish: Finish?
        /// How many viewings there were, and how many of them finished.
        var viewings: UInt64 = 0
        var finishedViewings: UInt64 = 0
        /// What `VideoWatched` says of time that was watched.
        var watchedMilliseconds: UInt64 = 0
        /// Whether the viewing of the last report is one that finished.
        var hasLastFinished = false

        /// Never played.
        public init() {}

        /// Reads a state's bytes.
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
            watchedMilliseconds = try bytes.uint64()
            hasLastFinished = try bytes.bool()
        }

        /// Writes the state's bytes.
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
            bytes.add(watchedMilliseconds)
            bytes.add(hasLastFinished)
        }

        /// Whether the last report is in the midst of the video.
        var isInProgress: Bool { last.map { !$0.isFinish && $0.positionSeconds > 0 } ?? false }
    }

    /// A report of where a player is.
    struct Report: Equatable {
        var order: FoldOrder
        /// Unix milliseconds.
        var at: Int64
        /// Empty where it was told as watched, which names no viewing.
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

    /// A duration, and the place of the report that told it.
    struct Duration: Equatable {
        var order: FoldOrder
        var seconds: Double
    }

    /// A report that finished a video.
    struct Finish: Equatable {
        var order: FoldOrder
        /// Unix milliseconds.
        var at: Int64
    }

    /// Folds a report of a player, or what was watched.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: try foldProgress(event, into: &key)
        default: try foldWatched(event, &key.state)
        }
    }

    /// A row for a video in progress, the one played last in front.
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
        if watched.hasStartSeconds, watched.hasEndSeconds {
            // Whole milliseconds: sums of fractions depend on the order.
            let seconds = watched.endSeconds - watched.startSeconds
            state.watchedMilliseconds &+= UInt64((seconds * 1_000).rounded())
        }
        guard watched.hasEndSeconds || watched.isComplete else { return }
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

    /// Whether a position counts as the end; not where the duration is not known.
    static func isEnd(_ position: Double, of duration: Double) -> Bool {
        // What is not longer than the credits is finished at its very end.
        duration > 0 && position >= (duration > endSeconds ? duration - endSeconds : duration)
    }

    /// Counts a viewing once, and once more as finished; tells whether it has finished.
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
