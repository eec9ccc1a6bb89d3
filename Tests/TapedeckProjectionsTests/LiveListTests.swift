import Foundation
import Synchronization
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// A book in a followed list: its row and its data from other tables.
private struct ShelvedBook: Hashable, Sendable {
    var key: [UInt8]
    var notes: String
    var readers: [String]
    var isOld: Bool
}

/// The first books by title.
private struct BooksByTitle: LiveQuery {
    let lists: [RowRange]
    let details = [
        RowRange(of: CardCatalogue(), table: 1), RowRange(of: CardCatalogue(), table: 2),
    ]
    let limit: Int
    /// Whether the subjects of changed detail rows are unknown.
    var isVague = false
    /// The time at which books become old.
    var oldAt: Int64?
    let looks = Counter()

    init(limit: Int, from lower: RowKey? = nil, below upper: RowKey? = nil) {
        self.limit = limit
        lists = [RowRange(of: CardCatalogue(), from: lower, below: upper)]
    }

    /// Counts the entries that were created.
    final class Counter: Sendable {
        let count = Mutex(0)
    }

    func subject(ofListed key: [UInt8], in list: Int) -> [UInt8] { BooksByTitle.last(key) }

    func subject(ofDetail key: [UInt8], in index: Int) -> [UInt8]? {
        isVague ? nil : BooksByTitle.last(key)
    }

    func entry(
        _ row: Row, in list: Int, at now: Int64, from views: Views
    ) throws -> LiveEntry<ShelvedBook> {
        looks.count.withLock { $0 += 1 }
        let isbn = String(decoding: subject(ofListed: row.key, in: list), as: UTF8.self)
        let state = try views.state(of: CardCatalogue(), key: Tag("book", isbn))
        let isOld = oldAt.map { now >= $0 } ?? false
        return LiveEntry(
            ShelvedBook(
                key: row.key, notes: String(decoding: row.value, as: UTF8.self),
                readers: state?.readers ?? [], isOld: isOld),
            nextChangeAt: isOld ? nil : oldAt)
    }

    /// Returns the last string in a key.
    private static func last(_ key: [UInt8]) -> [UInt8] {
        let text = key.dropLast()
        return Array(text[(text.lastIndex(of: 0).map { $0 + 1 } ?? 0)...])
    }

    /// Reads the list as an ordinary reader does.
    func read(_ runner: ProjectionRunner) throws -> (entries: [ShelvedBook], hasMore: Bool) {
        try runner.read { views in
            let rows = try views.rows(
                of: lists[0].projection, table: 0, lower: lists[0].lower, upper: lists[0].upper,
                after: nil, limit: limit + 1)
            return (
                try rows.prefix(limit).map { try entry($0, in: 0, at: 0, from: views).entry },
                rows.count > limit
            )
        }
    }
}

/// After every update, a followed list equals the list that a reader gets.
@Suite(.offTasks) struct LiveListTests {
    /// A consumer's copy of a list.
    private struct Followed {
        let loop: LiveLoop<ShelvedBook>
        let query: BooksByTitle
        var list: [ShelvedBook] = []
        var hasMore = false

        init(_ runner: ProjectionRunner, _ query: BooksByTitle) {
            self.query = query
            loop = LiveLoop(runner, query)
        }

        /// Applies the next update and returns its changes.
        mutating func look() throws -> [LiveChange<ShelvedBook>] {
            guard let update = try loop.look() else { return [] }
            update.apply(to: &list)
            hasMore = update.hasMore
            return update.changes
        }
    }

    /// A query written for an older version, in which `dependencies` was called `others`.
    private struct FormerQuery: LiveQuery {
        let lists: [RowRange] = []
        let limit = 1
        var others: [any Projection] { [CardCatalogue()] }
        func subject(ofListed key: [UInt8], in list: Int) -> [UInt8] { key }
        func entry(
            _ row: Row, in list: Int, at now: Int64, from views: Views
        ) throws -> LiveEntry<Int> {
            LiveEntry(0)
        }
    }

    @Test func dependenciesUnderTheirFormerNameAreStillUsed() {
        #expect(FormerQuery().projections.map(\.name) == [CardCatalogue().name])
    }

