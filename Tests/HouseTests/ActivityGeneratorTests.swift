import Foundation
import Tapedeck
import TapedeckTesting
import Testing

/// `ActivityGenerator` is deterministic, and its activity resembles real activity.
@Suite struct ActivityGeneratorTests {
    @Test func aSeedAlwaysGivesTheSameBytes() {
        // The FNV-1a hash of the first thousand lines; benchmarks and examples rely on these bytes.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in lines(1_000, seed: 1) { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01B3 }
        #expect(hash == 0xCE83_7801_560B_699C)
    }

    @Test func differentSeedsGiveDifferentActivity() {
        #expect(lines(10, seed: 1) != lines(10, seed: 2))
    }

    @Test func linesParseToTheirEvents() throws {
        let random = SeededGenerator.fromEnvironment()
        var activity = ActivityGenerator(seed: random.seed, videos: 50)
        for _ in 0..<2_000 {
            let made = activity.next()
            let read = try proposal(ofLine: made)
            let event = try made.event()
            try #require(event.type == read.type, "\(random)")
            try #require(event.payload == read.payload, "\(random)")
            try #require(event.tags == read.tags, "\(random)")
            try #require(event.fact == read.fact, "\(random)")
            try #require(event.atMilliseconds == made.atMilliseconds, "\(random)")
        }
    }

    @Test func generatedActivityResemblesRealActivity() {
        var activity = ActivityGenerator(seed: 7, videos: 1_000)
        var byKind: [Activity.Kind: Int] = [:]
        var byVideo: [UInt64: Int] = [:]
        var devices: Set<Activity.Device> = []
        var latest: UInt64 = 0
        var late = 0
        var bytes: [UInt8] = []
        let count = 20_000
        for _ in 0..<count {
            let made = activity.next()
            byKind[made.kind, default: 0] += 1
            byVideo[made.videoRank, default: 0] += 1
            devices.insert(made.device)
            if made.atMilliseconds < latest { late += 1 }
            latest = max(latest, made.atMilliseconds)
            made.appendLine(to: &bytes)
        }
        #expect(devices.count == 3)
        #expect(byKind.count == Activity.Kind.allCases.count)
        #expect(byKind[.broadcastReceived, default: 0] > count / 2)
        #expect((count / 12...count / 8).contains(late))
        #expect((180...240).contains(bytes.count / count))
        // There are hot videos and a long tail: of a thousand videos, the top one has more than 5 %
        // of all events.
        #expect(byVideo[0, default: 0] > count / 20)
        #expect(byVideo.count > 850)
        #expect(byVideo.keys.allSatisfy { $0 < 1_000 })
    }

    private func lines(_ count: Int, seed: UInt64) -> [UInt8] {
        var activity = ActivityGenerator(seed: seed)
        var bytes: [UInt8] = []
        for _ in 0..<count { activity.next().appendLine(to: &bytes) }
        return bytes
    }

    private func proposal(ofLine activity: Activity) throws -> ProposedEvent {
        var bytes: [UInt8] = []
        activity.appendLine(to: &bytes)
        let line = try #require(
            try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        let payload = try JSONSerialization.data(withJSONObject: try #require(line["payload"]))
        #expect(line["origin"] as? String == activity.device.name)
        return try EventCatalogue.video.proposal(
            type: try #require(line["type"] as? String), json: Array(payload))
    }
}
