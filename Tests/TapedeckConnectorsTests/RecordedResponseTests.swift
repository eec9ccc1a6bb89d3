import Foundation
import TapedeckConnectors
import TapedeckModel
import TapedeckVideo
import Testing

@Suite(.enabled(if: Fixtures.arePresent, "no recorded responses: set TAPEDECK_FIXTURES"))
struct RecordedResponseTests {
    @Test(arguments: Fixtures.resources.indices)
    func everyRecordedResponseIsReadCompletely(_ index: Int) throws {
        let (folder, name) = Fixtures.resources[index]
        let resource = try IngestResource.named(name)
        let files = try Fixtures.files(folder)
        #expect(!files.isEmpty)
        for file in files {
            let result = try resource.read(Fixtures.bytes(file), show: Fixtures.show(file))
            #expect(result.refused.isEmpty, "\(file.lastPathComponent): \(result.refused)")
            // A search result may be empty.
            if name != "tvmaze/search" { #expect(!result.proposals.isEmpty) }
        }
    }

    @Test func schedulesContainEpisodesAndTheirShows() throws {
        let file = try #require(
            try Fixtures.files("tvmaze/schedule").first { $0.path.contains("2019-07-11") })
        let result = try IngestResource.named("tvmaze/schedule").read(Fixtures.bytes(file))
        let episodes = result.proposals.filter { $0.type == EpisodeScheduled.eventType }
        #expect(episodes.count == 57)
        let late = try #require(
            episodes.first { $0.tags.contains { $0.text == "episode/1679676" } })
        #expect(late.tags.map(\.text) == ["episode/1679676", "show/24857"])
        #expect(late.fact?.version == 1_562_678_812)
        let episode = try EpisodeScheduled(payload: late.payload, version: 1)
        #expect(episode.airdate == "2019-07-10" && episode.airtime == "01:30")
        #expect(episode.airstamp.seconds == 1_562_823_000)
        #expect(episode.cleared == ["image", "summary"])
        let shows = result.proposals.filter { $0.type == ShowObserved.eventType }
        #expect(Set(shows.flatMap(\.tags)).count == shows.count, "a show occurs twice")
    }

    @Test func webChannelsMayHaveNoCountry() throws {
        var global = 0
        for file in try Fixtures.files("tvmaze/schedule-web") {
            let result = try IngestResource.named("tvmaze/schedule-web")
                .read(Fixtures.bytes(file))
            for proposal in result.proposals where proposal.type == ShowObserved.eventType {
                let show = try ShowObserved(payload: proposal.payload, version: 1)
                if show.hasWebChannel, !show.webChannel.hasTimezone { global += 1 }
            }
        }
        #expect(global > 0)
    }

    @Test func weightAndLinksAreNotPartOfAFact() throws {
        let files = try Fixtures.files("tvmaze/schedule-web")
        func facts(_ suffix: String) throws -> Set<ObservedFact> {
            var facts: Set<ObservedFact> = []
            for file in files where file.lastPathComponent.hasSuffix(suffix) {
                let result = try IngestResource.named("tvmaze/schedule-web")
                    .read(Fixtures.bytes(file))
                facts.formUnion(result.proposals.compactMap(\.fact))
            }
            return facts
        }
        let (earlier, later) = (try facts(".a.json"), try facts(".b.json"))
        // Between the two snapshots, the weights of 183 shows differ, but only one show was
        // updated.
        let changed = later.subtracting(earlier)
        #expect(changed.count < 12, "\(changed.count) facts differ")
    }

    @Test func errorBodiesAreRefused() throws {
        for file in try Fixtures.files("tvmaze/errors") {
            let bytes = try Fixtures.bytes(file)
            for resource in IngestResource.all where resource.name.hasPrefix("tvmaze/") {
                let result = try resource.read(bytes, show: 13)
                #expect(result.proposals.isEmpty)
                #expect(result.refused.map(\.path) == ["$"])
                #expect(
                    result.refused.map(\.code) == [bytes.isEmpty ? .malformedJSON : .remoteError])
            }
        }
    }

    @Test func recordedBroadcastIsRead() throws {
        let file = Fixtures.folder.appendingPathComponent("shelby/v2-broadcast.json")
        let result = try IngestResource.named("shelby/broadcasts").read(Fixtures.bytes(file))
        #expect(result.refused.isEmpty)
        let proposal = try #require(result.proposals.first)
        #expect(proposal.tags.map(\.text) == ["video/youtube:BmzSEYNTkHA"])
        #expect(proposal.fact?.version == 1_316_059_576_000)
        let broadcast = try BroadcastReceived(payload: proposal.payload, version: 1)
        #expect(broadcast.broadcast == "4e7179b8fa44c4166b005e8c")
        #expect(broadcast.sharer == "DarkGuardianSH")
        #expect(broadcast.origin == "twitter")
        #expect(broadcast.hasLiked && !broadcast.liked)
        #expect(!broadcast.hasWatchLater)
    }
}
