import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TestSupport
import Testing

/// The user's actions are delivered before a long pass over the remote's pages ends.
@Suite(.offTasks) struct LaneTests {
    private let rig = ShelbyV1Rig()

    private func isLike(_ request: RemoteRequest) -> Bool { request.path.hasSuffix("/like") }

    private func isLikeOrProbe(_ request: RemoteRequest) -> Bool {
        isLike(request) || request.query.contains { $0.name == "since_id" }
    }

    /// Returns a device that knows only some of the videos, because many have been added since its
    /// last sync.
    private func laggard() throws -> RemoteDevice {
        let device = try rig.device()
        try device.sync()
        rig.world.clock.advance(by: .seconds(86_400))
        try rig.share(1_000)
        return device
    }

    @Test func likesOvertakeABackfill() throws {
        let device = try laggard()
        let video = try #require(try rig.untouched().first)
        let before = rig.world.requests.count
        try device.sync { number in
            if number == 12 { try device.append(ShelbyV1Rig.liked(video, true)) }
        }
        let requests = rig.world.requests.dropFirst(before)
        let index = try #require(requests.firstIndex(where: isLike)) - requests.startIndex
        #expect(index == 12 || index == 13, "at most one probe is sent first")
        #expect(requests.count > 20)
    }

    /// Reading leaves part of the rate limit unused, for the user's actions in the meantime.
    @Test func likesDoNotWaitForTheRateLimit() throws {
        let device = try laggard()
        let video = try #require(try rig.untouched().first)
        var session = try #require(try device.session())
        var step = try session.begin()
        var isPaused = false
        while !isPaused {
            switch step {
            case .send(let request): step = try session.answered(try rig.world.send(request))
            case .pause:
                try device.append(ShelbyV1Rig.liked(video, true))
                isPaused = true
            default: return #expect(Bool(false), "\(step)")
            }
        }
        let paused = rig.world.clock.milliseconds
        step = try session.woken()
        for _ in 0..<2 {
            guard case .send(let request) = step else { break }
            step = try session.answered(try rig.world.send(request))
        }
        #expect(rig.world.requests.suffix(2).contains(where: isLike))
        #expect(rig.world.clock.milliseconds - paused < 300)
    }

    @Test func olderLikesDoNotWaitForTheEndOfALongPass() throws {
        let device = try laggard()
        try device.append(ShelbyV1Rig.liked(try #require(try rig.untouched().first), true))
        let before = rig.world.requests.count
        try device.sync()
        let requests = rig.world.requests.dropFirst(before)
        let index = try #require(requests.firstIndex(where: isLike)) - requests.startIndex
        #expect(index < 12 && requests.count > 20)
        #expect(try rig.copies().count == 1)
    }
}
