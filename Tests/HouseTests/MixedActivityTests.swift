import Foundation
import Tapedeck
import TapedeckTesting
import Testing

/// `MixedActivityGenerator` is deterministic, generates every event type and resembles real
/// activity.
@Suite struct MixedActivityTests {
    @Test func aSeedAlwaysGivesTheSameLines() throws {
        let thousand = try lines(1_000, seed: 1)
        let again = try lines(1_000, seed: 1)
        let fewer = try lines(900, seed: 1)
        let other = try lines(10, seed: 2)
        #expect(again == thousand)
        #expect(thousand.starts(with: fewer))
        #expect(!thousand.starts(with: other))
    }

    @Test func linesParseToTheirEvents() throws {
        let random = SeededGenerator.fromEnvironment()
        var activity = MixedActivityGenerator(seed: random.seed, videos: 50)
        for _ in 0..<4_000 {
            let made = try activity.next()
            var bytes: [UInt8] = []
            try made.appendLine(to: &bytes)
            let line = try #require(
                try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
            let payload = try JSONSerialization.data(
                withJSONObject: try #require(line["payload"]))
            let read = try EventCatalogue.video.proposal(
                type: try #require(line["type"] as? String), json: Array(payload))
            try #require(made.proposal.type == read.type, "\(random)")
            try #require(made.proposal.payload == read.payload, "\(random)")
            try #require(made.proposal.tags == read.tags, "\(random)")
            try #require(made.proposal.fact?.entity == read.fact?.entity, "\(random)")
            #expect(line["origin"] as? String == made.device.name)
        }
    }

    /// Benchmarks would silently miss event types that are never generated and projections that
    /// receive no events.
    @Test func everyTypeOccursAndEveryProjectionHasRows() throws {
        let random = SeededGenerator.fromEnvironment()
        let place = try TemporaryStore("mixed")
        let log = try EventLog.create(place.path("log"), options: place.options)
        defer { log.close() }
        var activity = MixedActivityGenerator(seed: random.seed, videos: 300)
        var types: [String: Int] = [:]
        let all = VideoProjections.standard.all
        let runner = ProjectionRunner(log, projections: all)
        defer { runner.close() }
        // Some rows, such as those of a queue, are removed again and may be absent at any time.
        var hadRows: Set<String> = []
        for _ in 0..<4 {
            for _ in 0..<9 {
                let proposals = try (0..<1_000).map { _ in try activity.next().proposal }
                for proposal in proposals { types[proposal.type.name, default: 0] += 1 }
                try log.appendBlocking(proposals)
            }
            let report = try runner.rebuild(all.map(\.name))
            #expect(report.frozen.isEmpty, "\(random)")
            #expect(report.projections.allSatisfy { $0.keys > 0 }, "\(random)")
            hadRows.formUnion(report.projections.filter { $0.rows > 0 }.map(\.name))
        }
        #expect(
            Set(types.keys) == Set(EventCatalogue.video.typeNames), "\(random), \(types)")
        // Some projections have states but no tables.
        let withTables = all.filter { !$0.tables.isEmpty }.map(\.name)
        #expect(hadRows.isSuperset(of: withTables), "\(random)")
    }

    @Test func generatedActivityResemblesRealActivity() throws {
        var activity = MixedActivityGenerator(seed: 7, videos: 1_000)
        var tags: [String: Int] = [:]
        var devices: Set<Activity.Device> = []
        var latest: UInt64 = 0
        var late = 0
        let count = 20_000
        for _ in 0..<count {
            let made = try activity.next()
            for tag in made.proposal.tags { tags[tag.text, default: 0] += 1 }
            devices.insert(made.device)
            let time = try #require(made.proposal.atMilliseconds)
            if time + 60_000 <= latest { late += 1 }
            latest = max(latest, time)
        }
        #expect(devices.count == 3)
        #expect((count / 14...count / 7).contains(late), "\(late)")
        // Each kind has hot keys and a long tail.
        for kind in ["video/", "user/", "show/"] {
            let ofKind = tags.filter { $0.key.hasPrefix(kind) }.values.sorted(by: >)
            #expect(ofKind.count > 10, "\(kind)")
            #expect(ofKind[0] > 4 * ofKind[ofKind.count / 2], "\(kind)")
        }
    }

    /// Only recorded segments are removed or merged.
    @Test func answersPassThroughTheirStatesInOrder() throws {
        var activity = MixedActivityGenerator(seed: 3, videos: 100)
        var segments: [String] = []
        var isMerging = false
        var whole = 0
        for _ in 0..<30_000 {
            let proposal = try activity.next().proposal
            switch proposal.type {
            case AnswerSegmentRecorded.eventType:
                #expect(!isMerging)
                segments.append(
                    try AnswerSegmentRecorded(payload: proposal.payload, version: 1).segment)
            case AnswerSegmentRemoved.eventType:
                let gone = try AnswerSegmentRemoved(payload: proposal.payload, version: 1).segment
                #expect(!isMerging && segments.contains(gone))
                segments.removeAll { $0 == gone }
            case AnswerMergeStarted.eventType:
                let merge = try AnswerMergeStarted(payload: proposal.payload, version: 1)
                #expect(!isMerging && merge.segments == segments)
                isMerging = true
            case AnswerMergeFailed.eventType:
                #expect(isMerging)
                isMerging = false
            case AnswerRecorded.eventType:
                #expect(isMerging)
                (isMerging, segments) = (false, [])
                whole += 1
            default: break
            }
        }
        #expect(whole > 10)
    }

    private func lines(_ count: Int, seed: UInt64) throws -> [UInt8] {
        var activity = MixedActivityGenerator(seed: seed)
        var bytes: [UInt8] = []
        for _ in 0..<count { try activity.next().appendLine(to: &bytes) }
        return bytes
    }
}
