internal import Foundation
internal import TapedeckModel
internal import TapedeckProjections

/// Plays, watch time, completions and shares in a range of days.
public struct StatisticsReport: Codable, Hashable, Sendable {
    /// The requested days, including those without activity.
    public var days: [DayStatistics]
    /// The figures by provider, most watched first.
    public var sources: [SourceStatistics]
    /// The figures for all days and providers.
    public var total: StatisticsFigures
    /// The number of sessions: periods of activity without a gap of more than half an hour.
    public var sessions: Int
    /// The length of the longest session, in seconds; always a multiple of 15 minutes.
    public var longestSessionSeconds: Double
}

/// The figures for a period or a provider.
public struct StatisticsFigures: Codable, Hashable, Sendable {
    /// The number of viewings that began.
    public var plays = 0
    /// The number of seconds watched.
    public var watchedSeconds = 0.0
    /// The number of times a video was watched to the end.
    public var completions = 0
    /// The number of destinations to which videos were shared.
    public var shares = 0
    /// The number of different videos.
    public var videos = 0
}

/// The figures for a day.
public struct DayStatistics: Codable, Hashable, Sendable {
    /// The day in the requested time zone.
    public var date: String
    /// The figures.
    public var figures: StatisticsFigures
}

/// The figures for a provider of videos.
public struct SourceStatistics: Codable, Hashable, Sendable {
    /// The name of the provider, as in the keys of its videos.
    public var source: String
    /// The figures.
    public var figures: StatisticsFigures
}

extension QueryLimits {
    /// The default number of days in statistics.
    public static let statisticsDaysDefault = 14
    /// The maximum number of days in statistics.
    public static let statisticsDaysMax = 3_660
}

extension VideoQueries {
    /// Returns plays, watch time, completions and shares, by day and by provider.
    ///
    /// Reads one row per video and quarter-hour with activity. Throws the reader's errors, and
    /// `ModelError` with `.usage` for an invalid date or time zone, and for more than
    /// `QueryLimits.statisticsDaysMax` days.
    ///
    /// - Parameters:
    ///   - first: The first day, as `YYYY-MM-DD`; nil for a range of two weeks.
    ///   - last: The last day, which is included; nil for today.
    ///   - now: The current time, which determines today's date.
    ///   - zone: The time zone in which days begin, such as `Europe/Berlin`.
    public func statistics(
        from first: String? = nil, through last: String? = nil, at now: UTCTime,
        zone name: String = "UTC"
    ) throws -> StatisticsReport {
        guard let zone = TimeZone(identifier: name) else {
            throw ModelError(
                .usage, "\"\(name.prefix(80))\" is not a time zone",
                hint: "use a name such as Europe/Berlin")
        }
        func day(_ text: String) throws(ModelError) -> CalendarDay {
            guard let day = CalendarDay(text) else {
                throw ModelError(
                    .usage, "\"\(text.prefix(40))\" is not a date",
                    hint: "use the format YYYY-MM-DD, such as 2012-05-03")
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
                "the range from \(from) to \(through) must be 1 to \(QueryLimits.statisticsDaysMax) days"
                    + " long")
        }
        var tally = StatisticsTally(zone: zone)
        // Time zones differ from UTC by at most a day.
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

/// Reads the quarter-hours in a range of time, in chunks.
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

/// Adds up quarter-hours, which must be in chronological order.
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
    /// The sum of several quarter-hours.
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
