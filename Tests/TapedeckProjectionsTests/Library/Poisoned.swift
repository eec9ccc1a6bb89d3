import TapedeckModel
import TapedeckProjections

/// The error of a fold that refuses an event.
struct PoisonError: Error, CustomStringConvertible {
    let description: String
}

/// A projection with the fold law `.canonical`; its fold refuses notes that contain `word`.
struct PoisonedNotes: Projection {
    let name = "poisoned"
    let version = 1
    let tagKind = "book"
    let eventTypes = [NoteAdded.eventType]
    let tables = ["frozen-or-not"]

    static let word = "arsenic"

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<ChainState>) throws {
        let text = try event.decode(NoteAdded.self).text
        // The change made before the error must leave no trace.
        key.state.add(event)
        if text.contains(PoisonedNotes.word) { throw PoisonError(description: "\(text) is poison") }
        key.state.last = text
    }

    func rows(of state: ChainState, key: Tag, into rows: inout RowSink) {
        rows.add(
            table: 0, key: RowKey().text(key.name), value: Array(String(state.count).utf8))
    }
}

/// A projection with the law `.any`; its fold refuses the same notes, but only after it has set an
/// item.
struct PoisonedItems: Projection {
    let name = "poisoned-items"
    let version = 1
    let tagKind = "reader"
    let eventTypes = [NoteAdded.eventType]
    let law = FoldLaw.any
    let tables = ["items"]
    let itemsYieldRows = true

    struct State: ProjectionState, Hashable {
        var notes: UInt64 = 0

        init() {}
        init(decoding bytes: inout StateReader) throws { notes = try bytes.uint64() }
        func encode(into bytes: inout StateWriter) { bytes.add(notes) }
    }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let text = try event.decode(NoteAdded.self).text
        let name = RowKey().ascending(event.stamp.rawValue).ascending(event.id.origin.high)
            .ascending(event.id.sequence)
        guard key.item(name) == nil else { return }
        key.setItem(name, Array(text.utf8))
        key.state.notes += 1
        if text.contains(PoisonedNotes.word) { throw PoisonError(description: "\(text) is poison") }
    }

    func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) {
        rows.add(
            table: 0,
            key: RowKey().text(String(decoding: item.value, as: UTF8.self))
                .text(key.name).raw(item.key), value: item.value)
    }
}
