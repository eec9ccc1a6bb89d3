import Foundation
import Synchronization
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// A decision is made again if the state on which it is based changes.
@Suite(.serialized, .offTasks) struct DecideTests {
    /// The error thrown by a decision if the limit has been reached.
    struct NoneLeft: Error {}

    private static let reader = Tag(unchecked: "reader/r")

    /// Writes a note if the reader has fewer than `most` notes; returns whether it did.
    private static func write(
        _ text: String, _ runner: ProjectionRunner, atMost most: UInt64, reader: String = "r"
    ) async throws -> Bool {
        do {
            let appended = try await runner.decide(ReaderNotes(), key: Tag("reader", reader)) {
                guard $0.notes < most else { throw NoneLeft() }
                return [NoteAdded(isbn: "1", reader: reader, text: text)]
            }
            return appended != nil
        } catch is NoneLeft {
            return false
        }
    }

    private func notes(_ store: TestStore, reader: String = "r") throws -> UInt64 {
        try store.runner.read(["reader-notes"]) {
            try $0.state(of: ReaderNotes(), key: Tag("reader", reader))?.notes ?? 0
        }
    }

    private func texts(_ store: TestStore) throws -> [String] {
        try store.log.events(after: .start, limit: 10_000, type: NoteAdded.eventType)
            .map { try NoteAdded(payload: $0.payload, version: 1).text }
    }

    // MARK: - Races

