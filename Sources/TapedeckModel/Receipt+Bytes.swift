extension ByteReader {
    package mutating func eventID() -> EventID? {
        guard let high = bigEndian(UInt64.self), let low = bigEndian(UInt64.self),
            let sequence = littleEndian(UInt64.self)
        else { return nil }
        return EventID(origin: OriginID(high: high, low: low), sequence: sequence)
    }

    /// Decodes a receipt written by `append(_:)`, or returns nil if the bytes are invalid or the
    /// server position is above `StoredNumber.max`.
    package mutating func receipt() -> Receipt? {
        guard let event = eventID(), let high = bigEndian(UInt64.self),
            let low = bigEndian(UInt64.self), let serverPosition = number(),
            let receivedAt = littleEndian(UInt64.self), let outcome = littleEndian(UInt8.self),
            let count = littleEndian(UInt8.self), let code = slice(Int(count)),
            outcome == 0
                ? count == 0 : outcome == 1 && (1...Receipt.codeLengthMax).contains(code.count),
            let text = String(validating: code, as: UTF8.self)
        else { return nil }
        return Receipt(
            event: event, lineage: LineageID(high: high, low: low), serverPosition: serverPosition,
            receivedAt: Stamp(rawValue: receivedAt),
            outcome: outcome == 0 ? .accepted : .refused(ErrorCode(rawValue: text)))
    }
}

extension [UInt8] {
    package mutating func append(_ event: EventID) {
        appendBigEndian(event.origin.high)
        appendBigEndian(event.origin.low)
        appendLittleEndian(event.sequence)
    }

    /// Appends a receipt in the format used by exports.
    package mutating func append(_ receipt: Receipt) {
        append(receipt.event)
        appendBigEndian(receipt.lineage.high)
        appendBigEndian(receipt.lineage.low)
        appendLittleEndian(receipt.serverPosition)
        appendLittleEndian(receipt.receivedAt.rawValue)
        switch receipt.outcome {
        case .accepted:
            append(contentsOf: [0, 0])
        case .refused(let code):
            append(1)
            append(UInt8(code.rawValue.utf8.count))
            append(contentsOf: code.rawValue.utf8)
        }
    }
}
