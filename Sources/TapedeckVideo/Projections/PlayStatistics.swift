public import TapedeckModel
public import TapedeckProjections

/// How much was played, watched, finished and shared, by video and quarter of an hour.
///
/// - A **play** is a viewing, at its first report.
/// - **Watched** is how far a viewing moves on from one report to the next, as far as time has passed for that
///   at no more than twice the speed: what is skipped was not watched. It counts in the quarter of the later
///   report. `VideoWatched` tells of the same time once more, so of each quarter the larger of the two counts.
/// - A **completion** is the report by which a viewing first reaches the end, as `Playback` has it, or a
///   `VideoWatched` that says so; of a quarter the larger number counts.
/// - A **share** is one destination.
///
/// Quarters of an hour make days in every zone; one in which nothing of this happened has no row. Positions
/// count in whole milliseconds, so what a player moves on adds up however often it reports: reports that
/// `PlaybackCoalescing` leaves out change nothing. Items: `v` viewing → its last report; `q` quarter → `Figures`.
/// Table 0 holds the quarters, the earliest first; it is made of the items.
public struct PlayStatistics: Projection {
    /// Makes the projection.
    public init() {}

    /// `statistics`.
    public var name: String { "statistics" }
    /// 3.
    public var version: Int { 3 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Reports of players, what was watched, and what was shared.
    public var eventTypes: [EventType] {
        [PlaybackProgressed.eventType, VideoWatched.eventType, VideoShared.eventType]
    }
    /// Canonical: how far a viewing has moved depends on the report before.
    public var law: FoldLaw { .canonical }
    /// Yes: what `PlaybackCompaction` takes away changes no figure.
    public var foldsCompacted: Bool { true }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        A viewing plays at its first report and watches as far as its reports move on in \
        time; of each quarter of an hour the larger of what was reported and what was \
        told counts.
        """
    }
    /// One: the quarters.
    public var tables: [String] { ["earliest-first"] }
    /// Yes.
    public var itemsYieldRows: Bool { true }

    static let quarterMilliseconds: Int64 = 900_000
    /// The fastest that a video is played, and what reports may come apart beyond that, in milliseconds.
    private static let rateMax: Int64 = 2
    private static let slackMilliseconds: Int64 = 1_500

    /// Nothing; all is in the items.
    public struct State: ProjectionState, Equatable {
        /// Nothing.
        public init() {}
        /// Reads nothing.
        public init(decoding bytes: inout StateReader) throws {}
        /// Writes nothing.
        public func encode(into bytes: inout StateWriter) {}
    }

    /// What happened in a quarter of an hour.
    struct Figures: Equatable {
        var plays: UInt64 = 0
        /// By reports of players, and by `VideoWatched`, in milliseconds.
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

    /// Folds a report, what was watched, or a share.
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

    /// A position in whole milliseconds.
    static func milliseconds(_ seconds: Double) -> Int64 {
        Int64((min(max(0, seconds), FieldLimits.secondsMax) * 1_000).rounded())
    }

    /// The quarter of an hour that a time lies in.
    static func quarter(of at: Int64) -> Int64 { at.floorDivided(by: quarterMilliseconds) }

    /// How much was watched between two reports of a viewing.
    static func watchedMilliseconds(
        from position: Int64, at: Int64, to later: Int64, at laterAt: Int64
    ) -> UInt64 {
        let moved = later - position
        // Times are of 48 bits, so this does not overflow.
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

    /// A row for each quarter.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        guard item.key.starts(with: PlayStatistics.quarter) else { return }
        rows.add(
            table: 0, key: RowKey(Array(item.key.dropFirst().prefix(8))).text(key.name),
            value: item.value)
    }
}
