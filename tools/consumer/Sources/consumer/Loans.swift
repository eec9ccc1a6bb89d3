import Foundation
import Tapedeck

/// A reader borrowed a book.
struct BookLent: Event, Codable {
    static let eventType: EventType = "BookLent"
    var book: String
    var reader: String

    var tags: [Tag] { get throws { [try Tag("book", book), try Tag("reader", reader)] } }
}

/// A reader returned a book.
struct BookReturned: Event, Codable {
    static let eventType: EventType = "BookReturned"
    var book: String
    var reader: String

    var tags: [Tag] { get throws { [try Tag("book", book), try Tag("reader", reader)] } }
}

/// Both events are stored as JSON. Each event type chooses its own encoding.
extension Event where Self: Codable {
    init(payload: [UInt8]) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(payload))
    }

    func payload() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(self))
    }
}

/// The books that each reader has at home.
///
/// This is an ordinary fold. The runner passes a reader's events to the fold in canonical order,
/// regardless of when they arrive.
struct BooksAtHome: Projection {
    struct State: ProjectionState {
        var books: [String] = []

        init() {}

        init(decoding bytes: inout StateReader) throws {
            books = try bytes.array { (reader) throws(ModelError) in try reader.string() }
        }

        func encode(into bytes: inout StateWriter) { bytes.add(books) { $0.add($1) } }
    }

    let name = "books-at-home"
    let version = 1
    let tagKind = "reader"
    let events: [any Event.Type] = [BookLent.self, BookReturned.self]
    let tables = ["most-books-first"]

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        if event.typeIndex == 0 {
            let book = try event.decode(BookLent.self).book
            guard !key.state.books.contains(book) else { return }
            key.state.books.append(book)
        } else {
            let book = try event.decode(BookReturned.self).book
            key.state.books.removeAll { $0 == book }
        }
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard !state.books.isEmpty else { return }
        rows.add(
            table: 0, key: RowKey().descending(UInt64(state.books.count)).text(key.name),
            value: Array(state.books.joined(separator: ", ").utf8))
    }
}
