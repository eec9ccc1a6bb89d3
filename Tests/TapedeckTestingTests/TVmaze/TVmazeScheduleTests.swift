import TapedeckTesting
import Testing

/// The format of TVmaze's schedules, shows and casts.
struct TVmazeScheduleTests {
    private func caller(seed: UInt64 = 1) -> Caller<TVmazeSimulator> {
        Caller(TVmazeSimulator(seed: seed, at: Moments.start))
    }

    /// The week of `Moments.start`, and the week after it.
    private let days =
        ["2012-05-28", "2012-05-29", "2012-05-30", "2012-05-31"]
        + (1...10).map { "2012-06-\($0 < 10 ? "0" : "")\($0)" }

    @Test func scheduleOfADayListsEpisodesThatBeginThatDay() throws {
        var caller = caller()
        var seen: Set<Int> = []
        for day in days {
            let rows = try caller.call("GET", "/schedule?country=US&date=\(day)").list
            #expect(rows.texts("airstamp") == rows.texts("airstamp").sorted())
            let ids = rows.numbers("id")
            #expect(seen.isDisjoint(with: ids) && Set(ids).count == ids.count)
            seen.formUnion(ids)
            for row in rows {
                let show = try #require(row["show"] as? [String: Any])
                let network = try #require(show["network"] as? [String: Any])
                let country = try #require(network["country"] as? [String: Any])
                #expect(country["code"] as? String == "US")
                #expect(!(show["webChannel"] is [String: Any]))
            }
        }
        #expect(seen.count > 20)
    }

    @Test func nightEpisodesBelongToTheDayBefore() throws {
        var caller = caller()
        var nights = 0
        for day in days {
            for row in try caller.call("GET", "/schedule?date=\(day)").list
            where row["airtime"] as? String == "01:30" {
                let airdate = try #require(row["airdate"] as? String)
                #expect(airdate < day)
                nights += 1
            }
        }
        #expect(nights > 0)
    }

    @Test func webChannelsEmbedTheirShowsAndHaveNoTime() throws {
        var caller = caller()
        var countries: Set<String> = []
        var count = 0
        for day in days.prefix(7) {
            let rows = try caller.call("GET", "/schedule/web?date=\(day)").list
            let german = try caller.call("GET", "/schedule/web?country=DE&date=\(day)").list
            #expect(Set(german.numbers("id")).isSubset(of: rows.numbers("id")))
            for row in rows {
                let embedded = try #require(row["_embedded"] as? [String: Any])
                let show = try #require(embedded["show"] as? [String: Any])
                let channel = try #require(show["webChannel"] as? [String: Any])
                let country = channel["country"] as? [String: Any]
                countries.insert(country?["code"] as? String ?? "")
                #expect(row["airdate"] as? String == day && row["show"] == nil)
                #expect(row["airtime"] as? String == "")
                count += 1
            }
        }
        #expect(count > 0 && countries.contains(""))
    }

    @Test func everyResponseMayBeCachedForAnHour() throws {
        var caller = caller()
        for target in ["/schedule?date=2012-06-01", "/shows/1", "/shows/1/cast", "/shows/999"] {
            #expect(
                try caller.call("GET", target).header("Cache-Control") == "public, max-age=3600")
        }
        caller.simulator.maxAgeSeconds = nil
        #expect(try caller.call("GET", "/shows/1").header("Cache-Control") == nil)
    }

    @Test func missingShowReturns404WithABody() throws {
        var caller = caller()
        for target in ["/shows/999", "/shows/999/cast"] {
            let answer = try caller.call("GET", target)
            #expect(answer.status == 404)
            let body = try answer.object
            #expect(body["status"] as? Int == 404 && body["name"] as? String == "Not Found")
        }
        #expect(caller.simulator.violations.isEmpty)
    }

    @Test func weightChangesWithoutANewVersion() throws {
        var caller = caller()
        let shows = try (0..<5).map { _ in try caller.call("GET", "/shows/1").object }
        #expect(Set(shows.compactMap { $0["weight"] as? Int }).count > 1)
        #expect(Set(shows.compactMap { $0["updated"] as? Int }).count == 1)
    }

    @Test func moreThanTwentyRequestsInTenSecondsAreRefused() throws {
        var caller = caller()
        caller.now += 10_000 - caller.now % 10_000
        var statuses: [Int] = []
        for _ in 0..<22 {
            let request = SimulatedRequest("GET", "/shows/1")
            statuses.append(
                try #require(caller.simulator.respond(to: request, at: caller.now).response).status)
        }
        #expect(statuses == Array(repeating: 200, count: 20) + [429, 429])
        // `calm` ends the injected faults, but not the rate limit of the system.
        caller.simulator.adversary = .none
        #expect(
            caller.simulator.respond(to: SimulatedRequest("GET", "/shows/1"), at: caller.now)
                .response?.status == 429)
        caller.now += 10_000
        #expect(try caller.call("GET", "/shows/1").status == 200)
    }

    @Test(arguments: [
        ("GET", "/schedule/full"), ("POST", "/schedule"), ("GET", "/shows"), ("GET", "/"),
        ("GET", "/schedule?date=tomorrow"), ("GET", "/schedule?day=2012-06-01"),
        ("GET", "/shows/one"), ("GET", "/shows/1?embed=cast"), ("DELETE", "/shows/1"),
    ])
    func unknownRequestsAreViolations(_ method: String, _ target: String) throws {
        var caller = caller()
        #expect(try caller.call(method, target).status == 400)
        #expect(caller.simulator.violations.count == 1)
    }
}
