internal import TapedeckModel
package import TapedeckProjections
package import TapedeckSync
internal import TapedeckVideo

/// The connector for TVmaze's API: the shows of the current week, and their casts.
///
/// TVmaze has no logins and accepts no intents. Each schedule's time zone determines the current
/// week and when the next week begins. A day's complete list is recorded as a separate observation,
/// so that episodes removed from that day count as cancelled.
///
/// | feed | contents |
/// |---|---|
/// | `schedule/US/monday` with a date | `/schedule`: one day of a country's networks; leads to casts |
/// | `schedule/web/monday`, `schedule/web-US/monday` | `/schedule/web`: the same for web channels |
/// | `shows/{id}/cast` | `/shows/{id}/cast`: the cast of a show |
///
/// Each feed is named after a weekday, and the date is the position in the feed. The store
/// therefore keeps the state of only seven feeds per schedule, not of one feed per date.
package struct TVmazeConnector: Connector {
    /// The maximum number of casts requested per pass.
    ///
    /// At 20 requests per 10 s, they take about two minutes.
    static let castsMax = 200

    private let schedules: [TVmazeSchedule]

    /// Creates a connector for the schedules with these names (`TVmazeSchedule.name`); unknown
    /// names are skipped.
    package init(schedules names: [String] = []) {
        let known = names.compactMap { TVmazeSchedule($0) }
        schedules = known.isEmpty ? TVmazeSchedule.standard : known
    }

    package var manifest: ConnectorManifest {
        ConnectorManifest(
            system: TVmaze.system, rateCount: 20, rateWindow: 10_000, settling: 0,
            freshness: [60_000, 120_000, 300_000, 900_000, 3_600_000], intentKinds: [],
            isOpen: true, takesLogin: false,
            reading: ReadingRules(
                keepsFresh: true, feedsComeFirst: true, feedsStandAlone: true,
                leadsMax: TVmazeConnector.castsMax))
    }

    package var lookups: [any Projection] { [] }

    // MARK: - Login

    /// Throws `.usage`, because TVmaze has no logins.
    package func login(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        throw SyncFailure(.usage, "TVmaze has no logins")
    }

    package func authorize(
        _ request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment
    ) {}

    // MARK: - Reading

    package func feeds(_ account: RemoteAccount, now: UInt64) -> [RemotePage] {
        schedules.flatMap { schedule in
            schedule.week(at: now).enumerated().map { index, day in
                RemotePage(
                    "\(TVmazeConnector.schedule)/\(schedule.name)/\(TVmazeConnector.weekdays[index])",
                    day.description)
            }
        }
    }

    /// Returns the next midnight in the time zone of any schedule, because a new week may begin
    /// then.
    package func turn(after now: UInt64) -> UInt64? {
        schedules.map { $0.midnight(after: now) }.min()
    }

    package func request(for page: RemotePage, _ account: RemoteAccount) -> RemoteRequest {
        guard let (schedule, date) = TVmazeConnector.day(page) else {
            let path = page.feed.split(separator: "/").map { RemoteRequest.segment(String($0)) }
            return RemoteRequest("GET", "/" + path.joined(separator: "/"))
        }
        var query = [RemoteRequest.Field("date", date)]
        if let country = schedule.country { query.insert(.init("country", country), at: 0) }
        return RemoteRequest("GET", schedule.isWeb ? "/schedule/web" : "/schedule", query: query)
    }

    package func read(
        _ response: RemoteResponse, of page: RemotePage, _ account: RemoteAccount
    ) throws(SyncFailure) -> RemoteContent {
        if let failure = TVmazeConnector.failure(response) { throw failure }
        let result: IngestResult
        do throws(ModelError) {
            result = try TVmazeConnector.read(response, of: page)
        } catch {
            throw SyncFailure(.remoteError, "\(error.message)")
        }
        if result.proposals.isEmpty, let refusal = result.refused.first, refusal.path == "$" {
            throw .unexpected(
                "TVmaze", expected: "the list \(own: page.feed) in JSON", refusal.text)
        }
        var content = RemoteContent()
        content.observations = result.proposals
        content.refused = result.refused.map { "\(own: page.feed) \($0.line)" }
        guard TVmazeConnector.day(page) != nil else { return content }
        for observation in result.proposals where observation.type == ShowObserved.eventType {
            guard let show = try? ShowObserved(payload: observation.payload) else { continue }
            content.leads.append(
                FeedLead(
                    RemotePage("\(TVmazeConnector.shows)/\(show.show)/cast"),
                    version: show.hasUpdated ? String(show.updated) : nil))
        }
        return content
    }

    private static func read(
        _ response: RemoteResponse, of page: RemotePage
    ) throws(ModelError) -> IngestResult {
        guard let (schedule, date) = day(page) else {
            let show = page.feed.split(separator: "/").dropFirst().first.flatMap { Int64($0) }
            return try IngestResource.named("tvmaze/cast").read(
                response.body, show: show, observedAt: response.date)
        }
        // Without a response time, a list cannot be ordered relative to other lists.
        let listing = try response.date.map { (_) throws(ModelError) in
            try ListingRequest(date: date, country: schedule.country)
        }
        return try IngestResource.named(
            schedule.isWeb ? "tvmaze/schedule-web" : "tvmaze/schedule"
        ).read(response.body, listing: listing, observedAt: response.date)
    }

    /// Returns the reason a request failed; nil on success.
    ///
    /// There is no login to reject, so a 401 or 403 is treated as a temporary refusal.
    private static func failure(_ response: RemoteResponse) -> SyncFailure? {
        guard [401, 403].contains(response.status) else { return response.failure }
        return SyncFailure(
            .unavailable, "TVmaze refused the request (\(response.status))",
            retryAfter: response.retryAfter)
    }

    private static let schedule = "schedule"
    private static let shows = "shows"
    private static let weekdays = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ]

    /// Returns the schedule and the date of a page; nil for other pages.
    private static func day(_ page: RemotePage) -> (TVmazeSchedule, String)? {
        let words = page.feed.split(separator: "/")
        guard words.count == 3, words[0] == TVmazeConnector.schedule else { return nil }
        return TVmazeSchedule(String(words[1])).map { ($0, page.place) }
    }

    // MARK: - Delivering

    package func plan(
        _ intent: Intent, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan { .foreign }

    package func confirm(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent,
        _ account: RemoteAccount
    ) throws(SyncFailure) -> Confirmation { Confirmation() }
}
