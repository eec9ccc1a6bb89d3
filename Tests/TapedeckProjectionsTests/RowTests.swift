import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// Live tables and a rebuild agree, no matter which rows a projection yields.
@Suite(.offTasks) struct RowTests {
    @Test func lastOfSeveralRowsWithOneKeyIsKept() throws {
        let store = try TestStore([LastNote()])
        for number in 0..<12 {
            try store.append(
                NoteAdded(isbn: "\(number % 2)", reader: "r", text: "note \(number)"))
            if number % 5 == 0 { try store.touch() }
        }
        let live = try store.liveDigests()
        try store.checkVerifies()
        #expect(try store.runner.rebuild().digests == live)
        #expect(try store.liveDigests() == live)
        let notes = try store.runner.read { views in
            try (0..<2).map { table in
                try views.rows(
                    of: LastNote(), table: table, lower: nil, upper: nil, after: nil, limit: 100
                )
                .map { String(decoding: $0.value, as: UTF8.self) }
            }
        }
        #expect(notes[0] == ["note 10", "note 11"])
        #expect(notes[1] == ["note 6", "note 8", "note 10", "note 7", "note 9", "note 11"])
    }

    /// Two entities with equal content are counted as two, even under one key; an entity that two
    /// origins have observed is counted once.
    @Test func entitiesWithEqualContentAreCountedSeparately() throws {
        let store = try TestStore([ShelfHistory()])
        func observation(_ entity: String, _ origin: UInt64) throws -> HistoryEvent {
            let received = BookReceived(isbn: "1", title: "Emma", shelf: "a")
            var proposal = try ProposedEvent(received, atMilliseconds: 5_000 + origin)
            proposal.fact = ObservedFact(
                entity: entity, content: [1, 2, 3], version: 4, observedAt: 5)
            return HistoryEvent(
                origin: OriginID(high: 1, low: origin), stamp: Stamp(milliseconds: 5_000 + origin),
                proposal: proposal)
        }
        for origin in 1...3 as ClosedRange<UInt64> {
            for entity in ["one", "two"] {
                try store.log.record([try observation(entity, origin)])
                try store.checkVerifies("\(entity) seen by \(origin)")
            }
        }
        let state = try store.runner.read {
            try $0.state(of: ShelfHistory(), key: Tag("shelf", "a"))
        }
        #expect(state?.count == 2)
    }
}
