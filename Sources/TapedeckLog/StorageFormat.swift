internal import TapedeckLMDB
internal import TapedeckModel

/// A row of `meta`: the storage format, for files that are without their marker.
enum StorageFormat {
    /// Throws `.newerFormat` for one that this program does not know.
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
                "the log has storage format \(format); this program knows up to format"
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
    /// The storage format of this store.
    func storageFormat() throws(LogError) -> Int {
        try read { try StorageFormat.read($0, self.tables) }
    }

    /// Makes the store one that older programs refuse by name, before a range stub is written to it.
    func raiseFormat(_ transaction: borrowing WriteTransaction) throws {
        guard try StorageFormat.read(transaction, tables) < StoreDirectory.format else { return }
        // First, since older programs look nowhere else; should the transaction fail, they refuse a store
        // that they could have read.
        try directory.writeMarker(store: storeID.description, format: StoreDirectory.format)
        try StorageFormat.set(StoreDirectory.format, transaction, tables)
    }
}
