internal import TapedeckModel
internal import TapedeckSyncProtocol

// The encoding of rows in `spaces`, `entries` and `tokens`: integers are little-endian, ids and
// digests are raw bytes.

extension SpaceState {
    /// The encoded form: lineage 16, head u64, time u64, digest 16, name.
    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(lineage.high)
        bytes.appendBigEndian(lineage.low)
        bytes.appendLittleEndian(head)
        bytes.appendLittleEndian(receivedAt.rawValue)
        bytes.append(contentsOf: digest.bytes)
        bytes.append(contentsOf: name.utf8)
        return bytes
    }

    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let high = reader.bigEndian(UInt64.self), let low = reader.bigEndian(UInt64.self),
            let head = reader.number(), let time = reader.littleEndian(UInt64.self),
            let digest = reader.slice(SyncDigest.count).flatMap({ SyncDigest($0) }),
            let name = reader.slice(reader.remaining)
        else { return nil }
        self.init(
            name: String(decoding: name, as: UTF8.self), lineage: LineageID(high: high, low: low))
        self.head = head
        receivedAt = Stamp(rawValue: time)
        self.digest = digest
    }
}

extension StoredEntry {
    /// The size of a row in bytes, without the refusal's code and the body.
    static let fixedCount = 8 + SyncDigest.count + 1 + 1

    /// Encodes the entry: time u64, digest 16, kind u8, code length u8, code, body.
    func encode(into bytes: inout [UInt8]) {
        let code = refusal?.utf8
        bytes.reserveCapacity(StoredEntry.fixedCount + body.count + 68)
        bytes.appendLittleEndian(receivedAt.rawValue)
        bytes.append(contentsOf: digest.bytes)
        bytes.append(kind.rawValue)
        bytes.append(UInt8(code?.count ?? 0))
        if let code { bytes.append(contentsOf: code) }
        bytes.append(contentsOf: body)
    }

    init?(at position: UInt64, _ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let time = reader.littleEndian(UInt64.self),
            let digest = reader.slice(SyncDigest.count).flatMap({ SyncDigest($0) }),
            let kind = reader.littleEndian(UInt8.self).flatMap(SyncEntryKind.init(rawValue:)),
            let count = reader.littleEndian(UInt8.self), let code = reader.slice(Int(count)),
            let body = reader.slice(reader.remaining)
        else { return nil }
        self.init(
            position: position, receivedAt: Stamp(rawValue: time),
            refusal: count == 0 ? nil : String(decoding: code, as: UTF8.self), digest: digest,
            kind: kind, body: body)
    }
}

/// A row of `tokens`: space u32, created u64, revoked u64 (0 if not revoked), name.
struct TokenRow {
    var space: SpaceID
    var createdAt: UInt64
    var revokedAt: UInt64?
    var name: String

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(space.rawValue)
        bytes.appendLittleEndian(createdAt)
        bytes.appendLittleEndian(revokedAt ?? 0)
        bytes.append(contentsOf: name.utf8)
        return bytes
    }

    init(space: SpaceID, createdAt: UInt64, name: String) {
        self.space = space
        self.createdAt = createdAt
        self.name = name
    }

    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let space = reader.littleEndian(UInt32.self),
            let created = reader.littleEndian(UInt64.self),
            let revoked = reader.littleEndian(UInt64.self),
            let name = reader.slice(reader.remaining)
        else { return nil }
        self.init(
            space: SpaceID(rawValue: space), createdAt: created,
            name: String(decoding: name, as: UTF8.self))
        revokedAt = revoked == 0 ? nil : revoked
    }
}
