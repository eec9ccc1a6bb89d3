import TapedeckModel
import TapedeckProjections

/// A projection of the current borrowers and the last notes of each book.
///
/// The projection's items yield rows under `FoldLaw.canonical`.
///
/// The item `l` + reader contains the loan's chain; the item `n` + stamp + id contains the text of
/// one of the last notes.
struct OpenLoans: Projection {
    let name = "open-loans"
    let version = 1
    let tagKind = "book"
    let eventTypes = [
        BookReceived.eventType, LoanStarted.eventType, LoanEnded.eventType, NoteAdded.eventType,
    ]
    let tables = ["borrowed", "items"]
    let itemsYieldRows = true

    static let notesMax = 5

    struct State: ProjectionState, Hashable {
        var title = ""
        var loans: UInt64 = 0
        var notes: UInt64 = 0
        var chain = Chain()

        init() {}
        init(decoding bytes: inout StateReader) throws {
            title = try bytes.string()
            loans = try bytes.uint64()
            notes = try bytes.uint64()
            chain = Chain(value: try bytes.uint64())
        }
        func encode(into bytes: inout StateWriter) {
            bytes.add(title)
            bytes.add(loans)
            bytes.add(notes)
            bytes.add(chain.value)
        }
    }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: key.state.title = try event.decode(BookReceived.self).title
        case 1:
            let name = RowKey().text("l").text(try event.decode(LoanStarted.self).reader)
            if key.item(name) == nil { key.state.loans += 1 }
            var chain = key.state.chain
            chain.add(event)
            key.setItem(name, Array(String(chain.value).utf8))
        case 2:
            let name = RowKey().text("l").text(try event.decode(LoanEnded.self).reader)
            guard let held = key.item(name) else { return }
            key.removeItem(name)
            key.state.loans -= 1
            key.state.chain.add(held)
        default: try foldNote(event, into: &key)
        }
    }

    private func foldNote(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        let text = try event.decode(NoteAdded.self).text
        let prefix = RowKey().text("n")
        if let newest = key.lastItem(prefix: prefix) { key.state.chain.add(newest.value) }
        key.setItem(
            prefix.ascending(event.stamp.rawValue).ascending(event.id.origin.high)
                .ascending(event.id.sequence), Array(text.utf8))
        key.state.notes += 1
        guard key.state.notes > OpenLoans.notesMax, let oldest = key.firstItem(prefix: prefix)
        else {
            return
        }
        key.state.chain.add(oldest.value)
        key.removeItem(RowKey().raw(oldest.name))
        key.state.notes -= 1
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard state.loans > 0 else { return }
        rows.add(
            table: 0, key: RowKey().descending(state.loans).text(key.name),
            value: Array(state.title.utf8))
    }

    func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) {
        rows.add(
            table: 1,
            key: RowKey().text(String(decoding: item.value, as: UTF8.self))
                .text(key.name).raw(item.key), value: item.value)
    }
}
