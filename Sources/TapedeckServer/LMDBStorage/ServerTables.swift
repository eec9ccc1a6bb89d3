internal import TapedeckLMDB
internal import TapedeckModel

/// The tables of the server's file.
///
/// Integers in keys are big-endian, so that rows sort by number.
///
/// | table | key | value |
/// |---|---|---|
/// | `meta` | `f` | the storage format |
/// | `spaces` | space u32 | state, see `LMDBSpaceRows+Coding.swift` |
/// | `tokens` | SHA-256 of the token | space, times, name |
/// | `entries` | space u32, position u64 | time, digest, kind, refusal, body |
/// | `origins` | space u32, origin | last sequence number u64, chain 32 |
/// | `segments` | space u32, origin, first sequence number u64 | first position u64, count u64 |
/// | `receipts` | space u32, event, lineage | position u64 |
///
/// A segment is a run of an origin's sequence numbers at consecutive positions; it grows in place.
/// Every value ends with a CRC-32C of its key and value (`SealedValue`).
struct ServerTables: Sendable {
    let meta: Table
    let spaces: Table
    let tokens: Table
    let entries: Table
    let origins: Table
    let segments: Table
    let receipts: Table

    static let count: UInt32 = 7

    init(_ environment: Environment) throws {
        let meta = try environment.openTable("meta")
        // The format is written after all tables exist. If the format is missing, the creation of
        // the tables was interrupted.
        let creates = try environment.read {
            try $0.sealed(meta, RowKey.format, named: "meta") == nil
        }
        self.meta = meta
        spaces = try environment.openTable("spaces", creates: creates)
        tokens = try environment.openTable("tokens", creates: creates)
        entries = try environment.openTable("entries", creates: creates)
        origins = try environment.openTable("origins", creates: creates)
        segments = try environment.openTable("segments", creates: creates)
        receipts = try environment.openTable("receipts", creates: creates)
    }
}

/// The keys of the tables.
enum RowKey {
    static let format: [UInt8] = Array("f".utf8)

    static func space(_ space: SpaceID) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(44)
        key.appendBigEndian(space.rawValue)
        return key
    }

    static func entry(_ space: SpaceID, _ position: UInt64) -> [UInt8] {
        var key = self.space(space)
        key.appendBigEndian(position)
        return key
    }

    /// Returns whether a key is `entry(space, position)`, without allocating, because the function
    /// is called for every entry that is read.
    static func isEntry(
        _ key: UnsafeRawBufferPointer, _ space: SpaceID, _ position: UInt64
    ) -> Bool {
        key.count == entryCount
            && key.loadUnaligned(as: UInt32.self) == space.rawValue.bigEndian
            && key.loadUnaligned(fromByteOffset: 4, as: UInt64.self) == position.bigEndian
    }

    static func origin(_ space: SpaceID, _ origin: OriginID) -> [UInt8] {
        var key = self.space(space)
        key.appendBigEndian(origin.high)
        key.appendBigEndian(origin.low)
        return key
    }

    static func segment(_ space: SpaceID, _ event: EventID) -> [UInt8] {
        var key = origin(space, event.origin)
        key.appendBigEndian(event.sequence)
        return key
    }

    static func receipt(_ space: SpaceID, _ event: EventID, _ lineage: LineageID) -> [UInt8] {
        var key = segment(space, event)
        key.appendBigEndian(lineage.high)
        key.appendBigEndian(lineage.low)
        return key
    }

    static let entryCount = 12
    static let originCount = 20
    static let segmentCount = 28
}

extension Readable where Self: ~Copyable {
    /// Returns a row of a small table; throws `.damaged` if its checksum does not match.
    func sealed(_ table: Table, _ key: [UInt8], named name: String) throws
        -> UnsafeRawBufferPointer?
    {
        try key.withUnsafeBytes { bytes in
            guard let sealed = try get(table, bytes) else { return nil }
            guard let value = SealedValue.open(sealed, key: bytes) else {
                throw ServerError.damagedRow(name)
            }
            return value
        }
    }
}

extension Writable where Self: ~Copyable {
    /// Adds or replaces a row of a small table.
    func seal(_ table: Table, _ key: [UInt8], _ value: [UInt8]) throws(LMDBError) {
        var sealed = value
        SealedValue.seal(&sealed, key: key)
        try put(table, key, sealed)
    }
}
