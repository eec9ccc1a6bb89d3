import Tapedeck
import TapedeckConnectors
import TapedeckModel
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// Syncing with Shelby's 2012–2014 API despite crashes, lost connections and expired tokens.
@Suite(.offTasks) struct ShelbyV1AdversityTests {
    /// Records the intents that the tests deliver.
    private static func want(_ video: String, of device: RemoteDevice) throws {
        try device.append(
            ShelbyV1Rig.liked(video, true), ShelbyV1Rig.comment(video, "same"),
            ShelbyV1Rig.comment(video, "same"), ShelbyV1Rig.shared(video, "look"),
            ShelbyV1Rig.watched(video, to: 60))
    }

    private static func unknown(_ device: RemoteDevice, _ type: EventType) throws -> Int {
        try device.outbox().count {
            if case .unknown = $0.state { $0.event.type == type } else { false }
        }
    }

    /// If a sync crashes at any point, the next sync resumes it.
    @Test(arguments: Soak.sample(Array(1...14), 4))
    func crashesNeitherLoseNorRepeatAnything(number: Int) throws {
        for point in [CrashPoint.before(number), .after(number)] {
            let rig = ShelbyV1Rig()
            let device = try rig.device()
            let video = try #require(try rig.untouched().first)
            try ShelbyV1AdversityTests.want(video, of: device)
            try device.sync(crashing: point)
            try device.sync()
            #expect(try rig.effects(.like).count == 1, "\(point)")
            #expect(try rig.copies().count == 1, "\(point)")
            #expect(try rig.effects(.comment).map(\.text) == ["same", "same"], "\(point)")
            let posted = try device.recorded(CommentObserved.self).filter(\.hasPostedAs)
            #expect(Set(posted.map(\.postedAs)).count == 2, "\(point)")
            #expect(Set(posted.map(\.comment)).count == 2, "\(point)")
            for (kind, type) in [
                (SimulatorEffect.Kind.share, VideoShared.eventType),
                (.watched, VideoWatched.eventType),
            ] {
                let count = try rig.effects(kind).count
                let unknown = try ShelbyV1AdversityTests.unknown(device, type)
                #expect(count <= 1 && unknown <= 1, "\(point): \(kind)")
                #expect(count == 1 || unknown == 1, "\(point): \(kind)")
            }
            let left = try device.outbox().filter {
                if case .unknown = $0.state { false } else { true }
            }
            #expect(left.isEmpty, "\(point): \(left.map(\.state))")
            #expect(rig.world.simulator.violations.isEmpty, "\(point)")
        }
    }

    /// The process crashes while it removes a like.
    @Test(arguments: Soak.sample(Array(1...5), 2))
    func crashesDuringAnUnlikeRepeatNothing(number: Int) throws {
        for point in [CrashPoint.before(number), .after(number)] {
            let rig = ShelbyV1Rig()
            let device = try rig.device()
            let video = try #require(try rig.untouched().first)
            try device.append(ShelbyV1Rig.liked(video, true))
            try device.sync()
            try device.append(ShelbyV1Rig.liked(video, false))
            try device.sync(crashing: point)
            try device.sync()
            #expect(try rig.effects(.like).count == 1, "\(point)")
            #expect(try rig.effects(.unlike).count == 1, "\(point)")
            #expect(try rig.copies().isEmpty, "\(point)")
            #expect(try device.outbox().isEmpty, "\(point)")
        }
    }

    @Test func everythingIsDeliveredDespiteHarshConditions() throws {
        let seeds = 1...UInt64(Soak.count(12, soak: 100))
        var done = 0
        print("harsh conditions for Shelby's v1: seeds \(seeds)")
        for seed in seeds {
            var weather = SimulatorAdversary.harsh
            weather.tokenLifeMilliseconds = 120_000
            let rig = ShelbyV1Rig(weather, seed: seed)
            let device = try rig.device(seed: seed)
            let video = try #require(try rig.untouched().first)
            try ShelbyV1AdversityTests.want(video, of: device)
            for _ in 0..<5 {
                try device.sync()
                rig.world.clock.advance(by: .seconds(30))
            }
            rig.world.simulator.adversary = .none
            let report = try #require(try device.sync())
            #expect(report.failure == nil, "seed \(seed)")
            var refused: Set<EventType> = []
            for delivery in try device.outbox() {
                switch delivery.state {
                // Other users may have removed the intent's object.
                case .refused: refused.insert(delivery.event.type)
                case .unknown
                where [VideoShared.eventType, VideoWatched.eventType].contains(
                    delivery.event.type):
                    continue
                // All frames with the video may have been removed before they were read.
                case .waiting(.notThere, _, _): refused.insert(delivery.event.type)
                default:
                    Issue.record("seed \(seed): \(delivery.event.type) is \(delivery.state)")
                }
            }
            if !refused.contains(LikeToggled.eventType) {
                #expect(try rig.effects(.like).count == 1, "seed \(seed)")
            }
            if !refused.contains(CommentPosted.eventType) {
                #expect(try rig.effects(.comment).count == 2, "seed \(seed)")
            }
            if refused.isEmpty { done += 1 }
            #expect(try rig.effects(.share).count <= 1, "seed \(seed)")
            #expect(try rig.effects(.watched).count <= 1, "seed \(seed)")
            #expect(rig.world.simulator.violations.isEmpty, "seed \(seed)")
        }
        // If the remote refused intents for most seeds, the test would prove nothing.
        #expect(done > seeds.count / 2)
        print("for \(done) of the seeds the remote refused nothing")
    }
}
