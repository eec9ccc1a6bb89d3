internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// The format of an export, which is specified in `schema/storage/v1.md`.
///
/// A header is followed by entries, each with a length, a CRC-32C and a body. A block entry
/// contains consecutive events as canonical bytes, their receipts, and hash chain marks. The
/// trailer ends the file with counts and a SHA-256 digest of everything before it.
enum ExportFormat {
    static let magic: [UInt8] = Array("TAPEDECK".utf8)
    /// The newest version that this program reads and writes, which supports compacted stores.
    ///
    /// An export has the version of its store's storage format.
    static let version: UInt32 = 2
    static let headerCount = 32
    /// The size of the length and the checksum, which precede a body.
    static let frameCount = 8
    /// The maximum size of a body; a larger size means damage.
    static let bodyCountMax = 64 << 20

    static let blockKind: UInt8 = 1
    static let trailerKind: UInt8 = 2
    /// The size of the start of a block, which contains its kind and the numbers of marks, receipts
    /// and events.
    static let blockHeadCount = 13
    static let markCount = 56
    static let trailerCount = 65

    /// A block ends after this number of events or this number of bytes.
    static let eventsPerBlockMax = 4_096
    static let bytesPerBlockMax = 1 << 20

    static func header(store: OriginID, version: UInt32) -> [UInt8] {
        var bytes = magic
        bytes.appendLittleEndian(version)
        bytes.appendBigEndian(store.high)
        bytes.appendBigEndian(store.low)
        bytes.appendLittleEndian(bytes.withUnsafeBytes { crc32c($0) })
        return bytes
    }

    /// Reads a header, and returns the id of the exported store.
    static func readHeader(_ header: [UInt8], _ path: String) throws(LogError) -> OriginID {
        guard header.starts(with: magic) else {
            if PageCheck.isStart(header) {
                throw LogError(
                    .usage, "\(path) is a backup, not an export",
                    hint: "create a store from it with storectl restore --store DIR"
                        + " \(ShellWord.quoted(path))")
            }
            throw damaged(path, 0, "it does not start like an export")
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
                "\(path) has export format \(version); this program supports formats up to"
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

    /// Returns the checksum of a body, which also covers its length.
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

/// The hash chain of an origin up to one of its events.
struct ChainMark {
    var event: EventID
    var chain: HashChain

    func append(to bytes: inout [UInt8]) {
        bytes.append(event)
        bytes.append(contentsOf: chain.bytes)
    }
}

extension ByteReader {
    mutating func chainMark() -> ChainMark? {
        guard let event = eventID(), let bytes = slice(RecordLayout.chainCount),
            let chain = HashChain(Array(bytes))
        else { return nil }
        return ChainMark(event: event, chain: chain)
    }
}
