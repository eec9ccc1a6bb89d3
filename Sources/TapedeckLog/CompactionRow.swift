internal import TapedeckLMDB
internal import TapedeckModel

/// The rows of `meta` that record compactions.
enum CompactionRow {
    /// The key of the row that counts compactions.
    ///
    /// An origin's progress is stored under this key followed by the origin's number.
    private static let key = Array("b".utf8)

    private static func key(of origin: UInt32) -> [UInt8] {
        var key = key
        key.appendBigEndian(origin)
        return key
    }

    private static func number(
        _ key: [UInt8], _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> UInt64 {
        guard let bytes = try transaction.meta(tables, key) else { return 0 }
        var reader = ByteReader(bytes)
        guard let number = reader.number() else { throw LogError.damagedRow(key) }
        return number
    }

    private static func set(
        _ key: [UInt8], _ number: UInt64, _ transaction: borrowing WriteTransaction,
        _ tables: LogTables
    ) throws {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(number)
        try transaction.setMeta(tables, key, bytes)
    }

    /// Returns the number of commits that removed events.
    static func round(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> UInt64 {
        try number(key, transaction, tables)
    }

    static func advanceRound(
        _ transaction: borrowing WriteTransaction, _ tables: LogTables
    ) throws {
        try set(key, try round(transaction, tables) &+ 1, transaction, tables)
    }

    /// Returns the error for a row that contains a sequence number beyond the origin's last event.
    static func damaged(_ origin: UInt32) -> LogError { LogError.damagedRow(key(of: origin)) }

    /// Returns the sequence number up to which an origin's events were examined, a multiple of
    /// `CompactionRule.blockCount`.
    static func examined(
        of origin: UInt32, _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> UInt64 {
        try number(key(of: origin), transaction, tables)
    }

    static func setExamined(
        of origin: UInt32, _ sequence: UInt64, _ transaction: borrowing WriteTransaction,
        _ tables: LogTables
    ) throws {
        try set(key(of: origin), sequence, transaction, tables)
    }
}

extension EventLog {
    func compactionRound() throws(LogError) -> UInt64 {
        try read { try CompactionRow.round($0, self.tables) }
    }
}
