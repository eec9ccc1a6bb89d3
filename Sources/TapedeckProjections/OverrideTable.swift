internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

/// The events whose place or fate a receipt has changed; few, so they are held in memory.
struct OverrideTable: Sendable {
    /// The number of the last change.
    private(set) var last: UInt64 = 0
    private var rows: [UInt64: (stamp: Stamp, isRefused: Bool)] = [:]

    /// Knows of no change yet.
    init() {}

    init(_ log: EventLog) throws {
        var table = OverrideTable()
        try log.read { try table.update(log, $0) }
        self = table
    }

    /// Takes in what has changed up to the transaction, so that the two say the same.
    mutating func update(
        _ log: EventLog, _ transaction: borrowing some Readable & ~Copyable
    ) throws {
        let (changed, last) = try log.overrides(transaction, changedAfter: last)
        for row in changed { rows[row.position] = (row.effectiveStamp, row.isRefused) }
        self.last = last
    }

    /// What all devices agree on of the event at a position; nil where that is its own stamp.
    @inline(__always)
    func row(_ position: UInt64) -> (stamp: Stamp, isRefused: Bool)? {
        rows.isEmpty ? nil : rows[position]
    }
}
