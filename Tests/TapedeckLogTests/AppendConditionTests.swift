@_spi(Core) import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

/// The events that an append condition finds, whether it reads the records or uses the index.
@Suite(.offTasks) struct AppendConditionTests {
    private func isForbidden(
        _ tags: [TapedeckModel.Tag], _ types: [EventType], after position: UInt64, in log: EventLog
    ) throws -> Bool {
        do throws(LogError) {
            try log.appendBlocking(
                [ProposedEvent(type: "Tried", tags: [], payload: [])],
                condition: .noEvent(
                    with: tags, types: types, after: LogPosition(rawValue: position)))
            return false
        } catch {
            #expect(error.code == .conditionFailed)
            return true
        }
    }

    @Test(arguments: [0, 3_000])
    func conditionFindsEveryNamedType(others: Int) throws {
        let log = try TemporaryDirectory().store()
        try log.appendBlocking([ProposedEvent(type: "Closed", tags: [], payload: [])])
        if others > 0 { try log.appendBlocking((0..<others).map { .sample($0) }) }
        #expect(try isForbidden([], ["Opened", "Closed"], after: 0, in: log))
        #expect(try isForbidden([], ["Closed", "Opened"], after: 0, in: log))
        #expect(try !isForbidden([], ["Closed", "Opened"], after: 1, in: log))
        #expect(try !isForbidden([], ["Opened", "Shut"], after: 0, in: log))
        log.close()
    }

    @Test func emptyConditionMatchesEveryEvent() throws {
        let log = try TemporaryDirectory().store()
        #expect(try !isForbidden([], [], after: 0, in: log))
        #expect(try isForbidden([], [], after: 0, in: log))
        #expect(try !isForbidden([], [], after: 1, in: log))
        log.close()
    }

    /// An event that lacks a required tag does not match, even if it has another required tag
    /// twice.
    @Test func conditionRequiresAllTags() throws {
        let log = try TemporaryDirectory().store()
        let (first, second) = (Tag(unchecked: "a/1"), Tag(unchecked: "a/2"))
        try log.appendBlocking([ProposedEvent(type: "Opened", tags: [first, first], payload: [])])
        #expect(try !isForbidden([first, second], [], after: 0, in: log))
        #expect(try isForbidden([first, first], [], after: 0, in: log))
        log.close()
    }

    /// The index finds the same events as a filter over all records.
    @Test func indexFindsTheSameEventsAsAFilter() throws {
        let log = try TemporaryDirectory().store("store", .init(unindexedEventsMax: 400))
        var random = SeededRandom(Seed.fresh())
        for _ in 0..<40 {
            try log.appendBlocking((0..<100).map { _ in .full(&random, after: []) })
        }
        let all = try log.allEvents()
        let names: [EventType] = ["PageTurned", "NoteTaken", "Shop.Opened", "x_1", "NeverSeen"]
        for _ in 0..<200 {
            let filter = EventFilter(
                tags: (0..<Int.random(in: 0...2, using: &random)).map { _ in
                    Tag(unchecked: random.pick(ProposedEvent.sampleTags))
                },
                types: (0..<Int.random(in: 0...3, using: &random)).map { _ in random.pick(names) })
            let after = UInt64.random(in: 0...4_000, using: &random)
            let through = UInt64.random(in: after...4_000, using: &random)
            var found: [UInt64] = []
            try log.read { transaction in
                try log.forEachRecord(
                    fitting: filter, after: after, through: through,
                    types: log.state.withLock(\.types), transaction
                ) { record in
                    found.append(record.position)
                    return found.count < 500
                }
            }
            let expected = all[Int(after)..<Int(through)].filter { event in
                filter.tags.allSatisfy(event.tags.contains)
                    && (filter.types.isEmpty || filter.types.contains(event.type))
            }
            #expect(found == expected.prefix(500).map(\.position.rawValue), "\(filter)")
        }
        log.close()
    }
}
