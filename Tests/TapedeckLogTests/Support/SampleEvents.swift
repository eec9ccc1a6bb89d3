import TapedeckLog
import TapedeckModel
import TestSupport

extension ProposedEvent {
    /// A small event about `note/<number>`.
    static func sample(_ number: Int, payload: Int = 24) -> ProposedEvent {
        ProposedEvent(
            type: number % 3 == 0 ? "PageTurned" : "NoteTaken",
            tags: [Tag(unchecked: "note/\(number % 11)")],
            payload: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: payload))
    }

    /// A random event in which every part of an event may occur.
    static func full(_ random: inout SeededRandom, after: [EventID]) -> ProposedEvent {
        var event = ProposedEvent(
            type: random.pick(["PageTurned", "NoteTaken", "Shop.Opened", "x_1"]),
            schemaVersion: .random(in: 1...9, using: &random),
            tags: (0..<Int.random(in: 0...4, using: &random)).map { _ in
                Tag(unchecked: random.pick(sampleTags))
            },
            retention: Retention(rawValue: .random(in: 0...3, using: &random)),
            payload: random.bytes(random.chance(3) ? 5_000 : .random(in: 0...60, using: &random)))
        if random.chance(20) { event.fact = .random(&random) }
        if random.chance(10) { event.atMilliseconds = .random(in: 0...2_000_000, using: &random) }
        if random.chance(10), !after.isEmpty { event.causation = random.pick(after) }
        if random.chance(10), !after.isEmpty { event.correlation = random.pick(after) }
        if random.chance(5) { event.encoding = .sealed }
        return event
    }

    static let sampleTags = (0..<8).map { "note/\($0)" } + ["shop/é", "shop/日本", "user/a b/c"]
}

extension ObservedFact {
    static func random(_ random: inout SeededRandom) -> ObservedFact {
        ObservedFact(
            entity: "show/\(Int.random(in: 0...4, using: &random))",
            content: [UInt8.random(in: 0...3, using: &random)],
            version: .random(in: 0...3, using: &random),
            observedAt: random.chance(30) ? nil : .random(in: 0...50, using: &random))
    }
}

extension EventEnvelope {
    /// The event without its position, which differs between stores.
    var content: EventEnvelope {
        var copy = self
        copy.position = .start
        return copy
    }
}
