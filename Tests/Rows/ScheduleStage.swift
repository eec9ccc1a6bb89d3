import Tapedeck
import TapedeckTesting

/// A store with shows on channels in several countries; scenarios add episodes.
struct ScheduleStage {
    let place: TemporaryStore
    let store: TapedeckStore

    /// Creates a store with five shows.
    ///
    /// Their channels are: 1, NBC in New York; 2, BBC in London; 3, a worldwide web channel; 4,
    /// Hulu, a web channel in the United States; 5, NBC and the worldwide web channel.
    init(_ name: String) async throws {
        place = try TemporaryStore(name)
        store = try place.open()
        let nbc =
            #""network":{"id":1,"name":"NBC","countryCode":"US","timezone":"America/New_York"}"#
        let bbc = #""network":{"id":2,"name":"BBC","countryCode":"GB","timezone":"Europe/London"}"#
        let web = #""webChannel":{"id":3,"name":"Télé Plus"}"#
        let hulu =
            #""webChannel":{"id":4,"name":"Hulu","countryCode":"US","timezone":"America/New_York"}"#
        for (index, channels) in [nbc, bbc, web, hulu, "\(nbc),\(web)"].enumerated() {
            try await add(
                "ShowObserved",
                #"{"show":\#(index + 1),"updated":10,"name":"Show \#(index + 1)",\#(channels)}"#)
        }
    }

    func add(_ type: String, _ json: String) async throws {
        try await store.log.append([try EventCatalogue.video.proposal(type: type, json: json)])
    }

    /// Records an observation of an episode that includes the version of its show.
    func episode(
        _ id: Int, of show: Int = 1, at start: String?, airdate: String? = nil,
        airtime: String = "20:00", minutes: Int? = 60, version: Int = 10, more: String = ""
    ) async throws {
        let begins = start.map { #","airstamp":"\#($0)""# } ?? ""
        let day = airdate.map { #","airdate":"\#($0)""# } ?? ""
        let runtime = minutes.map { #","runtimeMinutes":\#($0)"# } ?? ""
        try await add(
            "EpisodeScheduled",
            """
            {"episode":\(id),"show":\(show),"showUpdated":\(version),"airtime":"\(airtime)"
             \(begins)\(day)\(runtime)\(more)}
            """)
    }

    /// Records the full list of a day's episodes.
    func listing(
        of date: String, _ episodes: [Int], at time: String, country: String? = "US",
        web: Bool = false
    ) async throws {
        let country = country.map { #""country":"\#($0)","# } ?? ""
        try await add(
            "ScheduleListed",
            """
            {"date":"\(date)",\(country)"web":\(web),"listedAt":"\(time)","episodes":\(episodes)}
            """)
    }

    func ask<R: Sendable>(
        _ question: @escaping @Sendable (VideoQueries<Views>) throws -> R
    ) async throws -> R {
        try await store.query { try question(VideoQueries($0)) }
    }

    /// Returns the ids of a week's episodes by day.
    func week(_ day: String, _ scope: ScheduleScope? = nil) async throws -> [String: [Int64]] {
        let scope = try scope ?? ScheduleScope()
        let week = try await ask { try $0.schedule(week: day, scope: scope) }
        return week.days.reduce(into: [:]) { days, day in
            if !day.episodes.isEmpty { days[day.date] = day.episodes.map(\.id) }
        }
    }

    func onNow(_ now: String, _ scope: ScheduleScope? = nil) async throws -> ScheduleNow {
        let (scope, time) = (try scope ?? ScheduleScope(), try time(now))
        return try await ask { try $0.onNow(at: time, scope: scope) }
    }

    func endingSoon(
        _ now: String, windowSeconds: Double = QueryLimits.endingSoonSeconds
    ) async throws -> ScheduleNow {
        let time = try time(now)
        return try await ask {
            try $0.endingSoon(at: time, scope: ScheduleScope(), windowSeconds: windowSeconds)
        }
    }

    func changes(since mark: LogPosition, limit: Int = 50) async throws -> ScheduleChanges {
        let log = store.log
        return try await ask { try $0.scheduleChanges(since: mark, in: log, limit: limit) }
    }
}

/// Parses a time; throws if it is invalid.
func time(_ text: String) throws -> UTCTime {
    struct NoTime: Error { let text: String }
    guard let milliseconds = Timestamps.milliseconds(text) else { throw NoTime(text: text) }
    return UTCTime(milliseconds: milliseconds)
}
