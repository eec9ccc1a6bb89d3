import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// Programs of several generations use one store: unknown events are kept, skipped, and folded once
/// they are known.
@Suite(.offTasks) struct EvolutionTests {
    private typealias First = Tapes<TapeInMinutes>
    private typealias Second = Tapes<TapeInSeconds>
    private typealias Third = Tapes<TapeWithFormat>

    /// Events from programs of every generation, upgraded in any order.
    private func history(
        _ random: inout SeededGenerator, upcasted: Bool = false
    ) throws -> [HistoryEvent] {
        let origins = (0..<3).map { OriginID(high: 7, low: $0 + 1) }
        return try (0..<300).map { place in
            let (tape, minutes) = ("tape-\(random.number(below: 12))", random.number(below: 300))
            let at = 1_700_000_000_000 + UInt64(random.number(below: 100_000))
            let length = UInt64(minutes)
            let event: any Event
            switch random.number(below: 4) {
            case 0 where !upcasted: event = TapeInMinutes(tape: tape, minutes: length)
            case 1 where !upcasted: event = TapeInSeconds(tape: tape, seconds: length * 60)
            case 0, 1: event = TapeWithFormat(tape: tape, seconds: length * 60, format: "beta")
            case 2: event = TapeWithFormat(tape: tape, seconds: length, format: "vhs")
            default: event = TapeSplit(tape: tape)
            }
            return HistoryEvent(
                origin: origins[place % 3], stamp: Stamp(milliseconds: at),
                proposal: try ProposedEvent(event, atMilliseconds: at))
        }
    }

    /// The digest of a store that has had the program from the beginning; events that `isKept`
    /// excludes are recorded under a type that no projection reads.
    private func digests(
        _ projection: any Projection, _ history: [HistoryEvent],
        where isKept: (ProposedEvent) -> Bool = { _ in true }
    ) throws -> [String: String] {
        let store = try TestStore([projection])
        try store.log.record(
            history.map { event in
                var event = event
                if !isKept(event.proposal) { event.proposal.type = "LeftOut" }
                return event
            })
        return try store.liveDigests()
    }

    @Test func unknownEventsAreKeptAndFoldedAfterAnUpgrade() throws {
        let seed = Seed()
        var random = seed.generator()
        let history = try history(&random)
        let store = try TestStore([First()])
        for start in stride(from: 0, to: history.count, by: 50) {
            try store.log.record(Array(history[start..<start + 50]))
            try store.touch()
        }
        #expect(
            try store.liveDigests()
                == digests(First(), history) {
                    $0.type == "TapeRecorded" && $0.schemaVersion == 1
                }, "\(seed)")
        try store.checkVerifies("\(seed)")

        let kept = try store.log.events(after: .start)
        #expect(kept.map(\.payload) == history.map(\.proposal.payload))
        #expect(kept.map(\.schemaVersion) == history.map(\.proposal.schemaVersion))
        #expect(try store.log.verify().isIntact)
        #expect(try store.runner.frozenKeys().isEmpty)

