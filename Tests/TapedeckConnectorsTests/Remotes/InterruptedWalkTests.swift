import Tapedeck
import TapedeckConnectors
@testable import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// A device that is killed again and again while it reads a long feed still reaches the end of the
/// feed, without missing a row.
@Suite(.offTasks) struct InterruptedWalkTests {
    /// A remote with a stream of about 13 pages, and a device that was killed while reading them.
    private struct Stream {
        let rig = ShelbyV1Rig()
        let device: RemoteDevice

        init() throws {
            try rig.share(600)
            rig.world.clock.advance(by: .seconds(86_400))
            device = try rig.device()
            try device.sync(crashing: .before(4))
        }

        var missing: [String] {
            get throws {
                let found = Set(try device.recorded(BroadcastReceived.self).map(\.broadcast))
                return try rig.shown().map(\.id).filter { !found.contains($0) }
            }
        }

        /// Returns the places of the stream's pages that a sync requests.
        func places(during sync: () throws -> Void) rethrows -> [String] {
            let before = rig.world.requests.count
            try sync()
            return rig.world.requests.dropFirst(before)
                .filter { $0.path.hasSuffix("/dashboard") }
                .map { $0.query.first { $0.name == "since_id" }?.value ?? "" }
        }

        /// Lets the remote respond to requests for later pages with the given response.
        func answerLaterPages(with response: RemoteResponse?) {
            rig.world.portal = response.map { response in
                { $0.query.contains { $0.name == "since_id" } ? response : nil }
            }
        }
    }

    @Test func aReadingThatIsKilledAgainAndAgainEnds() throws {
        let stream = try Stream()
        var syncs = 1
        while syncs < 20, try stream.device.sync(crashing: .before(3)) == nil {
            syncs += 1
            if syncs == 4 { try stream.rig.share(5) }
        }
        #expect(syncs < 15)
        #expect(try stream.missing.isEmpty)
    }

    @Test func olderPagesAreReadFirstAndOnlyOnce() throws {
        let stream = try Stream()
        try stream.rig.share(5)
        let places = try stream.places { try stream.device.sync() }
        #expect(places.first?.isEmpty == false)
        #expect(places.last?.isEmpty == true, "the new entries are read last")
        #expect(Set(places).count == places.count)
        #expect(try stream.missing.isEmpty)
        #expect(try stream.places { try stream.device.sync() } == [""])
        #expect(try stream.device.store.log.syncRows(prefix: "remote/home/walk/").isEmpty)
    }

    /// Another device has read the rest of the feed.
    @Test func pagesThatAnotherDeviceHasReadAreNotRead() throws {
        let stream = try Stream()
        let tablet = try stream.rig.device(seed: 2)
        try tablet.sync()
        try exchange(stream.device, tablet)
        #expect(try stream.places { try stream.device.sync() } == [""])
        #expect(try stream.missing.isEmpty)
    }

    @Test func aFeedIsReadFromItsBeginningIfThePageCannotBeRead() throws {
        let stream = try Stream()
        stream.answerLaterPages(with: RemoteResponse(status: 500, headers: [], body: []))
        try stream.device.sync(failuresMax: 1)
        stream.answerLaterPages(with: nil)
        let places = try stream.places { try stream.device.sync() }
        #expect(places.first?.isEmpty == true)
        #expect(try stream.missing.isEmpty)
    }

    /// The remote no longer knows the row at which the page begins.
    @Test func anEmptyPageDoesNotEndAFeed() throws {
        let stream = try Stream()
        stream.answerLaterPages(
            with: RemoteResponse(
                status: 200, headers: [], body: Array(#"{"status":200,"result":[]}"#.utf8)))
        try stream.device.sync(crashing: .before(2))
        stream.answerLaterPages(with: nil)
        try stream.device.sync()
        #expect(try stream.missing.isEmpty)
    }

    @Test func listsWithoutTimesAreReadToTheirEndButRemoveNothing() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        try desk.addAnswers { Int64($0) }
        for _ in 1...4 {
            desk.world.clock.advance(by: .seconds(60))
            try desk.device.sync(crashing: .before(5))
        }
        func answers() throws -> Int {
            try desk.device.query {
                try $0.answers(limit: QueryLimits.pageCountMax).answers.count
            }
        }
        #expect(try answers() == 253)
        for _ in 1...3 {
            desk.world.clock.advance(by: .seconds(60))
            try desk.device.sync()
        }
        #expect(try answers() == 253)
        #expect(try !desk.device.recorded(AnswerObserved.self).contains(where: \.removed))
    }
}
