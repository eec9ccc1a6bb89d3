internal import Crypto
internal import TapedeckModel

/// Reads an export entry by entry, and verifies each checksum.
struct ExportReader: ~Copyable {
    let path: String
    /// The id of the exported store.
    let store: OriginID
    /// The offset of the next entry.
    private(set) var offset = ExportFormat.headerCount
    private let file: InputFile
    /// The hash of everything except the trailer; nil if the file was already verified.
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

    /// Returns the body of the next entry, or nil at the end of the file.
    ///
    /// The first byte of a body is its kind.
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
            throw damaged("an entry there has the invalid size \(count)")
        }
        guard let body = try file.read(Int(count), at: offset + ExportFormat.frameCount) else {
            throw damaged("the file ends inside the entry that begins there")
        }
        guard ExportFormat.checksum(body) == checksum else {
            throw damaged("the checksum of the entry that begins there does not match")
        }
        if sha != nil, body[0] != ExportFormat.trailerKind {
            frame.withUnsafeBytes { sha?.update(bufferPointer: $0) }
            body.withUnsafeBytes { sha?.update(bufferPointer: $0) }
        }
        offset += ExportFormat.frameCount + Int(count)
        return body
    }

    /// Returns the digest that the trailer should contain.
    func digest() -> [UInt8] { sha.map { Array($0.finalize()) } ?? [] }

    func damaged(_ what: String) -> LogError { ExportFormat.damaged(path, offset, what) }
}

/// A block of an export, with consecutive events of the exported log.
struct ExportBlock {
    let body: [UInt8]
    /// The offset of the entry in the file.
    let offset: Int
    /// The path of the file; nil for received data.
    let path: String?
    let marks: [ChainMark]
    /// One receipt per event, in the order of the events; empty if the block is from a file.
    let said: [Receipt]
    /// Additional receipts for the block's events.
    let receipts: [EventID: [Receipt]]
    let receiptCount: Int
    let eventCount: Int
    private let eventsStart: Int

    init(_ body: [UInt8], at offset: Int, _ path: String) throws(LogError) {
        let parsed = body.withUnsafeBytes { bytes in ExportBlock.parse(bytes) }
        guard let parsed else {
            throw ExportFormat.damaged(path, offset, "the block that begins there is invalid")
        }
        (marks, receipts, receiptCount, eventCount, eventsStart) = parsed
        said = []
        self.body = body
        self.offset = offset
        self.path = path
    }

    /// Creates a block of events that are not from a file, with a receipt for each.
    init(_ events: [UInt8], said: [Receipt], receipts: [EventID: [Receipt]]) {
        body = events
        offset = 0
        path = nil
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

    /// Returns the receipts of the event at an index in the block.
    func receipts(of event: EventID, at index: Int) -> [Receipt] {
        let further = receipts.isEmpty ? [] : receipts[event] ?? []
        return said.isEmpty ? further : further.isEmpty ? [said[index]] : [said[index]] + further
    }

    /// Calls `body` with the canonical bytes of each event.
    func forEachEvent(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        try self.body.withUnsafeBytes { bytes in
            var offset = eventsStart
            for _ in 0..<eventCount {
                guard bytes.count - offset >= 4 else { throw damaged("the events are truncated") }
                let count = Int(
                    UInt32(
                        littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
                offset += 4
                guard bytes.count - offset >= count else {
                    throw damaged("the events are truncated")
                }
                try body(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
                offset += count
            }
            guard offset == bytes.count else { throw damaged("there are extra bytes at the end") }
        }
    }

    /// Returns the error for invalid contents: `.damaged` for a file, `.malformedRequest` for
    /// received data.
    func damaged(_ what: String) -> LogError {
        guard let path else { return LogError(.malformedRequest, what) }
        return ExportFormat.damaged(path, offset, "in the block that begins there, \(what)")
    }
}
