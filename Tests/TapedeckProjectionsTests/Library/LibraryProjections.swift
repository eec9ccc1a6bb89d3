import TapedeckModel
import TapedeckProjections

/// Every projection of the test domain.
///
/// A projection added here runs in the order suite and in all other suites; `RegistryTests` checks
/// that none is missing.
enum LibraryProjections {
    static let all: [any Projection] = [
        BookHistory(), ReaderHistory(), ShelfHistory(), NewerNotes(), OpenLoans(), ReaderNotes(),
        ShelfCounts(), PoisonedNotes(), PoisonedItems(), CardCatalogue(),
        LastNote(),
    ]
}

/// A planted fault: this projection wrongly claims to support any order, which the order suite has
/// to detect.
struct FoldByArrival: Projection {
    let name = "planted"
    let version = 1
    let tagKind = "book"
    let eventTypes = [NoteAdded.eventType]
    let law = FoldLaw.any

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<ChainState>) {
        key.state.add(event)
    }
}

/// A planted fault: a last-writer-wins fold that does not compare stamps.
struct LastToArrive: Projection {
    let name = "planted-last"
    let version = 1
    let tagKind = "book"
    let eventTypes = [LoanStarted.eventType, LoanEnded.eventType]
    let law = FoldLaw.any

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<ChainState>) {
        key.state.last = "\(event.typeIndex) \(event.id)"
    }
}
