internal import TapedeckLog
internal import TapedeckModel

/// The events whose place or fate a receipt has changed; few, so they are held in memory.
struct OverrideTable: Sendable {
    /// The number of the last change.
    let last: UInt64
    private let rows: [UInt64: (stamp: Stamp, isRefused: Bool)]

    init(_ log: EventLog) throws {
        let (changed, last) = try log.read { try log.overrides($0, changedAfter: 0) }
        self.last = last
        rows = Dictionary(
            changed.map { ($0.position, ($0.effectiveStamp, $0.isRefused)) },
            uniquingKeysWith: { $1 })
    }

    /// What all devices agree on of the event at a position; nil where that is its own stamp.
    @inline(__always)
    func row(_ position: UInt64) -> (stamp: Stamp, isRefused: Bool)? {
        rows.isEmpty ? nil : rows[position]
    }
}
