@_spi(Core) internal import TapedeckModel

/// The bytes of an export; `schema/storage/v1.md` has the maps.
///
/// A header, then entries: a length, a CRC-32C and a body each. A block entry holds neighbouring
/// events as canonical bytes, the receipts of these events, and hash chain marks; the trailer ends
/// the file with counts and a SHA-256 of all before it.
enum ExportFormat {
    static let magic: [UInt8] = Array("TAPEDECK".utf8)
    /// The newest version that this program writes and reads.
    static let version: UInt32 = 1
    static let headerCount = 32
    /// Length and checksum in front of a body.
    static let frameCount = 8
    /// A body that claims to be longer is damage.
    static let bodyCountMax = 64 << 20

    static let blockKind: UInt8 = 1
    static let trailerKind: UInt8 = 2
    /// Kind, marks, receipts, events.
    static let blockHeadCount = 13
    static let markCount = 56
    static let trailerCount = 65

    /// A block ends when it has so many events, or so many bytes of them.
    static let eventsPerBlockMax = 4_096
    static let bytesPerBlockMax = 1 << 20

    static func header(store: OriginID) -> [UInt8] {
        var bytes = magic
        bytes.appendLittleEndian(version)
        bytes.appendBigEndian(store.high)
        bytes.appendBigEndian(store.low)
        bytes.appendLittleEndian(bytes.withUnsafeBytes { crc32c($0) })
        return bytes
    }

    /// Reads a header: which store was exported.
    static func readHeader(_ header: [UInt8], _ path: String) throws(LogError) -> OriginID {
        guard header.starts(with: magic) else {
            throw damaged(path, 0, "it does not begin as an export does")
        }
        let (version, store, checksum) = header.withUnsafeBytes { bytes in
            func word(_ offset: Int) -> UInt64 {
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            func half(_ offset: Int) -> UInt32 {
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            }
            return (half(8), OriginID(high: word(12), low: word(20)), half(headerCount - 4))
        }
        guard version <= ExportFormat.version else {
            throw LogError(
                .newerFormat,
                "\(path) has export format \(version); this program knows up to format"
                    + " \(ExportFormat.version)", hint: "upgrade this program")
        }
        guard
            checksum
                == header.withUnsafeBytes({
                    crc32c(UnsafeRawBufferPointer(rebasing: $0.dropLast(4)))
                })
        else { throw damaged(path, 0, "its header is damaged") }
        return store
    }

    static func frame(_ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(UInt32(body.count))
        bytes.appendLittleEndian(checksum(body))
        return bytes
    }

    /// Covers the length, too.
    static func checksum(_ body: [UInt8]) -> UInt32 {
        let seed = withUnsafeBytes(of: UInt32(body.count).littleEndian) { crc32c($0) }
        return body.withUnsafeBytes { crc32c($0, seed: seed) }
    }

    static func damaged(_ path: String, _ offset: Int, _ what: String) -> LogError {
        LogError(
            .damaged, "\(path) is damaged at byte \(offset): \(what)",
            hint: "export again, or copy the file again")
    }
}

/// The hash chain of an origin as of one of its events.
struct ChainMark {
    var event: EventID
    var chain: HashChain

    func append(to bytes: inout [UInt8]) {
        bytes.append(event)
        bytes.append(contentsOf: chain.bytes)
    }
}

extension ByteReader {
    mutating func eventID() -> EventID? {
        guard let high = bigEndian(UInt64.self), let low = bigEndian(UInt64.self),
            let sequence = littleEndian(UInt64.self)
        else { return nil }
        return EventID(origin: OriginID(high: high, low: low), sequence: sequence)
    }

    mutating func chainMark() -> ChainMark? {
        guard let event = eventID(), let bytes = slice(RecordLayout.chainCount),
            let chain = HashChain(Array(bytes))
        else { return nil }
        return ChainMark(event: event, chain: chain)
    }

    mutating func receipt() -> Receipt? {
        guard let event = eventID(), let high = bigEndian(UInt64.self),
            let low = bigEndian(UInt64.self), let serverPosition = littleEndian(UInt64.self),
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
    mutating func append(_ event: EventID) {
        appendBigEndian(event.origin.high)
        appendBigEndian(event.origin.low)
        appendLittleEndian(event.sequence)
    }

    /// Appends a receipt as an export holds it.
    mutating func append(_ receipt: Receipt) {
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
