internal import Crypto
internal import TapedeckModel

/// Reads an export entry by entry; what it hands out has the checksum that was written.
struct ExportReader: ~Copyable {
    let path: String
    /// Which store was exported.
    let store: OriginID
    /// Where the next entry begins.
    private(set) var offset = ExportFormat.headerCount
    private let file: InputFile
    /// Hashes everything but the trailer; nil where the caller has checked that before.
    private var sha: SHA256?

    init(_ path: String, isHashed: Bool) throws(LogError) {
        let file = try InputFile(path)
        guard let header = try file.read(ExportFormat.headerCount, at: 0) else {
            throw ExportFormat.damaged(path, 0, "it has only \(file.byteCount) bytes")
        }
        store = try ExportFormat.readHeader(header, path)
        self.path = path
        if isHashed {
            var sha = SHA256()
            header.withUnsafeBytes { sha.update(bufferPointer: $0) }
            self.sha = sha
        }
        self.file = file
    }

    var byteCount: Int { file.byteCount }
    var isAtEnd: Bool { offset == file.byteCount }

    /// The next body, or nil at the end of the file.
    ///
    /// Its first byte tells its kind.
    mutating func next() throws(LogError) -> [UInt8]? {
        if isAtEnd { return nil }
        guard let frame = try file.read(ExportFormat.frameCount, at: offset) else {
            throw damaged("it ends in the middle of an entry")
        }
        let (count, checksum) = frame.withUnsafeBytes { bytes in
            (
                UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)),
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
            )
        }
        guard count > 0, count <= ExportFormat.bodyCountMax else {
            throw damaged("an entry of \(count) bytes begins there")
        }
        guard let body = try file.read(Int(count), at: offset + ExportFormat.frameCount) else {
            throw damaged("the file ends before the entry that begins there")
        }
        guard ExportFormat.checksum(body) == checksum else {
            throw damaged("the checksum of the entry that begins there does not fit")
        }
        if sha != nil, body[0] != ExportFormat.trailerKind {
            frame.withUnsafeBytes { sha?.update(bufferPointer: $0) }
            body.withUnsafeBytes { sha?.update(bufferPointer: $0) }
        }
        offset += ExportFormat.frameCount + Int(count)
        return body
    }

    /// What the trailer should say of all before it.
    func digest() -> [UInt8] { sha.map { Array($0.finalize()) } ?? [] }

    func damaged(_ what: String) -> LogError { ExportFormat.damaged(path, offset, what) }
}

/// A block of an export: neighbouring events of the log that was exported.
struct ExportBlock {
    let body: [UInt8]
    /// Where the entry begins in the file.
    let offset: Int
    let path: String
    let marks: [ChainMark]
    /// A receipt of each event, in their order; none where the block came by a file.
    let said: [Receipt]
    /// The receipts of the block's events, besides these.
    let receipts: [EventID: [Receipt]]
    let receiptCount: Int
    let eventCount: Int
    private let eventsStart: Int

    init(_ body: [UInt8], at offset: Int, _ path: String) throws(LogError) {
        let parsed = body.withUnsafeBytes { bytes in ExportBlock.parse(bytes) }
        guard let parsed else {
            throw ExportFormat.damaged(path, offset, "the block that begins there makes no sense")
        }
        (marks, receipts, receiptCount, eventCount, eventsStart) = parsed
        said = []
        self.body = body
        self.offset = offset
        self.path = path
    }

    /// Events that came in another way than by a file, with a receipt each.
    init(_ events: [UInt8], said: [Receipt], receipts: [EventID: [Receipt]]) {
        body = events
        offset = 0
        path = "what was received"
        marks = []
        self.said = said
        self.receipts = receipts
        receiptCount = said.count + receipts.count
        eventCount = said.count
        eventsStart = 0
    }

    private static func parse(
        _ bytes: UnsafeRawBufferPointer
    ) -> ([ChainMark], [EventID: [Receipt]], Int, Int, Int)? {
        var reader = ByteReader(bytes)
        guard reader.littleEndian(UInt8.self) == ExportFormat.blockKind,
            let markCount = reader.littleEndian(UInt32.self),
            let receiptCount = reader.littleEndian(UInt32.self),
            let eventCount = reader.littleEndian(UInt32.self)
        else { return nil }
        var marks: [ChainMark] = []
        for _ in 0..<markCount {
            guard let mark = reader.chainMark() else { return nil }
            marks.append(mark)
        }
        var receipts: [EventID: [Receipt]] = [:]
        for _ in 0..<receiptCount {
            guard let receipt = reader.receipt() else { return nil }
            receipts[receipt.event, default: []].append(receipt)
        }
        return (marks, receipts, Int(receiptCount), Int(eventCount), reader.offset)
    }

    /// What is known to be said of the event that stands at a place in the block, from 0.
    func receipts(of event: EventID, at index: Int) -> [Receipt] {
        let further = receipts.isEmpty ? [] : receipts[event] ?? []
        return said.isEmpty ? further : further.isEmpty ? [said[index]] : [said[index]] + further
    }

    /// Calls `body` with the canonical bytes of each event.
    func forEachEvent(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        try self.body.withUnsafeBytes { bytes in
            var offset = eventsStart
            for _ in 0..<eventCount {
                guard bytes.count - offset >= 4 else { throw damaged("its events are cut off") }
                let count = Int(
                    UInt32(
                        littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
                offset += 4
                guard bytes.count - offset >= count else { throw damaged("its events are cut off") }
                try body(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
                offset += count
            }
            guard offset == bytes.count else { throw damaged("more follows than it should have") }
        }
    }

    func damaged(_ what: String) -> LogError {
        ExportFormat.damaged(path, offset, "in the block that begins there, \(what)")
    }
}
