internal import TapedeckLMDB
@_spi(Core) import TapedeckModel

/// A range of an origin's events that were voided in favour of another history, stored as a row of
/// `meta`.
///
/// The voided records stay in place but are refused. The winning history reuses their sequence
/// numbers, and its events come after `lastPosition`.
struct Fork: Hashable {
    /// The log's number for the origin.
    var origin: UInt32
    /// The first sequence number at which the histories differ.
    var firstSequence: UInt64
    /// The position of the last event of the voided history.
    var lastPosition: UInt64

    /// Returns whether a record belongs to the voided history.
    func holds(origin: UInt32, sequence: UInt64, position: UInt64) -> Bool {
        origin == self.origin && sequence >= firstSequence && position <= lastPosition
    }

    var key: [UInt8] {
        var key = Fork.allKeys
        key.appendBigEndian(origin)
        key.appendBigEndian(lastPosition)
        return key
    }

    var value: [UInt8] {
        var value: [UInt8] = []
        value.appendLittleEndian(firstSequence)
        return value
    }

    static let allKeys: [UInt8] = Array("k".utf8)

    init(origin: UInt32, firstSequence: UInt64, lastPosition: UInt64) {
        self.origin = origin
        self.firstSequence = firstSequence
        self.lastPosition = lastPosition
    }

    init?(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        var name = ByteReader(UnsafeRawBufferPointer(rebasing: key.dropFirst()))
        var reader = ByteReader(value)
        guard let origin = name.bigEndian(UInt32.self), let last = name.bigEndian(UInt64.self),
            name.isAtEnd, let first = reader.number()
        else { return nil }
        self.init(origin: origin, firstSequence: first, lastPosition: last)
    }

    /// Returns all forks; usually none.
    static func all(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> [Fork] {
        var forks: [Fork] = []
        let cursor = try transaction.cursor(tables.meta)
        var entry = try cursor.seek(allKeys)
        while let row = entry, row.key.starts(with: allKeys) {
            guard let value = SealedValue.open(row.value, key: row.key),
                let fork = Fork(row.key, value)
            else { throw LogError.damagedRow(Array(row.key)) }
            forks.append(fork)
            entry = try cursor.next()
        }
        return forks
    }
}

extension LogState {
    /// Returns whether an origin has no voided events and no reissued events.
    func hasOneHistory(of origin: UInt32) -> Bool {
        !forks.contains { $0.origin == origin }
            && !reissuedOrigins.contains(origins[Int(origin)].id)
    }

    /// Returns whether a record belongs to a voided history; see `Fork`.
    func isForked(_ record: RecordView) -> Bool {
        !forks.isEmpty
            && forks.contains {
                $0.holds(
                    origin: record.origin, sequence: record.sequence, position: record.position)
            }
    }
}
