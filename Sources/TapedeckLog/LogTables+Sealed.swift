internal import TapedeckLMDB
internal import TapedeckModel

extension Readable where Self: ~Copyable {
    /// Returns a row of `meta`.
    ///
    /// Throws `.damaged` if the row's checksum does not match, or if the row's key is damaged.
    func meta(_ tables: LogTables, _ key: [UInt8]) throws -> UnsafeRawBufferPointer? {
        try key.withUnsafeBytes { bytes in
            guard let sealed = try get(tables.meta, bytes) else {
                if try isMisnamed(tables, key) { throw LogError.damagedRow(key) }
                return nil
            }
            guard let value = SealedValue.open(sealed, key: bytes) else {
                throw LogError.damagedRow(key)
            }
            return value
        }
    }

    /// Returns whether a row that was not found still exists under a damaged key.
    ///
    /// Because keys ascend (`PageCheck`), a row with a damaged key is still next to the place of
    /// its original key, and its checksum still matches that key. If the checksum of neither
    /// neighbour matches, the row may never have existed.
    private func isMisnamed(_ tables: LogTables, _ key: [UInt8]) throws -> Bool {
        let cursor = try cursor(tables.meta)
        let next = try cursor.seek(key)
        let before = next == nil ? try cursor.last() : try cursor.previous()
        return key.withUnsafeBytes { bytes in
            [next, before].contains { entry in
                entry.map { SealedValue.open($0.value, key: bytes) != nil } ?? false
            }
        }
    }
}

extension Writable where Self: ~Copyable {
    /// Adds or replaces a row of `meta`.
    func setMeta(_ tables: LogTables, _ key: [UInt8], _ value: [UInt8]) throws(LMDBError) {
        var sealed = value
        SealedValue.seal(&sealed, key: key)
        try put(tables.meta, key, sealed)
    }
}

extension LogError {
    /// Returns whether a row concerns only projections, which can be rebuilt.
    private static func isDerived(_ key: [UInt8]) -> Bool {
        key == MetaKey.viewsNumber || key.starts(with: MetaKey.catalogue(""))
    }

    static func damagedRow(_ key: [UInt8]) -> LogError {
        if key == MetaKey.runs { return IndexCatalogue.damaged }
        let isText = !key.isEmpty && key.allSatisfy { (0x20...0x7E).contains($0) }
        let kind = key.first.flatMap { isText ? String(UnicodeScalar($0)) : nil } ?? ""
        let name = isText ? String(decoding: key.dropFirst(), as: UTF8.self) : key.hex
        return LogError(
            .damaged, "row \(kind)\(name) of the log's meta table is damaged",
            hint: isDerived(key)
                ? "run storectl replay to rebuild it"
                : "restore a backup, or import an export into a new store")
    }
}
