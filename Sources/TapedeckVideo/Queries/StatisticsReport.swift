internal import Foundation
internal import TapedeckModel
internal import TapedeckProjections

/// How much was played, watched, finished and shared in some days.
public struct StatisticsReport: Codable, Hashable, Sendable {
    /// Every day that was asked for, also those on which nothing happened.
    public var days: [DayStatistics]
    /// What of it was whose, the most watched first.
    public var sources: [SourceStatistics]
    /// All of it.
    public var total: StatisticsFigures
    /// How many sittings there were: times of activity with no more than half an hour in between.
    public var sessions: Int
    /// The longest of them, in seconds, by quarters of an hour.
    public var longestSessionSeconds: Double
}

/// What happened.
public struct StatisticsFigures: Codable, Hashable, Sendable {
    /// How many viewings began.
    public var plays = 0
    /// How much was watched, in seconds.
    public var watchedSeconds = 0.0
    /// How often a video was watched to its end.
    public var completions = 0
    /// To how many destinations videos were shared.
    public var shares = 0
    /// How many videos that was about.
    public var videos = 0
}

/// A day.
public struct DayStatistics: Codable, Hashable, Sendable {
    /// The day in the zone that was asked for.
    public var date: String
    /// What happened.
    public var figures: StatisticsFigures
}

/// A provider of videos.
public struct SourceStatistics: Codable, Hashable, Sendable {
    /// Its name, as it stands in the keys of its videos.
    public var source: String
    /// What happened.
    public var figures: StatisticsFigures
}

extension QueryLimits {
    /// How many days statistics tell of where nothing is said.
    public static let statisticsDaysDefault = 14
    /// The most days that statistics are asked of.
    public static let statisticsDaysMax = 3_660
}

extension VideoQueries {
    /// How much was played, watched, finished and shared, by day and by provider.
    ///
    /// Costs the quarters of an hour in which something happened with a video in these days.
    ///
    /// - Parameters:
    ///   - first: the first day, `YYYY-MM-DD`; nil for two weeks.
    ///   - last: the last day, included; nil for the day that it is.
    ///   - now: as of when that is.
    ///   - zone: in which days begin, such as `Europe/Berlin`.
    ///
    /// Throws what the reader throws, and `ModelError` with `.usage` for what is no day or no zone, and for
    /// more than `QueryLimits.statisticsDaysMax` days.
    public func statistics(
        from first: String? = nil, through last: String? = nil, at now: UTCTime,
        zone name: String = "UTC"
    ) throws -> StatisticsReport {
        guard let zone = TimeZone(identifier: name) else {
            throw ModelError(
                .usage, "\"\(name.prefix(80))\" is no time zone",
                hint: "zones are named as in Europe/Berlin")
        }
        func day(_ text: String) throws(ModelError) -> CalendarDay {
            guard let day = CalendarDay(text) else {
                throw ModelError(
                    .usage, "\"\(text.prefix(40))\" is no day", hint: "a day is written 2012-05-03")
            }
            return day
        }
        let through =
            try last.map { try day($0) } ?? StatisticsTally(zone: zone).day(of: now.milliseconds)
        let from =
            try first.map { try day($0) } ?? through.adding(1 - QueryLimits.statisticsDaysDefault)
        guard from <= through, through.number - from.number < QueryLimits.statisticsDaysMax else {
            throw ModelError(
                .usage,
                "\(from) to \(through) are not 1 to \(QueryLimits.statisticsDaysMax) days")
        }
        var tally = StatisticsTally(zone: zone)
        // Zones lie no more than a day away from UTC.
        var rows = QuarterRows(
            reader, projections.statistics,
            from: from.adding(-1).startMilliseconds, to: through.adding(2).startMilliseconds)
        while let row = try rows.next() {
            let (start, video) = (row.start, row.video)
            let day = tally.day(of: start)
            guard from <= day, day <= through else { continue }
            tally.add(row.figures, of: video, on: day, at: start)
        }
        return tally.report(from: from, through: through)
    }
}

