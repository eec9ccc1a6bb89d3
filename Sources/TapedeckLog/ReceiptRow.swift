internal import TapedeckModel

/// The keys and values of the `receipts` table.
///
/// A key consists of the origin's number (4 bytes), the sequence number (8) and the lineage (16),
/// all big-endian. A value consists of the server position (8), receivedAt (8), the outcome (1),
/// the code of a refusal, and the checksum (`SealedValue`).
enum ReceiptRow {
    static let keyCount = 28

    static func prefix(_ origin: UInt32, _ sequence: UInt64) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(keyCount)
        key.appendBigEndian(origin)
        key.appendBigEndian(sequence)
        return key
    }

    static func key(_ origin: UInt32, _ sequence: UInt64, _ lineage: LineageID) -> [UInt8] {
        var key = prefix(origin, sequence)
        key.appendBigEndian(lineage.high)
        key.appendBigEndian(lineage.low)
        return key
    }

    /// Returns the event of a row.
    static func event(_ key: UnsafeRawBufferPointer) -> (origin: UInt32, sequence: UInt64)? {
        var reader = ByteReader(key)
        guard key.count == keyCount, let origin = reader.bigEndian(UInt32.self),
            let sequence = reader.bigEndian(UInt64.self)
        else { return nil }
        return (origin, sequence)
    }

    /// Returns the sequence number of a row's event, even if the end of the key is missing.
    static func sequence(_ key: UnsafeRawBufferPointer) -> UInt64? {
        var reader = ByteReader(key)
        return reader.bigEndian(UInt32.self).flatMap { _ in reader.bigEndian(UInt64.self) }
    }

    static func value(_ receipt: Receipt, key: [UInt8]) -> [UInt8] {
        var value: [UInt8] = []
        value.reserveCapacity(24)
        value.appendLittleEndian(receipt.serverPosition)
        value.appendLittleEndian(receipt.receivedAt.rawValue)
        switch receipt.outcome {
        case .accepted: value.append(0)
        case .refused(let code):
            value.append(1)
            value.append(contentsOf: code.rawValue.utf8)
        }
        SealedValue.seal(&value, key: key)
        return value
    }

    /// Decodes a row; returns nil if it is damaged.
    static func read(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, origin: OriginID
    ) -> Receipt? {
        guard let (_, sequence) = event(key), let value = SealedValue.open(value, key: key) else {
            return nil
        }
        var lineage = ByteReader(UnsafeRawBufferPointer(rebasing: key[12...]))
        var reader = ByteReader(value)
        guard let high = lineage.bigEndian(UInt64.self), let low = lineage.bigEndian(UInt64.self),
            let serverPosition = reader.number(),
            let receivedAt = reader.littleEndian(UInt64.self),
            let outcome = reader.littleEndian(UInt8.self), outcome <= 1,
            let code = reader.slice(reader.remaining), outcome == 1 || code.isEmpty
        else { return nil }
        return Receipt(
            event: EventID(origin: origin, sequence: sequence),
            lineage: LineageID(high: high, low: low), serverPosition: serverPosition,
            receivedAt: Stamp(rawValue: receivedAt),
            outcome: outcome == 0
                ? .accepted
                : .refused(ErrorCode(rawValue: String(decoding: code, as: UTF8.self))))
    }
}

/// The values of the `overrides` table, with the position as the key.
///
/// A value consists of the effective stamp (8 bytes, little-endian), a flag for refused events (1),
/// the number of the change (8), and the checksum.
enum OverrideRow {
    static func value(_ row: StampOverride) -> [UInt8] {
        var value: [UInt8] = []
        value.appendLittleEndian(row.effectiveStamp.rawValue)
        value.append(row.isRefused ? 1 : 0)
        value.appendLittleEndian(row.change)
        SealedValue.seal(&value, integerKey: row.position)
        return value
    }

    static func read(_ position: UInt64, _ value: UnsafeRawBufferPointer) -> StampOverride? {
        guard let opened = SealedValue.open(value, integerKey: position) else { return nil }
        var reader = ByteReader(opened)
        guard let stamp = reader.littleEndian(UInt64.self),
            let refused = reader.littleEndian(UInt8.self), refused <= 1,
            let change = reader.number()
        else { return nil }
        return StampOverride(
            position: position, effectiveStamp: Stamp(rawValue: stamp), isRefused: refused == 1,
            change: change)
    }
}

/// The values of the `changes` table, with the number of the change as the key.
///
/// A value consists of the position whose override changed (8 bytes, little-endian) and the
/// checksum.
enum ChangeRow {
    static func value(_ row: StampOverride) -> [UInt8] {
        var value: [UInt8] = []
        value.appendLittleEndian(row.position)
        SealedValue.seal(&value, integerKey: row.change)
        return value
    }

    static func read(_ change: UInt64, _ value: UnsafeRawBufferPointer) -> UInt64? {
        guard let opened = SealedValue.open(value, integerKey: change) else { return nil }
        var reader = ByteReader(opened)
        return reader.number()
    }
}