    @Test func updatesYieldTheListThatAReaderGets() throws {
        let seed = Seed()
        var random = seed.generator()
        for round in 0..<6 {
            let store = try TestStore([CardCatalogue()])
            let history = try HistoryGenerator(events: 500, books: 12, readers: 6)
                .generate(&random)
            var queries = [1, 3, 7, 500].map { BooksByTitle(limit: $0) }
            queries.append(
                BooksByTitle(limit: 3, from: RowKey().text("M"), below: RowKey().text("T")))
            queries[1].isVague = true
            var followed = queries.map { Followed(store.runner, $0) }
            var kinds: Set<String> = []
            var rest = history.arrival(&random)[...]
            while !rest.isEmpty {
                let batch = rest.prefix(1 + random.number(below: 12))
                rest = rest.dropFirst(batch.count)
                try store.log.record(Array(batch))
                if random.number(below: 40) == 0 { _ = try store.runner.rebuild() }
                for index in followed.indices where random.number(below: 3) > 0 || rest.isEmpty {
                    for change in try followed[index].look() {
                        kinds.insert("\(change)".prefix { $0 != "(" }.description)
                    }
                    let (entries, hasMore) = try queries[index].read(store.runner)
                    try #require(
                        followed[index].list == entries, "round \(round), list \(index), \(seed)")
                    #expect(followed[index].hasMore == hasMore)
                }
            }
            #expect(kinds.isSuperset(of: ["inserted", "removed", "updated"]))
        }
    }

    @Test func slowConsumerGetsOneCombinedUpdate() throws {
        let store = try TestStore([CardCatalogue()])
        for number in 10..<30 {
            try store.append(BookReceived(isbn: "\(number)", title: "T\(number)", shelf: "a"))
        }
        var followed = Followed(store.runner, BooksByTitle(limit: 10))
        #expect(try followed.look().count == 10)
        // A rebuild changes nothing in the list, so nothing is reported.
        _ = try store.runner.rebuild()
        #expect(try followed.look() == [])
        let ring = DiffRing(try store.file())
        let file = try store.file()
        for _ in 0..<DiffBatch.batchesMax + 1 {
            var batch = DiffBatch()
            batch.add(
                .removed(key: [1]), projection: Digest16(high: 1, low: 1), table: 0)
            try file.environment.write { try ring.append(batch, $0) }
        }
        try store.append(NoteAdded(isbn: "12", reader: "r", text: "t"))
        let changes = try followed.look()
        guard case .updated(let book, at: 2)? = changes.first else {
            Issue.record("\(changes)")
            return
        }
        #expect(changes.count == 1 && book.notes == "1")
    }

    @Test func commitUpdatesOnlyTheEntriesItConcerns() throws {
        let store = try TestStore([CardCatalogue()])
        let count = 3_000
        try store.log.appendBlocking(
            try (0..<count).map {
                try ProposedEvent(
                    BookReceived(isbn: "\($0 + 10_000)", title: "T\($0 + 10_000)", shelf: "a"))
            })
        let query = BooksByTitle(limit: count)
        var followed = Followed(store.runner, query)
        #expect(try followed.look().count == count)
        query.looks.count.withLock { $0 = 0 }
        try store.append(NoteAdded(isbn: "11500", reader: "r", text: "t"))
        #expect(try followed.look().count == 1)
        #expect(query.looks.count.withLock { $0 } == 1)
        #expect(try followed.look() == [])
        // Changes to a book outside the list are ignored.
        try store.append(NoteAdded(isbn: "9", reader: "r", text: "t"))
        #expect(try followed.look() == [])
        #expect(query.looks.count.withLock { $0 } == 1)
    }

    @Test func entryThatMovesUpIntoTheListIsRead() throws {
        let store = try TestStore([CardCatalogue()])
        for number in 1...6 {
            try store.append(BookReceived(isbn: "\(number)", title: "T\(number)", shelf: "a"))
        }
        var followed = Followed(store.runner, BooksByTitle(limit: 3))
        #expect(try followed.look().count == 3)
        #expect(followed.hasMore)
        // The second book moves to the end: it leaves the list, and the fourth book enters it.
        try store.append(BookReceived(isbn: "2", title: "Z", shelf: "a", version: 2))
        let changes = try followed.look()
        #expect(changes.first == .removed(at: 1))
        #expect(changes.count == 2)
        #expect(try followed.query.read(store.runner).entries == followed.list)
        // The book moves to the beginning again, and the last entry leaves the list.
        try store.append(BookReceived(isbn: "2", title: "A", shelf: "a", version: 3))
        #expect(try followed.look().last == .removed(at: 3))
        #expect(try followed.query.read(store.runner).entries == followed.list)
    }

    @Test func timeAloneChangesEntries() throws {
        let directory = TestStore.emptyDirectory()
        defer { TestStore.remove(directory) }
        let clock = Clock(time: 1_000)
        let log = try EventLog.create(
            directory, options: EventLog.Options(mapSizeBytes: 1 << 28, now: { clock.now }))
        let runner = ProjectionRunner(log, projections: [CardCatalogue()])
        defer {
            runner.close()
            log.close()
        }
        try log.appendBlocking([try ProposedEvent(BookReceived(isbn: "1", title: "T", shelf: "a"))])
        var query = BooksByTitle(limit: 3)
        query.oldAt = 5_000
        let loop = LiveLoop(runner, query)
        let first = try #require(try loop.look())
        #expect(first.nextChangeAt == 5_000)
        clock.now = 4_999
        #expect(try loop.look() == nil)
        clock.now = 5_000
        let second = try #require(try loop.look())
        guard case .updated(let book, at: 0)? = second.changes.first else {
            Issue.record("\(second)")
            return
        }
        #expect(book.isOld && second.nextChangeAt == nil)
        #expect(try loop.look() == nil)
    }

    private final class Clock: Sendable {
        private let time: Mutex<UInt64>
        init(time: UInt64) { self.time = Mutex(time) }
        var now: UInt64 {
            get { time.withLock { $0 } }
            set { time.withLock { $0 = newValue } }
        }
    }

    @Test func loopWaitsForUpdatesAndEndsWithTheStore() async throws {
        let store = try TestStore([CardCatalogue()])
        let (runner, log) = (store.runner, store.log)
        let updates = runner.live(BooksByTitle(limit: 10))
        var loop = updates.makeAsyncIterator()
        #expect(try await loop.next()?.changes == [])
        var list: [ShelvedBook] = []
        for number in 1...5 {
            try await log.append([
                try ProposedEvent(BookReceived(isbn: "\(number)", title: "T", shelf: "a"))
            ])
            try #require(try await loop.next()).apply(to: &list)
            #expect(list.count == number)
        }
        runner.close()
        #expect(try await loop.next() == nil)
    }
}
