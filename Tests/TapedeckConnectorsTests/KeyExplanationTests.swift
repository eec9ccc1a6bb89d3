import TapedeckConnectors
import TapedeckModel
import TapedeckProjections
import TapedeckSync
import TapedeckVideo
import TestSupport
import Testing

/// For the projections that remotes use, folding or explaining a single key gives the same result
/// as replaying the entire log.
@Suite(.offTasks) struct KeyExplanationTests {
    private static func history(
        _ count: Int, _ random: inout SeededGenerator
    ) throws -> [RecordedEvent] {
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
        var script = Script()
        for _ in 0..<count {
            let (origin, second) = (UInt64(number(3) + 1), Double(number(200)))
            let video = "youtube:v\(number(3))"
            switch number(13) {
            case 0: try script.comment("c", on: video, at: second, origin: origin)
            case 1: try script.toggle(number(2) == 0, video, at: second, origin: origin)
            case 2:
                guard let intent = script.events.randomElement(using: &random) else { continue }
                try script.outcome(
                    of: intent.id, by: "shelby", tags: intent.proposal.tags,
                    kind: UInt8(number(7) + 1), at: second, origin: origin)
            case 3:
                var added = RemoteAdded()
                (added.name, added.system) = ("r\(number(2))", "shelby")
                added.url = "https://example.org/\(number(3))"
                try script.add(added, at: second, origin: origin)
            case 4:
                var removed = RemoteRemoved()
                removed.name = "r\(number(2))"
                try script.add(removed, at: second, origin: origin)
            case 5:
                var frame = FrameObserved()
                (frame.frame, frame.video) = ("f\(number(3))", video)
                frame.removed = number(3) == 0
                try script.observe(frame, at: number(2) == 0 ? nil : second, origin: origin)
                var broadcast = BroadcastReceived()
                (broadcast.broadcast, broadcast.video) = ("b\(number(3))", video)
                if number(3) > 0 { broadcast.channel = "c\(number(2))" }
                broadcast.removed = number(3) == 0
                try script.observe(broadcast, at: number(2) == 0 ? nil : second, origin: origin)
            case 6:
                try script.add(
                    "QuestionAsked", #"{"receiver":"u\#(number(2))","text":"x"}"#, at: second,
                    origin: origin)
            case 7:
                try script.add(
                    "LikeToggled", #"{"answer":"a\#(number(3))","isOn":\#(number(2) == 0)}"#,
                    at: second, origin: origin)
            case 8:
                let digest = String(repeating: "ab", count: 32)
                try script.add(
                    "AnswerRecorded",
                    """
                    {"question":"q\(number(3))","blob":"\(digest)","thumbnail":"\(digest)",
                     "videoExtension":"mov","thumbnailExtension":"jpg","durationSeconds":9}
                    """, at: second, origin: origin)
            case 9:
                var read = FeedRead()
                (read.system, read.feed) = ("whale", "answers/\(number(3))/likes")
                read.mark = "\(number(5))"
                var proposal = try ProposedEvent(read)
                proposal.tags = [try Tag("feed", "f\(number(3))")]
                script.add(proposal, at: second, origin: origin)
            case 10:
                try script.add(
                    "VisitStarted", #"{"account":"u\#(number(2))","system":"shelby"}"#, at: second,
                    origin: origin)
            case 11:
                try script.add(
                    RemoteLoginsEnded.with { $0.name = "r\(number(2))" }, at: second, origin: origin
                )
            default: try script.whale(&random)
            }
        }
        return script.events
    }

    private static func check(
        _ events: Int, _ random: inout SeededGenerator
    ) throws -> (KeyCheck, ScriptLog) {
        let script = try ScriptLog(history(events, &random), &random)
        let check = KeyCheck(
            log: script.log, projections: Connectors.projections, note: "TAPEDECK_SEED=\(runSeed)")
        return (check, script)
    }

    @Test func singleKeyFoldsMatchAReplay() throws {
        var random = SeededGenerator(seed: runSeed)
        let (check, script) = try Self.check(200, &random)
        let met = try check.checkKeysFoldedAlone(asOf: script.points(&random))
        #expect(met == Set(Connectors.projections.map(\.name)))
    }

    @Test func explanationsNameTheDecisiveEvents() throws {
        var random = SeededGenerator(seed: runSeed)
        let (check, script) = try Self.check(120, &random)
        let met = try check.checkExplanations(keysPerProjection: 2, eventsPerRole: 2, &random)
        #expect(met[.deciding, default: 0] > 0 && met[.lost, default: 0] > 0)
        withExtendedLifetime(script) {}
    }
}
