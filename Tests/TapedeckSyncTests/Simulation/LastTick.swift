import TapedeckLog
import TapedeckModel
import TapedeckProjections

/// The last tick of each clock; earlier ticks are superseded.
struct LastTick: Projection {
    static let ticked: EventType = "Ticked"

    let name = "last-tick"
    let version = 1
    let tagKind = "clock"
    let eventTypes: [EventType] = [LastTick.ticked]
    let tables = ["ticks"]
    let foldsCompacted = true

    struct State: ProjectionState, Hashable {
        var last = ""

        init() {}
        init(decoding bytes: inout StateReader) throws { last = try bytes.string() }
        func encode(into bytes: inout StateWriter) { bytes.add(last) }
    }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.last = event.payload.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {
        rows.add(table: 0, key: RowKey().text(key.name), value: Array(state.last.utf8))
    }

    /// Returns a rule that removes a tick if its block contains a later, removable tick of the same
    /// clock.
    static func rule(
        isSettled: @escaping @Sendable (EventID, [Receipt]) -> Bool
    ) -> CompactionRule {
        CompactionRule(
            types: [ticked],
            superseded: { candidates in
                candidates.indices.map { index in
                    candidates[(index + 1)...].contains {
                        !$0.isFixed && $0.event.tags == candidates[index].event.tags
                    }
                }
            }, isSettled: isSettled)
    }
}
