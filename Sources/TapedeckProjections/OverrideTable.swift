internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

/// The events whose stamp or status has changed since they were recorded; there are few enough of
/// them to hold in memory.
struct OverrideTable: Sendable {
    /// The number of the last change that was read.
    private(set) var last: UInt64 = 0
    private var rows: [UInt64: (stamp: Stamp, isRefused: Bool)] = [:]

    /// Creates an empty table.
    init() {}

    init(_ log: EventLog) throws {
        var table = OverrideTable()
        try log.read { try table.update(log, $0) }
        self = table
    }

    /// Reads new changes, so that the table matches the transaction's view of the log.
    mutating func update(
        _ log: EventLog, _ transaction: borrowing some Readable & ~Copyable
    ) throws {
        let (changed, last) = try log.overrides(transaction, changedAfter: last)
        for row in changed { rows[row.position] = (row.effectiveStamp, row.isRefused) }
        self.last = last
    }

    /// Returns the effective stamp of an event and whether the event was refused; nil if neither
    /// has changed.
    @inline(__always)
    func row(_ position: UInt64) -> (stamp: Stamp, isRefused: Bool)? {
        rows.isEmpty ? nil : rows[position]
    }
}
