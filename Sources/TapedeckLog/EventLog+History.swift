package import TapedeckLMDB
@_spi(Core) package import TapedeckModel

/// # Distinguishing histories
///
/// If a log file is restored in place to an earlier state and more events are then appended, it has
/// different events at positions that were used before. The log's length does not reveal the
/// difference. Data derived from a log is therefore stored with two values that are compared with
/// the log. The checksum of the last record takes one lookup to compare. The mark, which covers
/// everything up to that record, is compared only when the store is opened.

/// A digest of a log's contents up to a position.
package struct HistoryMark: Hashable, Sendable {
    /// A digest over the id, position, stamp and checksum of each origin's last event.
    ///
    /// The checksum of a commit's last record covers the origin's hash chain, and thereby all of
    /// its events.
    private var origins: Digest16
    /// The checksum of the last override change; 0 if there was no change, or if the override has
    /// been set again since.
    private var change: UInt32

    /// The mark before the first event.
    package static let start = HistoryMark(origins: Digest16(hashing: []), change: 0)

    init(origins: Digest16, change: UInt32) {
        self.origins = origins
        self.change = change
    }

    /// Returns whether this mark belongs to the history of a log whose current mark at the same
    /// position is `now`.
    package func fits(_ now: HistoryMark) -> Bool {
        origins == now.origins && (change == now.change || change == 0 || now.change == 0)
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.appendBigEndian(origins.high)
        bytes.appendBigEndian(origins.low)
        bytes.appendLittleEndian(change)
    }

    package init?(_ reader: inout ByteReader) {
        guard let high = reader.bigEndian(UInt64.self), let low = reader.bigEndian(UInt64.self),
            let change = reader.littleEndian(UInt32.self)
        else { return nil }
        self.init(origins: Digest16(high: high, low: low), change: change)
    }
}

extension EventLog {
    /// The maximum number of records to read backward when searching for the last events of origins
    /// before a position.
    ///
    /// Origins that are not found this way need a lookup.
    private static let recordsWalkedMax = 1_024

    /// Returns the last position, the checksum of the record there, and the number of the last
    /// override change.
    package func end(
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> (position: UInt64, checksum: UInt32, change: UInt64) {
        let change = try EventLog.lastChange(transaction, tables)
        guard let last = try transaction.cursor(tables.events).last() else { return (0, 0, change) }
        let position = last.key.loadUnaligned(as: UInt64.self)
        return (position, try EventLog.checksum(last.value, position), change)
    }

    /// Returns the checksum in the record at a position; nil if there is no record, and 0 for
    /// position 0.
    package func checksum(
        at position: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> UInt32? {
        if position == 0 { return 0 }
        return try transaction.get(tables.events, integer: position)
            .map { try EventLog.checksum($0, position) }
    }

    private static func checksum(
        _ record: UnsafeRawBufferPointer, _ position: UInt64
    ) throws(LogError) -> UInt32 {
        guard record.count >= 4 else {
            throw LogError.damagedRecord(position, "it is truncated")
        }
        return UInt32(littleEndian: record.loadUnaligned(as: UInt32.self))
    }

    /// Returns the mark of the log's history up to `position`, with number `change` as its last
    /// override change.
    ///
    /// The cost is a lookup per origin, and more lookups for origins with events after the
    /// position.
    package func historyMark(
        through position: UInt64, change: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> HistoryMark {
        var rows: [OriginRow] = []
        while let bytes = try transaction.meta(tables, MetaKey.origin(UInt32(rows.count))) {
            guard let row = OriginRow(decoding: bytes) else {
                throw LogError.damagedRow(MetaKey.origin(UInt32(rows.count)))
            }
            rows.append(row)
        }
        let later = Set(rows.indices.filter { rows[$0].lastPosition > position }.map(UInt32.init))
        let near = try lastPositions(of: later, near: position, transaction)
        var bytes: [UInt8] = []
        for (ordinal, row) in rows.enumerated() {
            let last =
                row.lastPosition <= position
                ? row.lastPosition
                : try near[UInt32(ordinal)]
                    ?? lastPosition(of: UInt32(ordinal), row, through: position, transaction)
            guard last > 0 else { continue }
            guard let found = try transaction.get(tables.events, integer: last),
                let record = RecordView(found)
            else {
                throw LogError.damagedRecord(last, "it should be an event of \(row.id)")
            }
            bytes.appendBigEndian(row.id.high)
            bytes.appendBigEndian(row.id.low)
            bytes.appendLittleEndian(last)
            bytes.appendLittleEndian(record.sequence)
            bytes.appendLittleEndian(record.stamp.rawValue)
            bytes.appendLittleEndian(try EventLog.checksum(found, last))
        }
        return HistoryMark(
            origins: Digest16(hashing: bytes), change: try checksum(ofChange: change, transaction))
    }

    /// Returns one checksum over a change and the override that it set.
    private func checksum(
        ofChange change: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> UInt32 {
        guard change > 0, let value = try transaction.get(tables.changes, integer: change),
            let position = ChangeRow.read(change, value),
            let row = try transaction.get(tables.overrides, integer: position)
        else { return 0 }
        return crc32c(row, seed: crc32c(value))
    }

    /// Returns the position of each origin's last event at or before `position`.
    ///
    /// Only the `recordsWalkedMax` records up to `position` are examined; origins without an event
    /// among them are left out.
    private func lastPositions(
        of origins: Set<UInt32>, near position: UInt64,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> [UInt32: UInt64] {
        guard !origins.isEmpty, position > 0 else { return [:] }
        var found: [UInt32: UInt64] = [:]
        let cursor = try transaction.cursor(tables.events)
        var entry = try cursor.seek(integer: position)
        for _ in 0..<EventLog.recordsWalkedMax {
            guard let read = entry, let record = RecordView(read.value) else { break }
            if origins.contains(record.origin), found[record.origin] == nil {
                found[record.origin] = record.position
                if found.count == origins.count { break }
            }
            entry = try cursor.previous()
        }
        return found
    }

    /// Returns the position of an origin's last event at or before a position; 0 if there is none.
    ///
    /// The origin must have more events after that position.
    private func lastPosition(
        of origin: UInt32, _ row: OriginRow, through position: UInt64,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> UInt64 {
        var (known, reached, beyond) = (UInt64(0), UInt64(0), row.lastSequence)
        while beyond - reached > 1 {
            let middle = reached + (beyond - reached) / 2
            let found = try self.position(of: middle, origin, row, transaction)
            if found <= position { (known, reached) = (found, middle) } else { beyond = middle }
        }
        return known
    }
}
