import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// Intents that a remote seems to have carried out before they are delivered.
@Suite(.offTasks) struct EvidenceTests {
    /// Returns a device that has liked a video, and another device of the same user that has read
    /// the like.
    private func liked() throws -> (rig: ShelbyV1Rig, video: String, devices: [RemoteDevice]) {
        let rig = ShelbyV1Rig()
        try rig.fillRoll(120)
        let devices = [try rig.device(seed: 1), try rig.device(seed: 2)]
        try devices[0].sync()
        let video = try #require(try rig.untouched().first)
        try devices[0].append(ShelbyV1Rig.liked(video, true))
        try devices[0].sync()
        // A sync stops reading a list once all older entries are already known.
        rig.world.clock.advance(by: .seconds(86_400))
        for device in devices {
            try device.sync()
            try device.sync()
        }
        #expect(try rig.effects(.like).count == 1)
        return (rig, video, devices)
    }

    @Test func videoUnlikedElsewhereIsLikedAgain() throws {
        let (rig, video, devices) = try liked()
        let copy = try #require(try rig.copies().first)
        try rig.change { $0.remove(copy.id) }
        try devices[0].append(ShelbyV1Rig.liked(video, true))
        try devices[0].sync()
        #expect(try rig.copies().count == 1)
        #expect(try devices[0].outbox().isEmpty)
        // The other device finds the new like.
        try devices[1].append(ShelbyV1Rig.liked(video, true))
        try devices[1].sync()
        #expect(try rig.copies().count == 1)
        #expect(try devices[1].outbox().isEmpty)
        #expect(rig.world.simulator.violations.isEmpty)
    }

    @Test func videoThatIsStillLikedIsNotLikedAgain() throws {
        let (rig, video, devices) = try liked()
        for device in devices {
            try device.append(ShelbyV1Rig.liked(video, true))
            let before = rig.world.requests.count
            try device.sync()
            #expect(try device.outbox().isEmpty)
            #expect(rig.world.requests.count == before + 3, "a page of each feed, and one probe")
        }
        #expect(try rig.effects(.like).count == 1)
    }

    /// The number of likes is the same as before, so the device does not read the list again.
    @Test func answerWhoseLikeWasReplacedIsLikedAgain() throws {
        let desk = try WhaleDesk()
        try desk.like("1")
        try desk.settle()
        try desk.device.sync()
        try desk.change { whale in
            for index in whale.world.likes.indices where whale.world.likes[index].answer == 1 {
                whale.world.likes[index].user = 3
            }
        }
        desk.world.clock.advance(by: .seconds(60))
        try desk.like("1")
        try desk.settle()
        let likers = try desk.whale.world.likes.filter { $0.answer == 1 }.map(\.user)
        #expect(likers == [3, 1])
        #expect(try desk.device.outbox().isEmpty)
    }
}
