import TapedeckModel

// A domain for the tests of the core: a lending library. Payloads are strings with separators.

/// Strings separated by U+001F.
enum Fields {
    static func write(_ fields: [String]) -> [UInt8] {
        Array(fields.joined(separator: "\u{1F}").utf8)
    }

    static func read(_ payload: [UInt8], count: Int) throws -> [String] {
        let fields = String(decoding: payload, as: UTF8.self)
            .split(separator: "\u{1F}", omittingEmptySubsequences: false).map(String.init)
        guard fields.count >= count else {
            throw ModelError(.invalidPayload, "\(fields.count) fields instead of \(count)")
        }
        return fields
    }
}

/// A book in the catalogue of another library: an observation.
struct BookReceived: Event, Hashable {
    static let eventType: EventType = "BookReceived"
    var isbn: String
    var title: String
    var shelf: String
    var version: UInt64 = 0
    var observedAt: Int64?
    /// A volatile field, which is in the payload but is not part of the content.
    var weight: UInt64 = 0

    var tags: [Tag] { get throws { [try Tag("book", isbn), try Tag("shelf", shelf)] } }

    var fact: ObservedFact? {
        ObservedFact(
            entity: "library/book/\(isbn)", content: Fields.write([isbn, title, shelf]),
            version: version, observedAt: observedAt)
    }

    func payload() -> [UInt8] { Fields.write([isbn, title, shelf, String(weight)]) }

    init(
        isbn: String, title: String, shelf: String, version: UInt64 = 0, observedAt: Int64? = nil,
        weight: UInt64 = 0
    ) {
        self.isbn = isbn
        self.title = title
        self.shelf = shelf
        self.version = version
        self.observedAt = observedAt
        self.weight = weight
    }

    init(payload: [UInt8]) throws {
        let fields = try Fields.read(payload, count: 4)
        self.init(
            isbn: fields[0], title: fields[1], shelf: fields[2], weight: UInt64(fields[3]) ?? 0)
    }
}

/// A reader borrowed a book.
struct LoanStarted: Event, Hashable {
    static let eventType: EventType = "LoanStarted"
    var isbn: String
    var reader: String

    var tags: [Tag] { get throws { [try Tag("book", isbn), try Tag("reader", reader)] } }
    func payload() -> [UInt8] { Fields.write([isbn, reader]) }

    init(isbn: String, reader: String) {
        self.isbn = isbn
        self.reader = reader
    }

    init(payload: [UInt8]) throws {
        let fields = try Fields.read(payload, count: 2)
        self.init(isbn: fields[0], reader: fields[1])
    }
}

/// A reader returned a book.
struct LoanEnded: Event, Hashable {
    static let eventType: EventType = "LoanEnded"
    var isbn: String
    var reader: String

    var tags: [Tag] { get throws { [try Tag("book", isbn), try Tag("reader", reader)] } }
    func payload() -> [UInt8] { Fields.write([isbn, reader]) }

    init(isbn: String, reader: String) {
        self.isbn = isbn
        self.reader = reader
    }

    init(payload: [UInt8]) throws {
        let fields = try Fields.read(payload, count: 2)
        self.init(isbn: fields[0], reader: fields[1])
    }
}

/// A reader wrote a note about a book.
struct NoteAdded: Event, Hashable {
    static let eventType: EventType = "NoteAdded"
    var isbn: String
    var reader: String
    var text: String

    var tags: [Tag] { get throws { [try Tag("book", isbn), try Tag("reader", reader)] } }
    func payload() -> [UInt8] { Fields.write([isbn, reader, text]) }

    init(isbn: String, reader: String, text: String) {
        self.isbn = isbn
        self.reader = reader
        self.text = text
    }

    init(payload: [UInt8]) throws {
        let fields = try Fields.read(payload, count: 3)
        self.init(isbn: fields[0], reader: fields[1], text: fields[2])
    }

    /// The note as a later version of the program writes it: with the page, as schema version 2.
    func newer(page: Int, atMilliseconds: UInt64? = nil) throws -> ProposedEvent {
        ProposedEvent(
            type: NoteAdded.eventType, schemaVersion: 2, tags: try tags,
            atMilliseconds: atMilliseconds,
            payload: Fields.write([isbn, reader, text, String(page)]))
    }
}

/// A book moved to another shelf: an event with two tags of one kind.
struct BookMoved: Event, Hashable {
    static let eventType: EventType = "BookMoved"
    var isbn: String
    var from: String
    var to: String

    var tags: [Tag] {
        get throws { [try Tag("shelf", from), try Tag("shelf", to), try Tag("book", isbn)] }
    }
    func payload() -> [UInt8] { Fields.write([isbn, from, to]) }

    init(isbn: String, from: String, to: String) {
        self.isbn = isbn
        self.from = from
        self.to = to
    }

    init(payload: [UInt8]) throws {
        let fields = try Fields.read(payload, count: 3)
        self.init(isbn: fields[0], from: fields[1], to: fields[2])
    }
}
