import TapedeckModel
import TapedeckProjections

/// Yields every note of a book under the same row key, so that only the last note remains.
struct LastNote: Projection {
    let name = "last-note"
    let version = 1
    let tagKind = "book"
    let eventTypes = [NoteAdded.eventType]
    let tables = ["notes", "books"]

    struct State: ProjectionState, Hashable {
        var notes: [String] = []

        init() {}
        init(decoding bytes: inout StateReader) throws {
            notes = try bytes.array { reader throws(ModelError) in try reader.string() }
        }
        func encode(into bytes: inout StateWriter) { bytes.add(notes) { $0.add($1) } }
    }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.notes.append(try event.decode(NoteAdded.self).text)
        if key.state.notes.count > 12 { key.state.notes.removeFirst() }
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {
        for (place, note) in state.notes.enumerated() {
            rows.add(table: 0, key: RowKey().text(key.name), value: Array(note.utf8))
            rows.add(
                table: 1, key: RowKey().text(key.name).ascending(UInt64(place % 3)),
                value: Array(note.utf8))
        }
    }
}
