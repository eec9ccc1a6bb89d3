import TapedeckModel
import TapedeckProjections

/// The notes of a key in the order of folding; a different order results in a different state.
struct NoteOrder: Projection {
    let name = "note-order"
    let version = 1
    let tagKind = "note"
    let eventTypes: [EventType] = ["Noted"]
    let tables = ["notes"]

    struct State: ProjectionState, Hashable {
        var notes: [String] = []

        init() {}
        init(decoding bytes: inout StateReader) throws {
            notes = try bytes.array { reader throws(ModelError) in try reader.string() }
        }
        func encode(into bytes: inout StateWriter) { bytes.add(notes) { $0.add($1) } }
    }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let text = event.payload.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        key.state.notes.append(text)
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {
        rows.add(
            table: 0, key: RowKey().text(key.name),
            value: Array(state.notes.joined(separator: " ").utf8))
    }
}
