internal import TapedeckLMDB
internal import TapedeckModel

/// The runs of the index, stored as a row of `meta`.
///
/// A **run** is a sorted, immutable part of the index that covers a range of positions. Runs cover
/// the log from its beginning without gaps; the events after the last run are the tail. A new run
/// is written in addition to the existing runs and becomes valid once it is listed in the row.
/// Eight or more consecutive runs of the same level are merged into one, so that a lookup searches
/// few runs and every entry is rewritten only a few times (a log-structured merge tree, O'Neil and
/// others 1996).
struct IndexCatalogue {
    struct Run: Equatable {
        var number: UInt32
        var level: UInt8
        /// The run covers the positions in (lower, upper].
        var lower: UInt64
        var upper: UInt64
    }

    /// The minimum number of runs of one level that are merged into one run of the next level.
    static let fanIn = 8

    var runs: [Run] = []
    /// The number of the next run; numbers are never reused.
    var nextNumber: UInt32 = 1

    /// The position up to which every event is in a run.
    var indexed: UInt64 { runs.last?.upper ?? 0 }

    init() {}

    init(decoding bytes: UnsafeRawBufferPointer?) throws {
        guard let bytes else { return }
        var reader = ByteReader(bytes)
        guard let next = reader.littleEndian(UInt32.self), next < .max else {
            throw IndexCatalogue.damaged
        }
        nextNumber = next
        while !reader.isAtEnd {
            guard let number = reader.littleEndian(UInt32.self), number < next,
                let level = reader.littleEndian(UInt8.self), level < .max,
                let lower = reader.number(), let upper = reader.number(), lower == indexed,
                upper > lower
            else { throw IndexCatalogue.damaged }
            runs.append(Run(number: number, level: level, lower: lower, upper: upper))
        }
    }

    static let damaged = LogError(
        .damaged, "the catalogue of the index is damaged",
        hint: "run storectl doctor --rebuild-index")

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(nextNumber)
        for run in runs {
            bytes.appendLittleEndian(run.number)
            bytes.append(run.level)
            bytes.appendLittleEndian(run.lower)
            bytes.appendLittleEndian(run.upper)
        }
        return bytes
    }

    /// The next range of consecutive runs to merge, lowest level first.
    var dueForMerge: Range<Int>? {
        var start = 0
        var best: Range<Int>?
        while start < runs.count {
            var end = start
            while end < runs.count, runs[end].level == runs[start].level { end += 1 }
            if end - start >= IndexCatalogue.fanIn,
                best.map({ runs[$0.lowerBound].level > runs[start].level }) ?? true
            {
                best = start..<end
            }
            start = end
        }
        return best
    }
}

/// The keys and values of the `index` table.
///
/// A key consists of the run (4 bytes), the term (8) and the first position (8), all big-endian. A
/// value contains the remaining positions of the entry, each as a varint of the distance from the
/// previous one, followed by the checksum (`SealedValue`).
enum IndexEntry {
    static let keyCount = 20

    /// The size in bytes at which a value ends and a new entry begins, so that values fit into a
    /// page.
    static let valueCountMax = 1_400

    static func appendKey(
        _ bytes: inout [UInt8], run: UInt32, term: UInt64, first: UInt64 = 0
    ) {
        bytes.appendBigEndian(run)
        bytes.appendBigEndian(term)
        bytes.appendBigEndian(first)
    }

    static func key(run: UInt32, term: UInt64, first: UInt64 = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(keyCount)
        appendKey(&bytes, run: run, term: term, first: first)
        return bytes
    }

    static func read(_ key: UnsafeRawBufferPointer) -> (run: UInt32, term: UInt64, first: UInt64)? {
        var reader = ByteReader(key)
        guard key.count == keyCount, let run = reader.bigEndian(UInt32.self),
            let term = reader.bigEndian(UInt64.self), let first = reader.bigEndian(UInt64.self)
        else { return nil }
        return (run, term, first)
    }

    /// Calls `body` with the positions of an entry, in ascending order.
    static func forEachPosition(_ entry: Cursor.Entry, _ body: (UInt64) -> Void) throws(LogError) {
        guard let key = read(entry.key), let value = SealedValue.open(entry.value, key: entry.key)
        else { throw damaged }
        body(key.first)
        var reader = ByteReader(value)
        var position = key.first
        while let distance = reader.varint() {
            position &+= distance
            body(position)
        }
    }

    /// Throws if an entry is damaged.
    static func check(_ entry: Cursor.Entry?) throws(LogError) {
        guard let entry else { return }
        guard read(entry.key) != nil, SealedValue.open(entry.value, key: entry.key) != nil else {
            throw damaged
        }
    }

    static let damaged = LogError(
        .damaged, "an entry in the index is damaged",
        hint: "run storectl doctor --rebuild-index")
}