        try store.reopen(projections: [Second()])
        #expect(
            try store.liveDigests()
                == digests(Second(), history) {
                    $0.type == "TapeRecorded" && $0.schemaVersion <= 2
                }, "\(seed)")
        try store.reopen(projections: [Third()])
        #expect(try store.liveDigests() == digests(Third(), history), "\(seed)")
        try store.checkVerifies("\(seed)")
        // The older program finds its own tables again.
        try store.reopen(projections: [First()])
        #expect(try store.runner.status().map(\.behind) == [0])
    }

    @Test func exportIncludesUnknownEvents() throws {
        let seed = Seed()
        var random = seed.generator()
        let history = try history(&random)
        let (old, new) = (try TestStore([First()]), try TestStore([Third()]))
        try old.log.record(history)
        let path = TestStore.emptyDirectory() + ".export"
        defer { TestStore.remove(path) }
        try old.log.export(to: path)
        #expect(try new.log.importEvents(from: path).recorded == 300)
        #expect(try new.liveDigests() == digests(Third(), history), "\(seed)")
    }

    @Test func oldPayloadsFoldLikeTheirUpcastForms() throws {
        let seed = Seed()
        var (random, again) = (seed.generator(), seed.generator())
        let digest = try digests(Third(), history(&random))
        #expect(try digest == digests(Third(), history(&again, upcasted: true)), "\(seed)")
    }

    @Test func everyVersionIsDecodedAsTheNewestType() throws {
        let store = try TestStore([Third()])
        try store.append(
            TapeInMinutes(tape: "a", minutes: 2), TapeInSeconds(tape: "a", seconds: 120),
            TapeWithFormat(tape: "a", seconds: 120, format: "beta"))
        for event in try store.log.events(after: .start) {
            let decoded = try event.decode(TapeWithFormat.self)
            #expect(decoded.payload() == Fields.write(["a", "120", "beta"]))
        }
        #expect(try store.log.schemaCounts().map(\.schemaVersion) == [1, 2, 3])
        #expect(try store.log.schemaCounts().map(\.events) == [1, 1, 1])
    }

    @Test func unknownVersionIsRefusedWithAHint() throws {
        let payload = TapeWithFormat(tape: "a", seconds: 1, format: "vhs").payload()
        let newer = #expect(throws: ModelError.self) {
            try TapeInSeconds(payload: payload, version: 3)
        }
        #expect(newer?.code == .newerFormat)
        #expect(
            newer?.message
                == "the payload uses schema version 3 of TapeRecorded; this program supports up to version 2"
        )
        #expect(newer?.hint == "upgrade the program; the event is kept until then")
        let none = #expect(throws: ModelError.self) {
            try TapeInSeconds(payload: payload, version: 0)
        }
        #expect(none?.code == .invalidPayload)
    }

    @Test func payloadRefusedByAnUpcasterFreezesOnlyItsKey() throws {
        let store = try TestStore([Third()])
        try store.append(TapeInMinutes(tape: "a", minutes: 1), TapeInMinutes(tape: "b", minutes: 1))
        try store.log.appendBlocking([
            ProposedEvent(
                type: TapeInMinutes.eventType, tags: [try Tag("tape", "a")],
                payload: Fields.write(["a", "two"]))
        ])
        try store.append(TapeInMinutes(tape: "b", minutes: 1))
        let frozen = try store.runner.read { _ in try store.runner.frozenKeys() }
        #expect(frozen.map(\.key) == ["tape/a"])
        #expect(frozen.map(\.position) == [3])
        let reason = try #require(frozen.first?.reason)
        #expect(
            reason.contains("the upcaster of TapeRecorded from version 1 failed"))
        #expect(reason.contains("two is not a number of minutes"))
        let seconds = try store.runner.read { views in
            try ["a", "b"].map {
                try views.state(of: Third(), key: Tag("tape", $0))?.seconds
            }
        }
        #expect(seconds == [60, 120])
    }

    /// A fold that declares events by name decodes older payloads, and receives only the versions
    /// that it declares.
    @Test func foldsByNameDecodeOlderPayloads() throws {
        let store = try TestStore([NamedTapes()])
        try store.append(
            TapeInMinutes(tape: "a", minutes: 2), TapeInSeconds(tape: "a", seconds: 7))
        let state = try store.runner.read { try $0.state(of: NamedTapes(), key: Tag("tape", "a")) }
        #expect(state?.seconds == 120)
        #expect(state?.parts == 1)
    }

    /// Declaring events by type instead of by name does not change the fingerprint.
    @Test func fingerprintDependsOnTheVersionsOfEventTypes() {
        func fingerprint(_ projection: some Projection) -> Digest16 {
            TypedDriver(projection).fingerprint
        }
        let named = fingerprint(ByName())
        #expect(fingerprint(ByType<TapeInMinutes>()) == named)
        #expect(fingerprint(ByType<TapeInSeconds>()) != named)
    }
}

private struct ByName: Projection {
    typealias State = Tapes<TapeInMinutes>.State
    let name = "formed"
    let version = 1
    let tagKind = "tape"
    let eventTypes = [TapeInMinutes.eventType, TapeSplit.eventType]
    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {}
}

private struct ByType<Recording: TapeRecording>: Projection {
    typealias State = Tapes<Recording>.State
    let name = "formed"
    let version = 1
    let tagKind = "tape"
    let events: [any Event.Type] = [Recording.self, TapeSplit.self]
    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {}
}
