internal import TapedeckLMDB
import TapedeckModel

/// The tables of the log environment, which are specified in `schema/storage/v1.md`.
struct LogTables {
    /// The records by position (integer key).
    let events: Table
    /// Small metadata: origins, types, closed segments, index runs, the catalogue of views.
    let meta: Table
    /// The index entries by (run, term, first position), each with its remaining positions as
    /// differences.
    let index: Table
    /// The receipts by (origin, sequence number, lineage).
    let receipts: Table
    /// The overrides by position: the effective stamp, and whether the event was refused.
    let overrides: Table
    /// The positions whose overrides changed, by the number of the change.
    let changes: Table

    var all: [Table] { [events, meta, index, receipts, overrides, changes] }

    init(_ environment: Environment) throws {
        events = try environment.openTable("events", integerKeys: true)
        meta = try environment.openTable("meta")
        index = try environment.openTable("index")
        receipts = try environment.openTable("receipts")
        overrides = try environment.openTable("overrides", integerKeys: true)
        changes = try environment.openTable("changes", integerKeys: true)
    }
}

/// The keys of `meta`.
///
/// Each key is a letter for the kind, followed by a name.
enum MetaKey {
    static let store: [UInt8] = Array("i".utf8)
    /// The storage format, for files without a `store.json`, such as backups.
    static let format: [UInt8] = Array("f".utf8)
    static let runs: [UInt8] = Array("r".utf8)
    /// The number of the last change of an override.
    static let changes: [UInt8] = Array("x".utf8)

    static func origin(_ ordinal: UInt32) -> [UInt8] {
        var key = Array("o".utf8)
        key.appendBigEndian(ordinal)
        return key
    }

    static func type(_ ordinal: UInt16) -> [UInt8] {
        var key = Array("t".utf8)
        key.appendBigEndian(ordinal)
        return key
    }

    static let allSegments: [UInt8] = Array("s".utf8)

    static func segments(_ origin: UInt32) -> [UInt8] {
        var key = Array("s".utf8)
        key.appendBigEndian(origin)
        return key
    }

    static func segment(_ origin: UInt32, _ firstSequence: UInt64) -> [UInt8] {
        var key = segments(origin)
        key.appendBigEndian(firstSequence)
        return key
    }

    /// The number of the last views file.
    static let viewsNumber: [UInt8] = Array("n".utf8)

    static func catalogue(_ name: String) -> [UInt8] { Array("c".utf8) + Array(name.utf8) }
}

/// The state of an origin, stored as a row of `meta` and kept in memory.
struct OriginRow {
    var id: OriginID
    var lastSequence: UInt64 = 0
    /// The position of the last event, whose record contains the latest value of the hash chain.
    var lastPosition: UInt64 = 0
    /// The open segment.
    var segment = Segment()
    /// The store's clock after the last commit; set only in the row of the store's own origin.
    var clock: Stamp = .zero

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(id.high)
        bytes.appendBigEndian(id.low)
        bytes.appendLittleEndian(lastSequence)
        bytes.appendLittleEndian(lastPosition)
        bytes.appendLittleEndian(segment.firstSequence)
        bytes.append(contentsOf: segment.encoded())
        bytes.appendLittleEndian(clock.rawValue)
        return bytes
    }

    init(id: OriginID) { self.id = id }

    /// Decodes a row; fails if its numbers contradict each other.
    init?(decoding bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let high = reader.bigEndian(UInt64.self), let low = reader.bigEndian(UInt64.self),
            let sequence = reader.number(), let position = reader.number(),
            let firstSequence = reader.number(),
            let segment = Segment(&reader, firstSequence: firstSequence),
            let clock = reader.littleEndian(UInt64.self),
            // Every event has its own position, and the segment contains the last event.
            sequence <= position, firstSequence <= sequence, segment.firstPosition <= position
        else { return nil }
        id = OriginID(high: high, low: low)
        lastSequence = sequence
        lastPosition = position
        self.segment = segment
        self.clock = Stamp(rawValue: clock)
    }
}

/// A range of an origin's sequence numbers, with their positions in the log.
///
/// An origin's events are in the order of their sequence numbers. A *dense* segment has consecutive
/// positions, so the position for a sequence number is found by subtraction. A *sparse* segment has
/// events of other origins in between; it spans at most `spreadMax` positions, which a lookup
/// scans.
struct Segment: Equatable {
    static let spreadMax: UInt64 = 256

    var firstSequence: UInt64 = 0
    var firstPosition: UInt64 = 0
    var isDense = true

    init() {}

    init(firstSequence: UInt64, firstPosition: UInt64) {
        self.firstSequence = firstSequence
        self.firstPosition = firstPosition
    }

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(firstPosition)
        bytes.append(isDense ? 1 : 0)
        return bytes
    }

    init?(_ reader: inout ByteReader, firstSequence: UInt64) {
        guard let position = reader.number(), let dense = reader.littleEndian(UInt8.self)
        else { return nil }
        self.firstSequence = firstSequence
        firstPosition = position
        isDense = dense == 1
    }

    /// Adds the next event of the origin; returns false if it needs a new segment.
    mutating func extend(sequence: UInt64, position: UInt64, after last: UInt64) -> Bool {
        if firstSequence == 0 { return false }
        if isDense, position == last + 1 { return true }
        guard position - firstPosition < Segment.spreadMax else { return false }
        isDense = false
        return true
    }
}
