import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// Folding events in order of arrival gives the same views as a rebuild.
@Suite struct BirdTubeReplayTests {
    private static let hour: UInt64 = 3_600_000

    /// Returns random user intents and remote observations; `intents` contains the earlier intents.
    private static func batch(
        _ random: inout SeededGenerator, _ intents: [(id: EventID, video: String)]
    ) throws -> [ProposedEvent] {
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
        let video = "youtube:v\(number(3))"
        let at = ManualClock.defaultMilliseconds + UInt64(number(300)) * hour
        func observed(_ observation: some Observation) throws -> ProposedEvent {
            try ProposedEvent(observation: observation, observedAt: Int64(at))
        }
        let known = intents.randomElement(using: &random)
        var events = [
            try ProposedEvent(
                VideoOpened.with {
                    ($0.video, $0.viewer) = (video, "u\(number(2))")
                    $0.viewing = "w\(number(60))"
                }, atMilliseconds: at),
            try observed(
                SubmissionObserved.with {
                    ($0.video, $0.views) = (video, UInt64(number(50)))
                    if number(2) == 0 { $0.title = "t\(number(9))" }
                }),
            try observed(
                ChatMessageObserved.with {
                    ($0.message, $0.video, $0.text) = (
                        Int64(number(40) + 1), video, "m\(number(9))"
                    )
                    $0.at = .init(milliseconds: Int64(at))
                    $0.isBlocked = number(4) == 0
                    if let known, number(3) == 0 { $0.postedAs = known.id.description }
                }),
            try ProposedEvent(
                ChatMessagePosted.with { ($0.video, $0.text) = (video, "own") }, atMilliseconds: at),
            try ProposedEvent(
                VideoSubmitted.with { ($0.video, $0.title) = (video, "mine") }, atMilliseconds: at),
            try ProposedEvent(
                SignedIn.with { ($0.account, $0.system) = ("u\(number(2))", BirdTube.system) },
                atMilliseconds: at),
        ]
        if let known {
            let kinds: [OutcomeRecorded.Kind] = [.confirmed, .refused, .retried, .dropped]
            let outcome = OutcomeRecorded.with {
                ($0.system, $0.intent) = (BirdTube.system, known.id.description)
                $0.kind = kinds[number(4)]
            }
            var proposal = try ProposedEvent(outcome, atMilliseconds: at)
            proposal.tags = [try Tag("video", known.video)]
            events.append(proposal)
        }
        return events
    }

    @Test func outOfOrderEventsFoldLikeARebuild() throws {
        var random = SeededGenerator.fromEnvironment()
        let place = try TemporaryStore()
        let store = try place.open()
        var intents: [(id: EventID, video: String)] = []
        for _ in 0..<60 {
            let events = try Self.batch(&random, intents)
            let appended = try store.log.appendBlocking(events)
            for (index, event) in events.enumerated() where event.fact == nil {
                let id = EventID(
                    origin: appended.firstID.origin,
                    sequence: appended.firstID.sequence + UInt64(index))
                if let tag = event.tags.first, tag.kind == "video" {
                    intents.append((id, String(tag.name)))
                }
            }
            // Read the projections after each batch, so that each batch is folded separately.
            _ = try store.projections.read(nil) { try VideoQueries($0).submissions().videos.count }
        }
        let (report, differences) = try store.projections.verify()
        #expect(differences.isEmpty, "\(random): \(differences)")
        for name in ["submissions", "chat", "view-counts", "accounts"] {
            let projection = try #require(report.projections.first { $0.name == name })
            #expect(projection.keys > 1 && projection.rows > 1, "\(name)")
        }
    }
}
