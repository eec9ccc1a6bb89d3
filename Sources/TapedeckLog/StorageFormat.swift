internal import TapedeckLMDB
internal import TapedeckModel

/// A row of `meta` with the storage format, for files without a `store.json`.
enum StorageFormat {
    /// Returns the storage format; throws `.newerFormat` if this program does not support it.
    static func read(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> Int {
        guard let bytes = try transaction.meta(tables, MetaKey.format) else {
            return StoreDirectory.firstFormat
        }
        var reader = ByteReader(bytes)
        let format = Int(reader.littleEndian(UInt32.self) ?? 0)
        guard format <= StoreDirectory.format else {
            throw LogError(
                .newerFormat,
                "the log has storage format \(format); this program supports formats up to"
                    + " \(StoreDirectory.format)", hint: "upgrade this program")
        }
        return format
    }

    static func set(
        _ format: Int, _ transaction: borrowing WriteTransaction, _ tables: LogTables
    ) throws {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(UInt32(format))
        try transaction.setMeta(tables, MetaKey.format, bytes)
    }
}

extension EventLog {
    /// Returns the storage format of this store.
    func storageFormat() throws(LogError) -> Int {
        try read { try StorageFormat.read($0, self.tables) }
    }

    /// Raises the storage format before a range stub is written, so that older programs refuse the
    /// store.
    func raiseFormat(_ transaction: borrowing WriteTransaction) throws {
        guard try StorageFormat.read(transaction, tables) < StoreDirectory.format else { return }
        // The marker is written first, because older programs check only the marker. If the
        // transaction then fails, older programs refuse a store that they could have read.
        try directory.writeMarker(store: storeID.description, format: StoreDirectory.format)
        try StorageFormat.set(StoreDirectory.format, transaction, tables)
    }
}
