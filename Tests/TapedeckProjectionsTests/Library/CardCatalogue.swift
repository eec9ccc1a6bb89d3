import TapedeckModel
import TapedeckProjections

/// Rows of every kind: a row that moves, several rows of one key, and a row that appears and
/// disappears.
struct CardCatalogue: Projection {
    let name = "cards"
    let version = 1
    let tagKind = "book"
    let eventTypes = [
        BookReceived.eventType, LoanStarted.eventType, LoanEnded.eventType, NoteAdded.eventType,
    ]
    let tables = ["by-title", "by-borrower", "much-noted"]

    struct State: ProjectionState, Hashable {
        var title: String?
        var readers: [String] = []
        var notes: UInt64 = 0

        init() {}
        init(decoding bytes: inout StateReader) throws {
            title = try bytes.optionalString()
            readers = try bytes.array { reader throws(ModelError) in try reader.string() }
            notes = try bytes.uint64()
        }
        func encode(into bytes: inout StateWriter) {
            bytes.add(title)
            bytes.add(readers) { $0.add($1) }
            bytes.add(notes)
        }
    }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: key.state.title = try event.decode(BookReceived.self).title
        case 1:
            let reader = try event.decode(LoanStarted.self).reader
            if !key.state.readers.contains(reader) { key.state.readers.append(reader) }
        case 2:
            let reader = try event.decode(LoanEnded.self).reader
            key.state.readers.removeAll { $0 == reader }
        default: key.state.notes += 1
        }
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {
        if let title = state.title {
            rows.add(
                table: 0, key: RowKey().text(title).text(key.name),
                value: Array(String(state.notes).utf8))
        }
        for (place, reader) in state.readers.enumerated() {
            rows.add(
                table: 1, key: RowKey().text(reader).text(key.name),
                value: Array(String(place).utf8))
        }
        if state.notes % 4 == 3 {
            rows.add(table: 2, key: RowKey().descending(state.notes).text(key.name))
        }
    }
}