/// The quarters of an hour in a range of time, a piece at a time.
private struct QuarterRows<Reader: ViewReader> {
    private static var rowsPerRead: Int { 4_096 }

    private let reader: Reader
    private let projection: PlayStatistics
    private let bounds: (lower: RowKey, upper: RowKey)
    private var ready: ArraySlice<Row> = []
    private var after: [UInt8]?
    private var isAtEnd = false

    init(_ reader: Reader, _ projection: PlayStatistics, from: Int64, to: Int64) {
        self.reader = reader
        self.projection = projection
        func bound(_ time: Int64) -> RowKey {
            RowKey().ascending(time.floorDivided(by: PlayStatistics.quarterMilliseconds))
        }
        bounds = (bound(from), bound(to))
    }

    mutating func next() throws -> (
        start: Int64, video: String, figures: PlayStatistics.Figures
    )? {
        if ready.isEmpty, !isAtEnd {
            let rows = try reader.rows(
                of: projection, table: 0, lower: bounds.lower, upper: bounds.upper, after: after,
                limit: QuarterRows.rowsPerRead)
            isAtEnd = rows.count < QuarterRows.rowsPerRead
            after = rows.last?.key
            ready = rows[...]
        }
        guard let row = ready.popFirst() else { return nil }
        let start = Int64(ascending: row.key) * PlayStatistics.quarterMilliseconds
        return (
            start, Array(row.key.dropFirst(8).dropLast()).utf8Text,
            try PlayStatistics.Figures(decoding: row.value)
        )
    }
}

/// Adds quarters up, as they come in the order of time.
private struct StatisticsTally {
    let zone: TimeZone
    private var days: [CalendarDay: Sum] = [:]
    private var sources: [String: Sum] = [:]
    private var total = Sum()
    private var session: (start: Int64, end: Int64)?
    private var sessions = 0
    private var longest: Int64 = 0

    init(zone: TimeZone) { self.zone = zone }

    func day(of milliseconds: Int64) -> CalendarDay {
        let moment = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
        return CalendarDay(
            milliseconds: milliseconds, offsetSeconds: zone.secondsFromGMT(for: moment))
    }

    mutating func add(
        _ figures: PlayStatistics.Figures, of video: String, on day: CalendarDay, at start: Int64
    ) {
        let source = String(video.prefix { $0 != ":" })
        days[day, default: Sum()].add(figures, of: video)
        sources[source, default: Sum()].add(figures, of: video)
        total.add(figures, of: video)
        let end = start + PlayStatistics.quarterMilliseconds
        if let held = session, start - held.end <= 2 * PlayStatistics.quarterMilliseconds {
            session = (held.start, max(end, held.end))
        } else {
            sessions += 1
            session = (start, end)
        }
        if let session { longest = max(longest, session.end - session.start) }
    }

    func report(from first: CalendarDay, through last: CalendarDay) -> StatisticsReport {
        StatisticsReport(
            days: (first.number...last.number).map { number in
                let day = CalendarDay(number: number)
                return DayStatistics(
                    date: day.description, figures: days[day]?.figures ?? StatisticsFigures())
            },
            sources: sources.map {
                SourceStatistics(source: $0.key, figures: $0.value.figures)
            }.sorted {
                ($1.figures.watchedSeconds, $0.source) < ($0.figures.watchedSeconds, $1.source)
            },
            total: total.figures, sessions: sessions,
            longestSessionSeconds: Double(longest) / 1_000)
    }
}

extension StatisticsTally {
    /// What quarters of an hour come to.
    private struct Sum {
        private(set) var figures = StatisticsFigures()
        private var videos: Set<String> = []

        mutating func add(_ quarter: PlayStatistics.Figures, of video: String) {
            figures.plays += Int(clamping: quarter.plays)
            figures.watchedSeconds += Double(quarter.watchedMilliseconds) / 1_000
            figures.completions += Int(clamping: quarter.completions)
            figures.shares += Int(clamping: quarter.shares)
            if videos.insert(video).inserted { figures.videos += 1 }
        }
    }
}
