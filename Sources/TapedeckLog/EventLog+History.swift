package import TapedeckLMDB
@_spi(Core) package import TapedeckModel

/// # Telling one history from another
///
/// A log file that was put back to an earlier state, under its name and in its place, and then went
/// on has other events at positions that were taken before. Its length does not tell. So whoever keeps
/// what follows from a log keeps what stood there, too: the checksum of the last record, which costs a
/// look-up to compare, and a mark of everything up to it, which is compared once an opening.

/// What a log holds up to a position, in a few bytes.
package struct HistoryMark: Hashable, Sendable {
    /// Over the last event of each origin: its name, place, stamp and checksum.
    ///
    /// The checksum of a commit's last record covers its origin's hash chain, so this is about all events.
    private var origins: Digest16
    /// Of the last change of what counts of an event; 0 where there is none, or it has changed again.
    private var change: UInt32

    /// Before the first event.
    package static let start = HistoryMark(origins: Digest16(hashing: []), change: 0)

    init(origins: Digest16, change: UInt32) {
        self.origins = origins
        self.change = change
    }

    /// Whether a log of which `now` is said for the same position holds what this one was made of.
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
    /// How many records are read one by one to find where origins stood that have gone on since; those
    /// that are not among them are looked up.
    private static let recordsWalkedMax = 1_024

    /// The last position, the checksum of what stands there, and the number of the last change of what
    /// counts of an event.
    package func end(
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> (position: UInt64, checksum: UInt32, change: UInt64) {
        let change = try EventLog.lastChange(transaction, tables)
        guard let last = try transaction.cursor(tables.events).last() else { return (0, 0, change) }
        let position = last.key.loadUnaligned(as: UInt64.self)
        return (position, try EventLog.checksum(last.value, position), change)
    }

    /// The checksum that the record at a position carries; nil where none stands, 0 for position 0.
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
            throw LogError.damagedRecord(position, "it is cut off")
        }
        return UInt32(littleEndian: record.loadUnaligned(as: UInt32.self))
    }

    /// What tells this history up to a position and a change from any other.
    ///
    /// Costs a look-up for each origin; more where origins have gone on behind the position.
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
            else { throw LogError.damagedRecord(last, "it should be an event of \(row.id)") }
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

    /// Of a change and what it changed.
    private func checksum(
        ofChange change: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> UInt32 {
        guard change > 0, let value = try transaction.get(tables.changes, integer: change),
            let position = ChangeRow.read(change, value),
            let row = try transaction.get(tables.overrides, integer: position)
        else { return 0 }
        return crc32c(row, seed: crc32c(value))
    }

    /// Where origins stood last among some records up to a position; not all need be among them.
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

    /// Where an origin stood as of a position behind which it has gone on; 0 where it had not begun.
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
