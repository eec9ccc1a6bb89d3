import TapedeckModel
import TapedeckProjections

/// Every projection of the test's domain.
///
/// What is added to the domain is added here, and so is run through the order suite and all the
/// others; `RegistryTests` sees to it.
enum LibraryProjections {
    static let all: [any Projection] = [
        BookHistory(), ReaderHistory(), ShelfHistory(), NewerNotes(), OpenLoans(), ReaderNotes(),
        ShelfCounts(), PoisonedNotes(), PoisonedItems(), CardCatalogue(),
        LastNote(),
    ]
}

/// Planted: claims that any order suits it, and is wrong; the order suite has to find it out.
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

/// Planted: a last writer that forgot to compare stamps.
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
