import TapedeckModel
import TapedeckProjections

/// A reader's notes, in any order of arrival; items under the law `.any`.
///
/// Items: `n` order → the text of a note; `l` order → the number of notes written before a loan.
/// The fold requests a refold if a note or loan arrives late and changes the number for a loan.
struct ReaderNotes: Projection {
    let name = "reader-notes"
    let version = 1
    let tagKind = "reader"
    let eventTypes = [NoteAdded.eventType, LoanStarted.eventType]
    let law = FoldLaw.any
    let tables = ["by-count", "items"]
    let itemsYieldRows = true

    struct State: ProjectionState, Hashable {
        var notes: UInt64 = 0
        var lastNote = FoldOrder.start
        var lastLoan = FoldOrder.start
        var newest = ""

        init() {}
        init(decoding bytes: inout StateReader) throws {
            notes = try bytes.uint64()
            lastNote = try bytes.foldOrder()
            lastLoan = try bytes.foldOrder()
            newest = try bytes.string()
        }
        func encode(into bytes: inout StateWriter) {
            bytes.add(notes)
            bytes.add(lastNote)
            bytes.add(lastLoan)
            bytes.add(newest)
        }
    }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        if event.typeIndex == 0 {
            let name = ReaderNotes.name("n", event)
            guard key.item(name) == nil else { return }
            if event.order < key.state.lastLoan { key.requestRefold() }
            let text = try event.decode(NoteAdded.self).text
            key.setItem(name, Array(text.utf8))
            key.state.notes += 1
            guard key.state.lastNote < event.order else { return }
            key.state.lastNote = event.order
            key.state.newest = text
        } else {
            let name = ReaderNotes.name("l", event)
            guard key.item(name) == nil else { return }
            if event.order < key.state.lastNote { key.requestRefold() }
            key.setItem(name, Array(String(key.state.notes).utf8))
            key.state.lastLoan = max(key.state.lastLoan, event.order)
        }
    }

    private static func name(_ kind: String, _ event: borrowing FoldEvent) -> RowKey {
        RowKey().text(kind).ascending(event.stamp.rawValue).ascending(event.id.origin.high)
            .ascending(event.id.origin.low).ascending(event.id.sequence)
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {
        rows.add(
            table: 0, key: RowKey().descending(state.notes).text(key.name),
            value: Array(state.newest.utf8))
    }

    func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) {
        rows.add(
            table: 1,
            key: RowKey().text(String(decoding: item.value, as: UTF8.self))
                .text(key.name).raw(item.key), value: item.value)
    }
}

/// The numbers of observations and moves of a shelf's books.
///
/// A sum does not depend on the order of events, so this is the simplest fold under the law `.any`.
struct ShelfCounts: Projection {
    let name = "shelf-counts"
    let version = 1
    let tagKind = "shelf"
    let eventTypes = [BookReceived.eventType, BookMoved.eventType]
    let law = FoldLaw.any

    struct State: ProjectionState, Hashable {
        var observations: UInt64 = 0
        var moves: UInt64 = 0
        var sum: UInt64 = 0

        init() {}
        init(decoding bytes: inout StateReader) throws {
            observations = try bytes.uint64()
            moves = try bytes.uint64()
            sum = try bytes.uint64()
        }
        func encode(into bytes: inout StateWriter) {
            bytes.add(observations)
            bytes.add(moves)
            bytes.add(sum)
        }
    }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) {
        if event.typeIndex == 0 { key.state.observations += 1 } else { key.state.moves += 1 }
        var chain = Chain()
        chain.add(event)
        key.state.sum &+= chain.value
    }
}
