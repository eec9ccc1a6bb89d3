import TapedeckModel
import TapedeckProjections

/// A hash that depends on all of its input and on the order of the input.
struct Chain: Hashable {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    init() {}
    init(value: UInt64) { self.value = value }

    mutating func add(_ number: UInt64) {
        value = (value ^ number) &* 0x0000_0100_0000_01B3
        value ^= value >> 29
    }

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { add(UInt64(byte)) }
    }

    mutating func add(_ event: borrowing FoldEvent) {
        add(UInt64(event.typeIndex))
        add(event.stamp.rawValue)
        add(event.id.origin.high)
        add(event.id.sequence)
        add(event.payload.withUnsafeBytes { Array($0) })
    }
}

/// The hash and the length of a chain of events.
struct ChainState: ProjectionState, Hashable {
    var count: UInt64 = 0
    var chain = Chain()
    var last = ""

    init() {}
    init(decoding bytes: inout StateReader) throws {
        count = try bytes.uint64()
        chain = Chain(value: try bytes.uint64())
        last = try bytes.string()
    }
    func encode(into bytes: inout StateWriter) {
        bytes.add(count)
        bytes.add(chain.value)
        bytes.add(last)
    }

    mutating func add(_ event: borrowing FoldEvent) {
        count += 1
        chain.add(event)
    }
}

/// All events of a book in canonical order, as a hash of everything that a fold sees.
struct BookHistory: Projection {
    let name = "history"
    var version = 1
    let tagKind = "book"
    let eventTypes = [
        BookReceived.eventType, LoanStarted.eventType, LoanEnded.eventType, NoteAdded.eventType,
        BookMoved.eventType,
    ]
    let tables = ["by-last-note"]

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<ChainState>) throws {
        key.state.add(event)
        if event.typeIndex == 3 { key.state.last = try event.decode(NoteAdded.self).text }
    }

    func rows(of state: ChainState, key: Tag, into rows: inout RowSink) {
        rows.add(
            table: 0, key: RowKey().text(state.last).text(key.name),
            value: Array(String(state.count).utf8))
    }
}

/// `BookHistory`, routed by tags of another kind.
struct ReaderHistory: Projection {
    let name = "reader-history"
    let version = 1
    let tagKind = "reader"
    let eventTypes = [NoteAdded.eventType, LoanEnded.eventType, LoanStarted.eventType]

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<ChainState>) {
        key.state.add(event)
    }
}

/// Folds an event that has two tags of the projection's kind into both keys.
struct ShelfHistory: Projection {
    let name = "shelf-history"
    let version = 1
    let tagKind = "shelf"
    let eventTypes = [BookMoved.eventType, BookReceived.eventType]

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<ChainState>) {
        key.state.add(event)
    }
}

/// A history that includes notes of the newer schema.
struct NewerNotes: Projection {
    let name = "newer-notes"
    let version = 1
    let tagKind = "book"
    let eventTypes = [NoteAdded.eventType]
    let schemaVersionMax: UInt16 = 2

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<ChainState>) {
        key.state.add(event)
    }
}
