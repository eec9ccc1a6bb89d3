internal import TapedeckLMDB
internal import TapedeckModel

/// What every table but `events` keeps: a value that ends in a CRC-32C of its key and itself.
///
/// A record carries its own checksum. These small rows decide which events are found and whose they
/// are, so a flipped bit in one of them must be an error, too, and not a wrong answer.
enum SealedValue {
    static let checksumCount = 4

    static func seal(_ value: inout [UInt8], key: UnsafeRawBufferPointer) {
        let checksum = value.withUnsafeBytes { crc32c($0, seed: crc32c(key)) }
        value.appendLittleEndian(checksum)
    }

    static func seal(_ value: inout [UInt8], key: [UInt8]) {
        key.withUnsafeBytes { seal(&value, key: $0) }
    }

    static func seal(_ value: inout [UInt8], integerKey: UInt64) {
        withUnsafeBytes(of: integerKey.littleEndian) { seal(&value, key: $0) }
    }

    /// The value without its checksum; nil where that does not fit.
    @inline(__always)
    static func open(
        _ sealed: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
    ) -> UnsafeRawBufferPointer? {
        guard sealed.count >= checksumCount else { return nil }
        let value = UnsafeRawBufferPointer(rebasing: sealed.dropLast(checksumCount))
        let stored = UInt32(
            littleEndian: sealed.loadUnaligned(fromByteOffset: value.count, as: UInt32.self))
        return stored == crc32c(value, seed: crc32c(key)) ? value : nil
    }

    static func open(
        _ sealed: UnsafeRawBufferPointer, integerKey: UInt64
    ) -> UnsafeRawBufferPointer? {
        withUnsafeBytes(of: integerKey.littleEndian) { open(sealed, key: $0) }
    }
}

extension Readable where Self: ~Copyable {
    /// A row of `meta`; throws `.damaged` where its checksum does not fit, or where it stands under
    /// another key.
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

    /// Whether a row that is not found is there, its key damaged.
    ///
    /// Keys ascend (`PageCheck`), so it still stands between its neighbours, and its checksum still fits
    /// the key that it had. A neighbour that is damaged itself does not count: what is missing beside it
    /// may never have been there.
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
    static func damagedRow(_ key: [UInt8]) -> LogError {
        if key == MetaKey.runs { return IndexCatalogue.damaged }
        let kind = key.first.map { String(UnicodeScalar($0)) } ?? ""
        return LogError(
            .damaged, "row \(kind)\(Array(key.dropFirst()).hex) of the log's meta table is damaged",
            hint: "restore a backup, or import an export into a new store")
    }
}
