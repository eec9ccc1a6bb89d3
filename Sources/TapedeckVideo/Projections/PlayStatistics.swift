public import TapedeckModel
public import TapedeckProjections

/// The plays, watched time, completions and shares of each video, by quarter of an hour.
///
/// - A **play** is a viewing. A viewing is counted when its first report arrives.
/// - **Watched** time is the distance that a viewing advances from one report to the next. An
///   advance that would need more than twice the normal speed is a skip and is ignored. The watched
///   time is added to the quarter of an hour that contains the later report. `VideoWatched` reports
///   the same time again, so each quarter uses the larger of the two sums of watched time.
/// - A **completion** is the first report of a viewing at the end, as defined by `Playback`, or a
///   complete `VideoWatched`. Each quarter uses the larger of the two numbers of completions.
/// - A **share** is counted once for each destination.
///
/// Quarters of an hour add up to days in every time zone. A quarter without plays, watched time,
/// completions or shares has no row. Positions are rounded to whole milliseconds, so the sums do
/// not depend on how often a player reports, and they stay the same if `PlaybackCoalescing` omits
/// reports.
///
/// Items: `v` viewing → its last report; `q` quarter → `Figures`. Table 0 contains the quarters,
/// earliest first. The rows of table 0 come from the items.
public struct PlayStatistics: Projection {
    /// Creates the projection.
    public init() {}

    /// `statistics`.
    public var name: String { "statistics" }
    /// 3.
    public var version: Int { 3 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Playback reports, watched intervals and shares.
    public var eventTypes: [EventType] {
        [PlaybackProgressed.eventType, VideoWatched.eventType, VideoShared.eventType]
    }
    /// Canonical order: the watched time depends on the previous report of the viewing.
    public var law: FoldLaw { .canonical }
    /// True: `PlaybackCompaction` removes only events that change no figure.
    public var foldsCompacted: Bool { true }
    /// The rule in one sentence.
    public var ruleText: String? {
        """
        A viewing counts as a play at its first report, and the progress between its reports \
        counts as watched time; each quarter of an hour has the larger of two figures: \
        the one that players reported, or the one that was recorded as watched.
        """
    }
    /// One table: the quarters.
    public var tables: [String] { ["earliest-first"] }
    /// True.
    public var itemsYieldRows: Bool { true }

    static let quarterMilliseconds: Int64 = 900_000
    /// The maximum playback speed, and the tolerance for the times of reports, in milliseconds.
    private static let rateMax: Int64 = 2
    private static let slackMilliseconds: Int64 = 1_500

    /// Empty; all data is in the items.
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
        var at: Int64
        var positionMilliseconds: Int64
        var hasReachedEnd: Bool

        init(at: Int64, positionMilliseconds: Int64, hasReachedEnd: Bool) {
            self.at = at
            self.positionMilliseconds = positionMilliseconds
            self.hasReachedEnd = hasReachedEnd
        }

        init(decoding bytes: [UInt8]) throws(ModelError) {
            self = try StateReader.read(bytes) { (reader) throws(ModelError) in
                Report(
                    at: try reader.int64(), positionMilliseconds: try reader.int64(),
                    hasReachedEnd: try reader.bool())
            }
        }

        var encoded: [UInt8] {
            var writer = StateWriter()
            writer.add(at)
            writer.add(positionMilliseconds)
            writer.add(hasReachedEnd)
            return writer.bytes
        }
    }

    private static let viewing: [UInt8] = [UInt8(ascii: "v")]
    private static let quarter: [UInt8] = [UInt8(ascii: "q")]

    /// Folds a report, a watched interval or a share.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let at = Int64(event.stamp.milliseconds)
        switch event.typeIndex {
        case 0: try foldProgress(event, at, into: &key)
        case 1:
            let said = try event.decode(VideoWatched.self)
            try add(at, &key) { figures in
                if said.hasStartSeconds, said.hasEndSeconds {
                    let seconds = said.endSeconds - said.startSeconds
                    figures.toldMilliseconds &+= UInt64(max(0, seconds * 1_000).rounded())
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
            at: at, positionMilliseconds: PlayStatistics.milliseconds(wire.position),
            hasReachedEnd: isEnd || before?.hasReachedEnd ?? false)
        key.setItem(name, report.encoded)
        try add(at, &key) { figures in
            if isEnd, before?.hasReachedEnd != true { figures.reached += 1 }
            guard let before else {
                figures.plays += 1
                return
            }
            figures.movedMilliseconds &+= PlayStatistics.watchedMilliseconds(
                from: before.positionMilliseconds, at: before.at,
                to: report.positionMilliseconds, at: at)
        }
    }

    /// Returns a position in whole milliseconds.
    static func milliseconds(_ seconds: Double) -> Int64 {
        Int64((min(max(0, seconds), FieldLimits.secondsMax) * 1_000).rounded())
    }

    /// Returns the number of the quarter of an hour that contains a time.
    static func quarter(of at: Int64) -> Int64 { at.floorDivided(by: quarterMilliseconds) }

    /// Returns the time watched between two reports of a viewing, in milliseconds.
    static func watchedMilliseconds(
        from position: Int64, at: Int64, to later: Int64, at laterAt: Int64
    ) -> UInt64 {
        let moved = later - position
        // Times have 48 bits, so this calculation cannot overflow.
        let possible = (laterAt - at) * rateMax + slackMilliseconds
        return moved > 0 && moved <= possible ? UInt64(moved) : 0
    }

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
