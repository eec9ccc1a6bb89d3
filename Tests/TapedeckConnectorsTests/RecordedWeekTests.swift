import Foundation
import TapedeckConnectors
import TapedeckModel
import TapedeckProjections
import TapedeckVideo
import Testing

/// The projections built from recorded TVmaze responses.
@Suite(.enabled(if: Fixtures.arePresent, "no recorded responses: set TAPEDECK_FIXTURES"))
struct RecordedWeekTests {
    /// Returns the events read from the files in the given folders; each file has its own origin,
    /// and each observation occurs once.
    private func script(_ folders: [String]? = nil) throws -> Script {
        var script = Script()
        var facts: Set<ObservedFact> = []
        for (folder, name) in Fixtures.resources where folders?.contains(folder) ?? true {
            let resource = try IngestResource.named(name)
            for (index, file) in try Fixtures.files(folder).enumerated() {
                let result = try resource.read(Fixtures.bytes(file), show: Fixtures.show(file))
                for proposal in result.proposals {
                    if let fact = proposal.fact, !facts.insert(fact).inserted { continue }
                    script.add(proposal, origin: UInt64(index + 1))
                }
            }
        }
        return script
    }

    @Test func filesInAnyOrderGiveTheSameBytes() throws {
        let events = try script().events
        #expect(events.count > 2_500)
        try checkOrderDoesNotMatter(ShowCatalogue(), events, rounds: 3)
        try checkOrderDoesNotMatter(EpisodeSchedule(), events, rounds: 3)
    }

    @Test func recordedWeekIsSplitIntoLocalDays() throws {
        let queries = try queries(script(["tvmaze/schedule"]).events)
        let week = try queries.schedule(
            week: "2019-07-11", scope: ScheduleScope(includeWeb: true))
        #expect(week.days.map(\.date).first == "2019-07-08")
        let late = week.days.flatMap { day in day.episodes.map { (day.date, $0) } }
            .first { $0.1.id == 1_679_676 }
        // The airdate is the 10th, but the episode begins at 01:30 on the 11th in New York.
        #expect(late?.0 == "2019-07-11")
        #expect(late?.1.show == "TMZ" && late?.1.network == "Syndication")
        #expect(late?.1.timeKnown == true)
        for day in week.days {
            let places = day.episodes.map { ($0.startsAt, $0.id) }
            #expect(zip(places, places.dropFirst()).allSatisfy { $0 < $1 })
        }
    }

    /// Returns the files in a folder with their dates and with increasing times; each file is a
    /// complete listing for one day.
    private func listings(_ folder: String) throws -> [(bytes: [UInt8], date: String, at: Int64)] {
        try Fixtures.files(folder).enumerated().map { index, file in
            let date = try #require(file.lastPathComponent.firstMatch(of: /\d{4}-\d\d-\d\d/))
            return (try Fixtures.bytes(file), String(date.0), Int64(index + 1) * 1_663_600_000_000)
        }
    }

    @Test(arguments: ["tvmaze/schedule", "tvmaze/schedule-web"])
    func laterListingOfADayCancelsMissingEpisodes(_ name: String) throws {
        let resource = try IngestResource.named(name)
        let scope = try ScheduleScope(web: name.hasSuffix("web"), includeWeb: true)
        var script = Script()
        func count() throws -> Int {
            let queries = try queries(script.events)
            return try ["2019-07-11", "2019-07-15", "2020-12-10"].reduce(0) {
                $0
                    + (try queries.schedule(week: $1, scope: scope)).days.map(\.episodes.count)
                    .reduce(0, +)
            }
        }
        for file in try listings(name) {
            let result = try resource.read(
                file.bytes, listing: ListingRequest(date: file.date), observedAt: file.at)
            #expect(result.refused == [])
            for proposal in result.proposals { script.add(proposal) }
        }
        // Listings for other days do not cancel an episode, and neither does a second listing for
        // the same day.
        let all = try count()
        #expect(all > (name.hasSuffix("web") ? 500 : 190))
        let first = try #require(try listings(name).first)
        let gone = try resource.read(
            Array("[]".utf8), listing: ListingRequest(date: first.date),
            observedAt: Int64(2_000_000_000_000) * 10)
        for proposal in gone.proposals { script.add(proposal) }
        #expect(try count() < all - 40)
        try checkOrderDoesNotMatter(ScheduleListings(), script.events, rounds: 3)
    }

    @Test func webWeekListsChannelsOfAllCountries() throws {
        let queries = try queries(script(["tvmaze/schedule-web"]).events)
        let all = try queries.schedule(week: "2020-12-10", scope: ScheduleScope(web: true))
        let domestic = try queries.schedule(
            week: "2020-12-10", scope: ScheduleScope(country: "US", web: true))
        let count = all.days.map(\.episodes.count).reduce(0, +)
        #expect(count > 500)
        #expect(domestic.days.map(\.episodes.count).reduce(0, +) < count)
        let volk = all.days.first?.episodes.first { $0.id == 1_979_245 }
        #expect(volk?.network == "Premier")
        #expect(volk?.timeKnown == false)
        #expect(volk?.summary == "НТВ 27.12.2021 https://www.ntv.ru/serial/Volk/")
    }

    @Test func showCombinesAllItsResponses() throws {
        let queries = try queries(
            script(["tvmaze/show", "tvmaze/cast-embed", "tvmaze/episodes-embed"]).events)
        let house = try queries.show(118)
        #expect(house.name == "House" && house.network == "FOX")
        #expect(house.episodes.count == 176)
        #expect(house.episodes.first?.name == "Pilot")
        #expect(
            house.cast.contains {
                $0.person == "Hugh Laurie" && $0.character == "Dr. Gregory House"
            })
        #expect(house.summary?.contains("<") == false)
    }
}
