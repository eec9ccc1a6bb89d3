public import TapedeckModel
public import TapedeckProjections

/// The plays, watched time, completions and shares of each video, by quarter of an hour.
///
/// - A **play** is a viewing, which is counted at its first report.
/// - **Watched** time is the number of seconds of the video that a viewing played from one report
///   to the next; see `Progress`. The watched time is added to the quarter of an hour that contains
///   the later report. `VideoWatched` events contain the same time again. For each quarter,
///   players' reports give one sum and `VideoWatched` events another; the larger sum counts. A
///   `VideoWatched` that names a viewing is not counted, because the viewing's reports contain it.
/// - A **completion** is the first report in which a viewing has reached the end, as defined by
///   `Playback`, or a complete `VideoWatched`. For each quarter, players' reports give one number
///   of completions and `VideoWatched` events another; the larger number counts.
/// - A **share** is counted once for each destination.
///
/// In every time zone, a day consists of a whole number of quarters of an hour. A quarter without
/// plays, watched time, completions or shares has no row. Positions are rounded to whole
/// milliseconds, so the sums do not depend on how often a player reports, and they stay the same if
/// `PlaybackCoalescing` omits reports.
///
/// Items: `v` viewing → its last report; `q` quarter → `Figures`. Table 0 contains the quarters,
/// earliest first. The rows of table 0 come from the items.
public struct PlayStatistics: Projection {
    /// Creates the projection.
    public init() {}