    @Test func concurrentTasksNeverExceedTheLimit() async throws {
        let store = try TestStore()
        let runner = store.runner
        let won = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<120 {
                group.addTask { try await DecideTests.write("\(number)", runner, atMost: 50) }
            }
            return try await group.reduce(into: 0) { if $1 { $0 += 1 } }
        }
        #expect(won == 50)
        #expect(store.log.head.rawValue == 50)
        #expect(try notes(store) == 50)
    }

    /// The decisions read several keys, so they cannot wait for each other.
    @Test func tasksReadingManyKeysNeverExceedTheLimit()
        async throws
    {
        let store = try TestStore()
        let runner = store.runner
        let won = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<60 {
                group.addTask {
                    let appended = try await runner.decide(reading: ["reader-notes"]) { views in
                        let notes = try ["r", "s"].map {
                            try views.state(of: ReaderNotes(), key: Tag("reader", $0))?.notes ?? 0
                        }
                        guard notes[0] + notes[1] < 25 else { return [] }
                        let reader = number % 2 == 0 ? "r" : "s"
                        return [NoteAdded(isbn: "1", reader: reader, text: "\(number)")]
                    }
                    return appended != nil
                }
            }
            return try await group.reduce(into: 0) { if $1 { $0 += 1 } }
        }
        #expect(won == 25)
        #expect(store.log.head.rawValue == 25)
    }

    @Test func twoProcessesNeverExceedTheLimit() async throws {
        let store = try TestStore()
        let most: UInt64 = 1_000
        try store.touch()
        store.runner.close()
        store.log.close()
        let directory = store.directory
        async let first: Void = DecideTests.raceInChild(directory, "first", most)
        async let second: Void = DecideTests.raceInChild(directory, "second", most)
        _ = await (first, second)
        try store.reopen()
        #expect(try notes(store) == most)
        #expect(store.log.head.rawValue == most + 2)
        let texts = try texts(store)
        #expect(Set(texts).count == Int(most))
        let won = texts.count { $0.hasPrefix("first") }
        #expect(won > 0 && won < Int(most), "one process took \(won)")
    }

    /// Runs the decisions in a separate process, so that other tests do not delay them.
    private static func raceInChild(_ directory: String, _ name: String, _ most: UInt64) async {
        let result = await #expect(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) {
            [directory = directory as String, name = name as String, most = most as UInt64] in
            try await DecideTests.race(in: directory, as: name, most)
        }
        // The output of a child before it fails is the only clue to the cause.
        if result?.exitStatus != .exitCode(EXIT_SUCCESS) {
            let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            Issue.record("\(name): \(said.suffix(2_000))")
        }
    }

    /// Four tasks write notes until the limit is reached.
    private static func race(
        in directory: String, as name: String, _ most: UInt64
    ) async throws {
        let log = try EventLog(opening: directory)
        let runner = ProjectionRunner(log, projections: LibraryProjections.all)
        defer {
            runner.close()
            log.close()
        }
        // Each process starts working when both processes are ready.
        try await log.append([ProposedEvent(type: "ProcessStarted", tags: [], payload: [])])
        try await onQueue {
            try eventuallyBlocking("the process other than \(name)") {
                try log.events(after: .start, type: "ProcessStarted").count == 2
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    var won = 0
                    while try await write("\(name) \(task) \(won)", runner, atMost: most) {
                        won += 1
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: - Conflicts

    /// Decides once; `meanwhile` runs during each of the first `times` attempts.
    ///
    /// - Returns: The number of notes that the decision saw at each attempt.
    private func asked(
        _ store: TestStore, times: Int = 1, attemptsMax: Int = 8,
        meanwhile: @escaping @Sendable (Int) throws -> Void
    ) async throws -> [UInt64] {
        let told = Mutex<[UInt64]>([])
        try await store.runner.decide(
            ReaderNotes(), key: DecideTests.reader, attemptsMax: attemptsMax
        ) { state in
            let count = told.withLock { told in
                told.append(state.notes)
                return told.count
            }
            if count <= times { try meanwhile(count) }
            return [NoteAdded(isbn: "1", reader: "r", text: "decided")]
        }
        return told.withLock { $0 }
    }

    @Test func eventOfTheSameKeyCausesANewDecision() async throws {
        let store = try TestStore()
        let log = store.log
        let told = try await asked(store, times: 2) { number in
            try log.appendBlocking([
                try ProposedEvent(NoteAdded(isbn: "1", reader: "r", text: "\(number)"))
            ])
        }
        #expect(told == [0, 1, 2])
        #expect(try notes(store) == 3)
    }

    @Test func eventsOfOtherKeysAndTypesDoNotConflict() async throws {
        let store = try TestStore()
        let log = store.log
        let told = try await asked(store) { _ in
            try log.appendBlocking([
                try ProposedEvent(NoteAdded(isbn: "1", reader: "s", text: "another's")),
                try ProposedEvent(LoanEnded(isbn: "1", reader: "r")),
            ])
            try log.appendBlocking(
                (0..<2_000).map { _ in
                    ProposedEvent(type: "Noise", tags: [DecideTests.reader], payload: [])
                })
        }
        #expect(told == [0])
    }

    @Test func lateForeignEventIsAConflict() async throws {
        let store = try TestStore()
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "own"))
        let log = store.log
        let pulled = HistoryEvent(
            origin: OriginID(high: 7, low: 7), stamp: Stamp(milliseconds: 1_000, counter: 0),
            proposal: try ProposedEvent(NoteAdded(isbn: "1", reader: "r", text: "pulled")))
        #expect(try await asked(store) { _ in try log.record([pulled]) } == [1, 2])
    }

    @Test func receiptThatRefusesAnEventIsAConflict() async throws {
        let store = try TestStore()
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "first"))
        try store.append(NoteAdded(isbn: "1", reader: "s", text: "another's"))
        let log = store.log
        let origin = log.origin
        @Sendable func refuse(_ sequence: UInt64) throws {
            try log.recordReceipts([
                Receipt(
                    event: EventID(origin: origin, sequence: sequence),
                    lineage: LineageID(high: 1, low: 1), serverPosition: sequence,
                    receivedAt: Stamp(milliseconds: 1_800_000_000_000),
                    outcome: .refused(.invalidPayload))
            ])
        }
        #expect(try await asked(store) { _ in try refuse(2) } == [1])
        #expect(try await asked(store) { _ in try refuse(1) } == [2, 1])
    }

    @Test func conflictWithinACommitFailsOnlyTheLosingAppends() async throws {
        let store = try TestStore()
        let boundary = ReadBoundary(
            [EventFilter(tags: [DecideTests.reader], types: [NoteAdded.eventType])], position: 0,
            checksum: 0, change: 0)
        let log = store.log
        let codes = try await withThrowingTaskGroup(of: ErrorCode?.self) { group in
            for number in 0..<30 {
                group.addTask {
                    let reader = number % 10 == 0 ? "r" : "s"
                    let note = NoteAdded(isbn: "1", reader: reader, text: "\(number)")
                    do throws(LogError) {
                        try await log.append(
                            [try! ProposedEvent(note)],
                            condition: reader == "r" ? .unchanged(boundary) : nil)
                        return nil
                    } catch {
                        return error.code
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .conditionFailed } == 2)
        #expect(codes.count { $0 == nil } == 28)
    }

    // MARK: - Other keys

    @Test func decisionsOnOtherKeysAreNotRepeated() async throws {
        let store = try TestStore()
        let runner = store.runner
        let asked = Asked()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    try await runner.decide(ReaderNotes(), key: Tag("reader", "\(number)")) { _ in
                        asked.count.add(1, ordering: .relaxed)
                        return [NoteAdded(isbn: "\(number)", reader: "\(number)", text: "")]
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(asked.count.load(ordering: .relaxed) == 64)
        #expect(store.log.head.rawValue == 64)
    }

    @Test func readingRowsConflictsWithEventsOfAllKeys() async throws {
        let store = try TestStore()
        let log = store.log
        let asked = Mutex(0)
        try await store.runner.decide { views in
            let rows = try views.rows(
                of: ReaderNotes(), table: 0, lower: nil, upper: nil, after: nil, limit: 10)
            if asked.withLock({
                $0 += 1; return $0
            }) == 1 {
                try log.appendBlocking([
                    try ProposedEvent(NoteAdded(isbn: "1", reader: "anybody", text: ""))
                ])
            }
            return [NoteAdded(isbn: "1", reader: "r", text: "\(rows.count)")]
        }
        #expect(asked.withLock { $0 } == 2)
        #expect(try texts(store).last == "1")
    }

    // MARK: - Refusals

    @Test func constantConflictsFailTheDecision() async throws {
        let store = try TestStore()
        let log = store.log
        let error = await #expect(throws: ProjectionError.self) {
            _ = try await asked(store, times: .max, attemptsMax: 5) { number in
                try log.appendBlocking([
                    try ProposedEvent(NoteAdded(isbn: "1", reader: "r", text: "\(number)"))
                ])
            }
        }
        #expect(error?.code == .conditionFailed)
        #expect(error?.message.contains("5 times") == true)
        #expect(error?.hint != nil)
        #expect(log.head.rawValue == 5)
        #expect(try notes(store) == 5)
    }

    @Test func decisionThatThrowsOrIsEmptyAppendsNothing()
        async throws
    {
        let store = try TestStore()
        await #expect(throws: NoneLeft.self) {
            try await store.runner.decide(ReaderNotes(), key: DecideTests.reader) { _ in
                throw NoneLeft()
            }
        }
        let nothing = try await store.runner.decide(ReaderNotes(), key: DecideTests.reader) { _ in
            []
        }
        #expect(nothing == nil)
        #expect(store.log.head == .start)
        // A decision that throws an error does not block other decisions.
        #expect(try await DecideTests.write("after", store.runner, atMost: 1))
        #expect(try await !DecideTests.write("after", store.runner, atMost: 1))
    }

    @Test func decisionOnAFrozenKeyIsRefused() async throws {
        let store = try TestStore()
        try store.append(NoteAdded(isbn: "1", reader: "r", text: PoisonedNotes.word))
        for run in [
            { try await store.runner.decide(PoisonedNotes(), key: Tag("book", "1")) { _ in [] } },
            {
                try await store.runner.decide {
                    _ = try $0.items(
                        of: PoisonedItems(), key: DecideTests.reader, prefix: RowKey(), after: nil,
                        limit: 1)
                    return []
                }
            },
        ] as [() async throws -> AppendedEvents?] {
            let error = await #expect(throws: ProjectionError.self) { try await run() }
            #expect(error?.code == .frozen)
        }
        #expect(
            try await store.runner.decide(PoisonedNotes(), key: Tag("book", "2")) { _ in [] } == nil
        )
    }

    @Test func closedStoreRefusesDecisions() async throws {
        let store = try TestStore()
        store.log.suspend()
        let suspended = await #expect(throws: LogError.self) {
            try await DecideTests.write("suspended", store.runner, atMost: 1)
        }
        #expect(suspended?.code == .closed)
        store.log.resume()
        #expect(try await DecideTests.write("resumed", store.runner, atMost: 1))
        store.runner.close()
        let closed = await #expect(throws: ProjectionError.self) {
            try await DecideTests.write("closed", store.runner, atMost: 2)
        }
        #expect(closed?.code == .closed)
    }
}

/// The number of times that a decision was requested.
private final class Asked: Sendable {
    let count = Atomic(0)
}

/// Runs blocking work outside the threads that run tasks.
private func onQueue<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { waiting in
        DispatchQueue.global().async { waiting.resume(with: Result { try body() }) }
    }
}
