import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// Books by title, as given or in capitals, optionally without the books of one shelf.
private struct Titles: Projection {
    var isLoud = false
    var skips = ""

    let name = "titles"
    let version = 1
    let tagKind = "book"
    let eventTypes = [BookReceived.eventType]
    let tables = ["by-isbn", "by-title"]
    var parameters: String { "loud=\(isLoud) skips=\(skips)" }

    struct State: ProjectionState {
        var title = ""

        init() {}
        init(decoding bytes: inout StateReader) throws { title = try bytes.string() }
        func encode(into bytes: inout StateWriter) { bytes.add(title) }
    }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let book = try event.decode(BookReceived.self)
        key.state.title = book.shelf == skips ? "" : isLoud ? book.title.uppercased() : book.title
    }

    func rows(of state: State, key: TapedeckModel.Tag, into rows: inout RowSink) {
        guard !state.title.isEmpty else { return }
        rows.add(table: 0, key: RowKey().text(key.name), value: Array(state.title.utf8))
        rows.add(table: 1, key: RowKey().text(state.title).text(key.name))
    }
}

/// A comparison with another version of a projection reports each row that would change.
@Suite(.offTasks) struct RowDifferenceTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
        try store.append(BookReceived(isbn: "1", title: "Emma", shelf: "a"))
        try store.append(BookReceived(isbn: "2", title: "IT", shelf: "a"))
        try store.append(BookReceived(isbn: "3", title: "Ulysses", shelf: "b"))
    }

    private func compare(_ first: Titles, _ second: Titles) throws -> [String] {
        var found: [String] = []
        _ = try store.runner.compare(first, with: second) {
            found.append("\($0.table) \($0.kind) \($0.name)")
            return true
        }
        return found
    }

    @Test func everyDifferentRowIsReported() throws {
        #expect(
            try compare(Titles(), Titles(isLoud: true)) == [
                "0 changed 1", "0 changed 3", "1 added 1", "1 removed 1", "1 added 3",
                "1 removed 3",
            ])
        #expect(try compare(Titles(), Titles(skips: "b")) == ["0 removed 3", "1 removed 3"])
        #expect(try compare(Titles(skips: "b"), Titles()) == ["0 added 3", "1 added 3"])
        #expect(try compare(Titles(), Titles()) == [])
    }

    @Test func valuesAreReportedAndTheComparisonCanStop() throws {
        var found: [RowDifference] = []
        _ = try store.runner.compare(Titles(), with: Titles(isLoud: true)) {
            found.append($0)
            return false
        }
        #expect(found.count == 1)
        #expect(found.first?.before == Array("Emma".utf8))
        #expect(found.first?.after == Array("EMMA".utf8))
    }
}
