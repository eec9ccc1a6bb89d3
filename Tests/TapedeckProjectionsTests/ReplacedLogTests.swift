import Foundation
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// After a log file has been restored in place to an earlier state and extended, views of the
/// replaced events must not be served, however long the log has become.
@Suite(.offTasks) struct ReplacedLogTests {
    /// The contents of the log file when this value was created.
    private struct Copy {
        private let path: String
        private let bytes: Data

        init(_ store: TestStore) throws {
            path = store.log.directory.log
            bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        }

        /// Restores the file as `cp` does: the file keeps its inode.
        func putBack() throws {
            let file = try #require(FileHandle(forWritingAtPath: path))
            // The file is never shorter than its first pages, because an open store may read these
            // pages at any time.
            try file.write(contentsOf: bytes)
            try file.truncate(atOffset: UInt64(bytes.count))
            try file.close()
        }
    }

    private func note(_ store: TestStore, _ text: String) throws {
        try store.append(NoteAdded(isbn: "isbn-1", reader: "r", text: text))
    }

    private func notes(_ store: TestStore) throws -> UInt64? {
        try store.runner.read { views in
            try views.state(of: ReaderNotes(), key: Tag("reader", "r"))?.notes
        }
    }

    /// A store at position 5, a copy of its log, and then `more` events that the copy lacks.
    private func storeAndCopy(more: Int) throws -> (TestStore, Copy) {
        let store = try TestStore()
        for number in 1...5 { try note(store, "before \(number)") }
        try store.touch()
        let copy = try Copy(store)
        for number in 0..<more { try note(store, "lost \(number)") }
        try store.touch()
        return (store, copy)
    }

    private func putBack(_ copy: Copy, in store: TestStore) throws {
        store.runner.close()
        store.log.close()
        try copy.putBack()
        try store.reopen()
    }

    private func checkFresh(_ store: TestStore, _ note: String) throws {
        let fresh = try store.runner.replay(until: .position(store.log.head)).digests
        #expect(try store.liveDigests() == fresh, "\(note)")
        try store.checkVerifies(note)
    }

    // MARK: - While the store is closed

    @Test(arguments: [0, 1, 9, 10, 11, 12, 40])
    func viewsOfARestoredLogAreRebuilt(_ count: Int) throws {
        let (store, copy) = try storeAndCopy(more: 10)
        try putBack(copy, in: store)
        let origin = store.log.origin
        for number in 0..<count {
            try store.append(LoanStarted(isbn: "isbn-\(number % 3)", reader: "s"))
        }
        try store.reopen()
        #expect(store.log.origin == origin)
        #expect(try notes(store) == 5)
        try checkFresh(store, "\(count) other events")
    }

    @Test func matchingViewsAreKeptHoweverLongTheLogGrows() throws {
        let (store, _) = try storeAndCopy(more: 10)
        let number = try store.file().number
        for _ in 0..<3 {
            try store.reopen()
            try store.log.appendBlocking(
                try (0..<1_500).map { number in
                    try ProposedEvent(NoteAdded(isbn: "isbn-1", reader: "r", text: "\(number)"))
                })
        }
        try store.reopen()
        #expect(try notes(store) == 4_515)
        #expect(try store.file().number == number)
    }

    /// The last event and its position are the same in both histories, but the earlier events
    /// differ.
    @Test func pulledEventAtTheSamePositionDoesNotHideADifference() throws {
        let pulled = HistoryEvent(
            origin: OriginID(high: 7, low: 7),
            stamp: Stamp(milliseconds: 1_600_000_000_000, counter: 0),
            proposal: try ProposedEvent(LoanStarted(isbn: "isbn-9", reader: "far")))
        let (store, copy) = try storeAndCopy(more: 5)
        try store.log.record([pulled])
        try store.touch()
        try putBack(copy, in: store)
        for _ in 0..<5 { try store.append(LoanEnded(isbn: "isbn-1", reader: "r")) }
        try store.log.record([pulled])
        try store.log.appendBlocking(
            try (0..<1_200).map { _ in try ProposedEvent(LoanEnded(isbn: "isbn-2", reader: "r")) })
        try store.reopen()
        #expect(try notes(store) == 5)
        try checkFresh(store, "the same event at the same place")
    }

    @Test func differentReceiptsOfTheSameEventsAreApplied() throws {
        func receipts(_ store: TestStore, _ refused: Set<UInt64>) throws {
            for sequence in UInt64(1)...3 {
                try store.log.recordReceipts([
                    Receipt(
                        event: EventID(origin: store.log.origin, sequence: sequence),
                        lineage: LineageID(high: 1, low: 1), serverPosition: sequence,
                        receivedAt: Stamp(milliseconds: 1_800_000_000_000, counter: 0),
                        outcome: refused.contains(sequence) ? .refused(.fork) : .accepted)
                ])
            }
        }
        let (store, copy) = try storeAndCopy(more: 0)
        try receipts(store, [1, 2])
        #expect(try notes(store) == 3)
        try putBack(copy, in: store)
        try receipts(store, [1, 3])
        try store.reopen()
        try checkFresh(store, "other receipts")
    }

    // MARK: - Under an open store

    /// LMDB cannot continue with a file that was overwritten while it was open.
    @Test func openStoreMustBeOpenedAgain() throws {
        let (store, copy) = try storeAndCopy(more: 10)
        try copy.putBack()
        let error = #expect(throws: LogError.self) { try note(store, "other") }
        #expect(error?.code == .mustReopen)
        // A query never shows lost events; here, it fails because it cannot store new views.
        #expect(throws: (any Error).self) { try notes(store) }
        try store.reopen()
        try note(store, "other")
        #expect(try notes(store) == 6)
        try checkFresh(store, "an overwritten log")
    }
}
