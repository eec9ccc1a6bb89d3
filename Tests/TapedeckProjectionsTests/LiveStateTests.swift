import Synchronization
import TapedeckLMDB
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// The state of a list besides its entries: the progress of loading, and failures.
@Suite(.offTasks) struct LiveStateTests {
    /// The number of notes by book, from a fold that refuses some notes.
    private struct NotedBooks: LiveQuery {
        var lists = [RowRange(of: PoisonedNotes())]
        var details: [RowRange] = []
        var limit = 10
        /// The error thrown while an entry is created.
        var failing = Failing()

        final class Failing: Sendable {
            let error = Mutex<(any Error)?>(nil)
        }

        func subject(ofListed key: [UInt8], in list: Int) -> [UInt8] { key }
        func subject(ofDetail key: [UInt8], in index: Int) -> [UInt8]? { nil }

        func entry(
            _ row: Row, in list: Int, at now: Int64, from views: Views
        ) throws -> LiveEntry<String> {
            if let error = failing.error.withLock({ $0 }) { throw error }
            return LiveEntry(
                "\(String(decoding: row.key.dropLast(), as: UTF8.self)): "
                    + String(decoding: row.value, as: UTF8.self))
        }
    }

    private final class Clock: Sendable {
        private let time = Mutex<UInt64>(1_700_000_000_000)
        var now: UInt64 { time.withLock { $0 } }
        func advance(_ milliseconds: UInt64) { time.withLock { $0 += milliseconds } }
    }

    private func note(_ book: String, _ text: String = "note") -> NoteAdded {
        NoteAdded(isbn: book, reader: "r", text: text)
    }

    // MARK: - Loading

    private func fill(_ store: TestStore) throws {
        try store.log.appendBlocking(
            try (0..<LiveState.loadingEventsMin).map {
                try ProposedEvent(note("\($0 % 7)"))
            })
    }

