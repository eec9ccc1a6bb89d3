internal import TapedeckLMDB
internal import TapedeckModel

/// A small row that a sync engine keeps in the log, to commit it together with events.
///
/// The log neither reads nor exports these rows, so a copy of a store has to determine the state of
/// its servers again.
package struct SyncRow: Hashable, Sendable {
    /// The row's name, of at most `nameCountMax` bytes of UTF-8.
    package var name: String
    /// The row's value; nil removes the row.
    package var value: [UInt8]?

    package static let nameCountMax = 400

    package init(_ name: String, _ value: [UInt8]?) {
        self.name = name
        self.value = value
    }
}

extension EventLog {
    /// Returns the value of a row; nil if the row does not exist.
    @available(*, noasync)
    package func syncRow(_ name: String) throws(LogError) -> [UInt8]? {
        try read { transaction in
            try transaction.meta(self.tables, MetaKey.sync(name)).map { Array($0) }
        }
    }

    /// Returns the rows with names that begin with `prefix`, ordered by name.
    @available(*, noasync)
    package func syncRows(prefix: String) throws(LogError) -> [SyncRow] {
        try read { transaction in
            var rows: [SyncRow] = []
            let start = MetaKey.sync(prefix)
            let cursor = try transaction.cursor(self.tables.meta)
            var entry = try cursor.seek(start)
            while let row = entry, row.key.starts(with: start) {
                guard let value = SealedValue.open(row.value, key: row.key) else {
                    throw LogError.damagedRow(Array(row.key))
                }
                let name = String(decoding: row.key.dropFirst(), as: UTF8.self)
                rows.append(SyncRow(name, Array(value)))
                entry = try cursor.next()
            }
            return rows
        }
    }

    /// Writes all or none of the rows; the rows are on disk when this method returns.
    @available(*, noasync)
    package func setSyncRows(_ rows: [SyncRow]) throws(LogError) {
        try write { transaction in
            for row in rows { try transaction.setRow(self.tables, row) }
        }
    }
}

/// A counter that advances whenever an import or another server adds receipts that some server may
/// lack.
///
/// If the counter has advanced since receipts were last pushed to a server, the server may lack
/// some receipts.
package enum ReceiptRounds {
    private static let name = "receipts"

    @available(*, noasync)
    package static func current(_ log: EventLog) throws(LogError) -> UInt64 {
        guard let value = try log.syncRow(name) else { return 0 }
        return read(value)
    }

    /// Returns the row that sets the counter to `round`.
    package static func row(_ round: UInt64) -> SyncRow {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(round)
        return SyncRow(name, bytes)
    }

    /// Starts the next round.
    static func advance(
        _ transaction: borrowing WriteTransaction, _ tables: LogTables
    ) throws {
        let held = try transaction.meta(tables, MetaKey.sync(name)).map { Array($0) } ?? []
        try transaction.setRow(tables, row(read(held) + 1))
    }

    private static func read(_ value: [UInt8]) -> UInt64 {
        value.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return reader.number() ?? 0
        }
    }
}

extension MetaKey {
    static func sync(_ name: String) -> [UInt8] { Array("y".utf8) + Array(name.utf8) }
}

extension WriteTransaction {
    func setRow(_ tables: LogTables, _ row: SyncRow) throws {
        guard row.name.utf8.count <= SyncRow.nameCountMax else {
            throw LogError(
                .tooLarge,
                "the name of a row has \(row.name.utf8.count) bytes; the maximum is"
                    + " \(SyncRow.nameCountMax)")
        }
        let key = MetaKey.sync(row.name)
        if let value = row.value {
            try setMeta(tables, key, value)
        } else {
            try delete(tables.meta, key)
        }
    }
}
