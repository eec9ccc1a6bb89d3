import Foundation
import Tapedeck

/// Uses a store as an app does, and checks the results.
///
/// Run it with `swift run --package-path tools/consumer`; it exits with 1 if a result is wrong.
@main
struct Consumer {
    static func main() async {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("tapedeck-consumer-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        do {
            try await lend(directory)
            try await reopen(directory)
            try await quickStart(directory + "-quick")
            print("consumer: as expected")
        } catch {
            FileHandle.standardError.write(Data("consumer: \(error)\n".utf8))
            try? FileManager.default.removeItem(atPath: directory)
            exit(1)
        }
    }

    /// Appends, reads and observes.
    private static func lend(_ directory: String) async throws {
        let loans = BooksAtHome()
        let store = try TapedeckStore.open(directory, projections: [loans])
        defer { store.close() }

        // An observer first receives a reset, because it must read the table, and then every
        // change.
        var changes = store.observe(loans).makeAsyncIterator()
        try expect(await changes.next() == .reset, "an observer begins with a reset")
        try await store.append([
            BookLent(book: "Emma", reader: "ada"), BookLent(book: "Dune", reader: "ben"),
        ])
        guard case .changes(let rows) = await changes.next(), case .inserted = rows.first else {
            throw Unexpected("the observer did not receive a new row")
        }
        try expect(try await titles(of: "ada", in: store) == ["Emma"], "a lent book is listed")

        // This condition prevents a second loan: it fails because the book has already been lent.
        let book = try Tag("book", "Dune")
        do {
            try await store.append(
                [BookLent(book: "Dune", reader: "ada")],
                condition: .noEvent(with: [book], types: ["BookLent"], after: .start))
            throw Unexpected("a book was lent twice")
        } catch let error as StoreError where error.code == .conditionFailed {}

        // This event arrives late: it happened before the loan that is already in the store.
        let early = UInt64(1_577_836_800_000)
        try await store.append([BookLent(book: "Solaris", reader: "ada")], atMilliseconds: early)
        try expect(
            try await titles(of: "ada", in: store) == ["Solaris", "Emma"],
            "an earlier loan comes first")

        try await store.append([BookReturned(book: "Emma", reader: "ada")])
        try expect(try await titles(of: "ada", in: store) == ["Solaris"], "a returned book is gone")

        try await borrow(loans, store)

        try expect(
            try await tell(2, of: store) == ["Emma", "Dune"], "loans are delivered in order")

        let lent = try await store.read(tag: book)
        try expect(lent.map(\.type) == ["BookLent"], "the log finds events by tag")
    }

    /// Lends at most two books to a reader, despite concurrent loans.
    private static func borrow(_ loans: BooksAtHome, _ store: TapedeckStore) async throws {
        struct TooManyBooks: Error {}
        @Sendable func borrow(_ book: String) async throws {
            try await store.decide(loans, key: Tag("reader", "ada")) { home in
                guard home.books.count < 2 else { throw TooManyBooks() }
                return [BookLent(book: book, reader: "ada")]
            }
        }
        let refused = await withTaskGroup(of: Bool.self) { group in
            for book in ["Ulysses", "Kim", "Persuasion"] {
                group.addTask {
                    do { try await borrow(book) } catch { return error is TooManyBooks }
                    return false
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        try expect(refused == 2, "only one of three concurrent loans succeeds")
        try expect(try await titles(of: "ada", in: store).count == 2, "two books are at home")
    }

    /// Returns the books of the next loans.
    ///
    /// Also receives one more loan without acknowledging it, so that this loan is delivered again.
    private static func tell(_ count: Int, of store: TapedeckStore) async throws -> [String] {
        let loans = try await store.subscribe(named: "letters", types: [BookLent.eventType])
        defer { loans.close() }
        var told: [String] = []
        for try await event in loans {
            if told.count == count { break }
            told.append(try event.decode(BookLent.self).book)
            try await loans.acknowledge(through: event)
        }
        return told
    }

    /// Checks that all data is still there after the store has been closed and opened again.
    private static func reopen(_ directory: String) async throws {
        let loans = BooksAtHome()
        let store = try TapedeckStore.open(directory, creating: false, projections: [loans])
        defer { store.close() }
        try expect(store.log.head.rawValue == 5, "five events were recorded")
        try expect(try await titles(of: "ben", in: store) == ["Dune"], "a loan is still there")
        try expect(
            try await tell(1, of: store) == ["Solaris"], "no acknowledged loan comes again")
        let rows = try await store.query { views in
            try views.rows(
                of: loans, table: 0, lower: nil, upper: nil, after: nil, limit: 10)
        }
        let lists = rows.map { String(decoding: $0.value, as: UTF8.self) }
        try expect(
            lists.count == 2 && lists[0].hasPrefix("Solaris, ") && lists[1] == "Dune",
            "the list is sorted")
    }

    /// Runs the example of README.md.
    private static func quickStart(_ directory: String) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // README begin
        let store = try TapedeckStore.open(directory)
        let mark = WatchLaterToggled.with { ($0.video, $0.isOn) = ("youtube:dQw4w9WgXcQ", true) }
        try await store.append([mark])
        let page = try await store.query { try VideoQueries($0).watchLater() }
        print(page.videos.map(\.key), "at position", store.log.head)
        // README end
        store.close()
        try expect(page.videos.map(\.key) == ["youtube:dQw4w9WgXcQ"], "the mark is listed")
    }

    // MARK: - Helpers

    private static func titles(
        of reader: String, in store: TapedeckStore
    ) async throws -> [String] {
        let key = try Tag("reader", reader)
        return try await store.query { try $0.state(of: BooksAtHome(), key: key)?.books ?? [] }
    }

    private static func expect(_ condition: Bool, _ what: String) throws {
        guard condition else { throw Unexpected("expectation failed: \(what)") }
    }
}

/// A result that was not as expected.
struct Unexpected: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