    @Test func loadingIsReportedBeforeTheList() throws {
        let store = try TestStore([PoisonedNotes()], isLive: false)
        try fill(store)
        let told = Mutex<[LiveUpdate<String>]>([])
        let loop = LiveLoop(store.runner, NotedBooks())
        let list = try #require(
            try loop.look(loading: { update in told.withLock { $0.append(update) } }))
        #expect(list.changes.count == 7 && list.state == LiveState())
        let loading = told.withLock { $0 }
        #expect(loading.allSatisfy { $0.changes.isEmpty && $0.state.loading != nil })
        #expect(loading.first?.state.loading?.done == 0)
        var phases = loading.compactMap(\.state.loading?.phase)
        for (index, phase) in phases.enumerated().reversed()
        where index > 0 && phases[index - 1] == phase { phases.remove(at: index) }
        #expect(phases == ["scan", "fold", "load"])
    }

    @Test func loadingASmallLogIsNotReported() throws {
        let store = try TestStore([PoisonedNotes()], isLive: false)
        try store.append(note("1"))
        let loop = LiveLoop(store.runner, NotedBooks())
        let list = try loop.look(loading: { _ in Issue.record("a small list needs no loading") })
        #expect(list?.changes.count == 1)
    }

    @Test func waitingForAnotherRebuildIsReportedAsLoading() async throws {
        let store = try TestStore([PoisonedNotes()], isLive: false)
        try fill(store)
        var lock: FileLock? = try StoreLock.rebuild(store.log.directory, waits: false)
        var loop = store.runner.live(NotedBooks()).makeAsyncIterator()
        let first = try #require(try await loop.next())
        #expect(first.state.loading?.phase == "scan" && first.state.loading?.done == 0)
        #expect(first.changes.isEmpty)
        withExtendedLifetime(lock) {}
        lock = nil
        var list: [String] = []
        var phases: Set<String> = []
        while let update = try await loop.next() {
            update.apply(to: &list)
            guard let loading = update.state.loading else { break }
            #expect(list.isEmpty && loading.done <= loading.total)
            phases.insert(loading.phase)
        }
        #expect(list.count == 7)
        #expect(phases.isSubset(of: ["scan", "fold", "load"]))
    }

    @Test func cancelledLoopStopsWaitingForTheRebuild() async throws {
        let store = try TestStore([PoisonedNotes()], isLive: false)
        try fill(store)
        let runner = store.runner
        let lock = try StoreLock.rebuild(store.log.directory, waits: false)
        let (seen, isLoading) = AsyncStream.makeStream(of: Void.self)
        let following = Task {
            var last: LiveUpdate<String>?
            for try await update in runner.live(NotedBooks()) {
                last = update
                isLoading.yield()
            }
            return last
        }
        for await _ in seen { break }
        following.cancel()
        #expect(try await following.value?.state.loading != nil)
        withExtendedLifetime(lock) {}
    }

    // MARK: - Failures

    @Test func frozenKeyIsReportedByTheListsThatShowIt() throws {
        let store = try TestStore([PoisonedNotes(), PoisonedItems()])
        for book in ["a", "b", "c"] { try store.append(note(book)) }
        let showing = LiveLoop(store.runner, NotedBooks())
        let keyed = LiveLoop(
            store.runner,
            NotedBooks(lists: [
                RowRange(of: PoisonedItems(), itemsOf: try Tag("reader", "r"), prefix: RowKey())
            ]))
        let byItems = LiveLoop(
            store.runner, NotedBooks(lists: [RowRange(of: PoisonedItems())]))
        let vague = LiveLoop(
            store.runner,
            NotedBooks(
                lists: [RowRange(of: PoisonedNotes(), below: RowKey().text("b"))],
                details: [RowRange(of: PoisonedItems())]))
        let elsewhere = LiveLoop(
            store.runner,
            NotedBooks(lists: [RowRange(of: PoisonedNotes(), below: RowKey().text("b"))]))
        let behind = LiveLoop(store.runner, NotedBooks(limit: 1))
        for loop in [showing, keyed, byItems, vague, elsewhere, behind] {
            #expect(try loop.look()?.state == LiveState())
        }
        try store.append(note("b", PoisonedNotes.word))
        let update = try #require(try showing.look())
        #expect(update.changes.isEmpty, "the entries must not change")
        let failure = try #require(update.state.failures.first)
        #expect(update.state.failures.count == 1 && update.state.retryAt == nil)
        #expect(failure.code == .frozen && failure.projection == "poisoned")
        #expect(failure.key == "book/b" && failure.remote == nil)
        let event = try #require(try store.log.events(after: .start, limit: 10).last)
        #expect(failure.event == event.id.description)
        #expect(failure.message.contains("\(PoisonedNotes.word) is poison"))
        for loop in [keyed, byItems, vague] {
            #expect(try loop.look()?.state.failures.map(\.key) == ["reader/r"])
        }
        #expect(try elsewhere.look() == nil)
        #expect(try behind.look() == nil)
        #expect(try showing.look() == nil, "a failure must be reported once")
        // The list continues, and later followers also receive the failure.
        try store.append(note("d"))
        #expect(try showing.look()?.state.failures == [failure])
        _ = try store.runner.rebuild()
        #expect(try showing.look() == nil)
        let late = LiveLoop(store.runner, NotedBooks())
        #expect(try late.look()?.state.failures == [failure])
    }

    @Test func failureOfAHiddenKeyIsCleared() throws {
        let store = try TestStore([PoisonedNotes()])
        for book in ["b", "c"] { try store.append(note(book)) }
        try store.append(note("c", PoisonedNotes.word))
        let loop = LiveLoop(store.runner, NotedBooks(limit: 2))
        #expect(try loop.look()?.state.failures.map(\.key) == ["book/c"])
        try store.append(note("a"))
        let update = try #require(try loop.look())
        #expect(update.hasMore && update.state == LiveState())
    }

    @Test func reportedFrozenKeysAreLimited() throws {
        let store = try TestStore([PoisonedNotes()])
        let count = LiveState.failuresMax + 5
        for book in 0..<count {
            try store.append(note("\(book)"), note("\(book)", PoisonedNotes.word))
        }
        let loop = LiveLoop(store.runner, NotedBooks(limit: 2 * count))
        let update = try #require(try loop.look())
        #expect(update.changes.count == count)
        #expect(update.state.failures.count == LiveState.failuresMax)
    }

    @Test func unreadableListReportsTheTimeOfItsNextRetry() throws {
        let clock = Clock()
        let directory = TestStore.emptyDirectory()
        defer { TestStore.remove(directory) }
        let log = try EventLog.create(
            directory, options: EventLog.Options(mapSizeBytes: 1 << 28, now: { clock.now }))
        let runner = ProjectionRunner(log, projections: [PoisonedNotes()])
        defer {
            runner.close()
            log.close()
        }
        let query = NotedBooks()
        try log.appendBlocking([try ProposedEvent(note("a"))])
        let loop = LiveLoop(runner, query)
        var list: [String] = []
        try #require(try loop.look()).apply(to: &list)
        query.failing.error.withLock {
            $0 = ProjectionError(
                .damaged, "a row is damaged", hint: "rebuild it", projection: "poisoned")
        }
        try log.appendBlocking([try ProposedEvent(note("b"))])
        var pauses: [Int64] = []
        for _ in 0..<8 {
            let update = try #require(try loop.look())
            update.apply(to: &list)
            #expect(list == ["a: 1"], "the list must keep its entries")
            let failure = try #require(update.state.failures.first)
            #expect(failure.code == .damaged && failure.message == "a row is damaged")
            #expect(failure.projection == "poisoned" && failure.hint == "rebuild it")
            let retryAt = try #require(update.state.retryAt)
            pauses.append(retryAt - Int64(clock.now))
            #expect(try loop.look() == nil, "nothing may be tried before `retryAt`")
            clock.advance(UInt64(pauses.last ?? 0))
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60].map { $0 * 1_000 })
        query.failing.error.withLock { $0 = nil }
        let update = try #require(try loop.look())
        update.apply(to: &list)
        #expect(list == ["a: 1", "b: 1"] && update.state == LiveState())
    }

    @Test func permanentErrorIsThrown() throws {
        let store = try TestStore([PoisonedNotes()])
        try store.append(note("a"))
        let query = NotedBooks()
        query.failing.error.withLock { $0 = ModelError(.invalidTag, "a mistake in the query") }
        let loop = LiveLoop(store.runner, query)
        #expect(throws: ModelError.self) { try loop.look() }
        query.failing.error.withLock { $0 = nil }
        #expect(try loop.look()?.changes.count == 1, "the next call must continue")
    }
}