    /// `statistics`.
    public var name: String { "statistics" }
    /// 4.
    public var version: Int { 4 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Playback reports, watched intervals and shares.
    public var eventTypes: [EventType] {
        [PlaybackProgressed.eventType, VideoWatched.eventType, VideoShared.eventType]
    }
    /// Canonical order, because the watched time depends on the previous report of the viewing.
    public var law: FoldLaw { .canonical }
    /// True: `PlaybackCompaction` removes only events whose removal changes no figure.
    public var foldsCompacted: Bool { true }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        A viewing counts as a play at its first report, and the progress between its reports \
        counts as watched time; if players reported one figure for a quarter of an hour and \
        `VideoWatched` events give another, the larger figure counts.
        """
    }
    /// One table: the quarters.
    public var tables: [String] { ["earliest-first"] }
    /// True: the rows of table 0 come from the items.
    public var itemsYieldRows: Bool { true }

    static let quarterMilliseconds: Int64 = 900_000

    /// The state is empty, because all data is in the items.
    public struct State: ProjectionState, Equatable {
        /// Creates the empty state.
        public init() {}
        /// Reads nothing.
        public init(decoding bytes: inout StateReader) throws {}
        /// Writes nothing.
        public func encode(into bytes: inout StateWriter) {}
    }

    /// The figures for a quarter of an hour.
    struct Figures: Equatable {
        var plays: UInt64 = 0
        /// The watched time in milliseconds, from player reports and from `VideoWatched`.
        var movedMilliseconds: UInt64 = 0
        var toldMilliseconds: UInt64 = 0
        var reached: UInt64 = 0
        var toldComplete: UInt64 = 0
        var shares: UInt64 = 0

        init() {}

        init(decoding bytes: [UInt8]) throws(ModelError) {
            self = try StateReader.read(bytes) { (reader) throws(ModelError) in
                var figures = Figures()
                figures.plays = try reader.uint64()
                figures.movedMilliseconds = try reader.uint64()
                figures.toldMilliseconds = try reader.uint64()
                figures.reached = try reader.uint64()
                figures.toldComplete = try reader.uint64()
                figures.shares = try reader.uint64()
                return figures
            }
        }

        var encoded: [UInt8] {
            var writer = StateWriter()
            writer.add(plays)
            writer.add(movedMilliseconds)
            writer.add(toldMilliseconds)
            writer.add(reached)
            writer.add(toldComplete)
            writer.add(shares)
            return writer.bytes
        }

        var watchedMilliseconds: UInt64 { max(movedMilliseconds, toldMilliseconds) }
        var completions: UInt64 { max(reached, toldComplete) }
    }

    /// The last report of a viewing.
    private struct Report {
        var progress: Progress
        var hasReachedEnd: Bool

        init(_ progress: Progress, hasReachedEnd: Bool) {
            (self.progress, self.hasReachedEnd) = (progress, hasReachedEnd)
        }

        init(decoding bytes: [UInt8]) throws(ModelError) {
            self = try StateReader.read(bytes) { (reader) throws(ModelError) in
                Report(try Progress(reading: &reader), hasReachedEnd: try reader.bool())
            }
        }

        var encoded: [UInt8] {
            var writer = StateWriter()
            progress.encode(into: &writer)
            writer.add(hasReachedEnd)
            return writer.bytes
        }
    }

    private static let viewing: [UInt8] = [UInt8(ascii: "v")]
    /// The first byte in the name of each item that contains a quarter.
    static let quarter: [UInt8] = [UInt8(ascii: "q")]

    /// Folds a report, a watched interval or a share.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let at = Int64(event.stamp.milliseconds)
        switch event.typeIndex {
        case 0: try foldProgress(event, at, into: &key)
        case 1:
            let said = try event.decode(VideoWatched.self).normalized()
            guard !said.hasViewing else { return }
            try add(at, &key) { figures in
                if said.hasStartSeconds, said.hasEndSeconds {
                    let seconds = said.endSeconds - said.startSeconds
                    figures.toldMilliseconds &+= UInt64((seconds * 1_000).rounded())
                }
                if said.isComplete { figures.toldComplete += 1 }
            }
        default:
            let count = try event.decode(VideoShared.self).destinations.count
            try add(at, &key) { $0.shares += UInt64(count) }
        }
    }

    private func foldProgress(
        _ event: borrowing FoldEvent, _ at: Int64, into key: inout KeyedState<State>
    ) throws {
        let wire = try ProgressWire(finite: event.payload)
        let name = RowKey(event.payload.bytes(wire.viewing, after: PlayStatistics.viewing))
        let before = try key.item(name).map { bytes throws(ModelError) in
            try Report(decoding: bytes)
        }
        let isEnd = Playback.isEnd(wire.position, of: wire.duration)
        let report = Report(
            Progress(at: at, positionSeconds: wire.position, playedSeconds: wire.played),
            hasReachedEnd: isEnd || before?.hasReachedEnd ?? false)
        key.setItem(name, report.encoded)
        try add(at, &key) { figures in
            if isEnd, before?.hasReachedEnd != true { figures.reached += 1 }
            guard let before else {
                figures.plays += 1
                return
            }
            figures.movedMilliseconds &+= report.progress.watched(since: before.progress)
        }
    }

    /// Returns the number of the quarter of an hour that contains a time.
    static func quarter(of at: Int64) -> Int64 { at.floorDivided(by: quarterMilliseconds) }

    private func add(
        _ at: Int64, _ key: inout KeyedState<State>, _ change: (inout Figures) -> Void
    ) throws {
        let name = RowKey(PlayStatistics.quarter).ascending(PlayStatistics.quarter(of: at))
        let held = key.item(name)
        let before =
            try held.map { bytes throws(ModelError) in try Figures(decoding: bytes) } ?? Figures()
        var figures = before
        change(&figures)
        if figures != before { key.setItem(name, figures.encoded) }
    }

    /// Adds a row for each quarter.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        guard item.key.starts(with: PlayStatistics.quarter) else { return }
        rows.add(
            table: 0, key: RowKey(Array(item.key.dropFirst().prefix(8))).text(key.name),
            value: item.value)
    }
}

extension PlayStatistics {
    /// The progress, in milliseconds, of a viewing at the time of a report.
    ///
    /// Between two reports, the time watched is the time played, which players measure with a
    /// monotonic clock. If a report lacks the time played, or belongs to another run, the time
    /// watched is the distance by which the position advanced. An advance that would need more than
    /// twice the normal speed is a skip and is ignored. If two reports have the same time, because
    /// the clock stopped, an advance of more than `PlaybackCoalescing.holdSecondsMax` is a skip.
    struct Progress: Equatable {
        let at: Int64
        let position: Int64
        /// The time played in the current run; nil if unknown.
        let played: Int64?

        /// The maximum playback speed, and the tolerance for the times of reports.
        static let rateMax: Int64 = 2
        static let slack: Int64 = 1_500
        /// The maximum advance between reports at the same time.
        private static let advanceMax = milliseconds(PlaybackCoalescing.holdSecondsMax)

        init(at: Int64, positionSeconds: Double, playedSeconds: Double?) {
            self.at = at
            position = Progress.milliseconds(positionSeconds)
            played = playedSeconds.map(Progress.milliseconds)
        }

        init(reading bytes: inout StateReader) throws(ModelError) {
            at = try bytes.int64()
            position = try bytes.int64()
            played = try bytes.optionalInt64()
        }

        func encode(into bytes: inout StateWriter) {
            bytes.add(at)
            bytes.add(position)
            bytes.add(played)
        }

        /// Returns the time watched since the previous report of the viewing.
        func watched(since before: Progress) -> UInt64 {
            if let played, let earlier = before.played {
                // If this report belongs to a new run, at most the time played in that run was
                // watched.
                return UInt64(
                    played < earlier ? min(advance(since: before), played) : played - earlier)
            }
            return UInt64(advance(since: before))
        }

        /// Returns the distance from the previous report to this one; 0 if it is a skip.
        private func advance(since before: Progress) -> Int64 {
            let moved = position - before.position
            // Times have 48 bits, so this calculation cannot overflow.
            let possible =
                at == before.at
                ? Progress.advanceMax : (at - before.at) * Progress.rateMax + Progress.slack
            return moved > 0 && moved <= possible ? moved : 0
        }

        private static func milliseconds(_ seconds: Double) -> Int64 {
            Int64((min(max(0, seconds), FieldLimits.secondsMax) * 1_000).rounded())
        }
    }
}
