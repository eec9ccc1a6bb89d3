import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// Two devices of one user read the same remote, and exchange their events without the remote's
/// help.
@Suite(.offTasks) struct SharedFeedTests {
    private func requests(_ world: RemoteWorld, during sync: () throws -> Void) rethrows -> Int {
        let before = world.requests.count
        try sync()
        return world.requests.count - before
    }

    /// No matter how much the phone records before it fails, the tablet reads the rest of the feed.
    @Test(arguments: 2...6)
    func aTabletReadsThePagesThatThePhoneCouldNotRead(request: Int) throws {
        let rig = ShelbyV1Rig()
        try rig.share(170)
        rig.world.clock.advance(by: .seconds(86_400))
        let (phone, tablet) = (try rig.device(seed: 1), try rig.device(seed: 2))
        try phone.sync(crashing: .before(request))
        try exchange(phone, tablet)
        try tablet.sync()
        let found = Set(try tablet.recorded(BroadcastReceived.self).map(\.broadcast))
        let missing = try rig.shown().filter { !found.contains($0.id) }
        #expect(missing.isEmpty, "\(missing.count) are missing")
        // The phone does not need to read the pages that the tablet has already read.
        try exchange(phone, tablet)
        let count = try requests(rig.world) { try phone.sync() }
        #expect(count <= 3, "one page of each feed, and perhaps a login")
        let known = Set(try phone.recorded(BroadcastReceived.self).map(\.broadcast))
        #expect(known == found)
    }

    @Test(arguments: 4...10)
    func aTabletReadsTheCommentsThatThePhoneCouldNotRead(request: Int) throws {
        let desk = try WhaleDesk()
        let tablet = try RemoteDevice(desk.world, "whale", WhaleDesk.secrets, seed: 2)
        try desk.device.sync(crashing: .before(request))
        try exchange(desk.device, tablet)
        try tablet.sync()
        for answer in ["1", "2", "3"] {
            let texts = try tablet.query { try $0.comments(answer: answer).comments.map(\.text) }
            #expect(texts == ["nice"], "answer \(answer)")
        }
        // The phone reads the lists again, but no comments or likes.
        try exchange(desk.device, tablet)
        desk.world.clock.advance(by: .seconds(60))
        let before = desk.world.requests.count
        try desk.device.sync()
        let asked = desk.world.requests.dropFirst(before).map(\.path)
        #expect(!asked.contains { $0.hasSuffix("/comments") || $0.hasSuffix("/likes") })
    }

    @Test func aSecondDeviceDoesNotReadCastsAgain() throws {
        let made = try TVmazeDesk.shows(3, on: "2019-07-10", at: "2019-07-11T00:00:00Z")
        let desk = try TVmazeDesk(at: "2019-07-10T12:00:00Z", made)
        let tablet = try RemoteDevice(desk.world, "tvmaze", seed: 2)
        try desk.device.sync()
        try exchange(desk.device, tablet)
        let count = desk.world.requests.count
        try tablet.sync()
        #expect(!desk.asked(from: count).contains { $0.hasPrefix("cast") })
        // A refresh also reads pages that have not changed.
        let refreshed = desk.world.requests.count
        try tablet.sync(refreshesAll: true)
        let casts = desk.asked(from: refreshed).filter { $0.hasPrefix("cast") }
        #expect(casts == ["cast 1", "cast 2", "cast 3"])
    }

    @Test func passesOverAFeedAreRecordedOnce() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        let read = try desk.device.recorded(FeedRead.self)
        #expect(Set(read.map(\.feed)).count == read.count)
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync()
        #expect(try desk.device.recorded(FeedRead.self).count == read.count)
    }
}
