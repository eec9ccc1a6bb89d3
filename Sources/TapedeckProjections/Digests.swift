internal import Crypto
package import TapedeckLMDB
internal import TapedeckModel

/// A projection's digest while its rows come in, table by table, in key order.
///
/// SHA-256 over the fingerprint and, for states, items and rows, the SHA-256 of every key and value
/// with their lengths. No position and no interned number is in it, so it is equal on every machine
/// that folded the same events. Nor is how many events a key has folded and which was the last: of
/// sightings that say the same only those that came as news are recorded, and which these are depends
/// on the order in which they came.
package struct ViewsDigest {
    package enum Part: Int, CaseIterable {
        case states, items, rows
    }

    private var parts = [SHA256](repeating: SHA256(), count: Part.allCases.count)
    private var pending = [[UInt8]](repeating: [], count: Part.allCases.count)
    private let fingerprint: Digest16
    private let law: FoldLaw

    /// Rows are gathered to this many bytes before they are hashed: a call costs more than its bytes.
    private static let chunkCount = 1 << 15

    package init(_ driver: ProjectionDriver) {
        fingerprint = driver.fingerprint
        law = driver.law
    }

    @inline(__always)
    package mutating func add(
        _ part: Part, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) throws {
        let index = part.rawValue
        pending[index].appendVarint(UInt64(key.count))
        pending[index].append(contentsOf: key)
        if part == .states {
            try ViewsDigest.append(value, law, to: &pending[index])
        } else {
            pending[index].appendVarint(UInt64(value.count))
            pending[index].append(contentsOf: value)
        }
        if pending[index].count >= ViewsDigest.chunkCount { flush(index) }
    }

    /// Appends what counts of a key's row: whether it is frozen, and its state.
    @inline(__always)
    private static func append(
        _ row: UnsafeRawBufferPointer, _ law: FoldLaw, to bytes: inout [UInt8]
    ) throws {
        let stored = try StoredKey(row, law: law)
        bytes.appendVarint(UInt64(1 + stored.state.count))
        bytes.append(stored.isFrozen ? StoredKey.frozenFlag : 0)
        bytes.append(contentsOf: stored.state)
    }

    mutating func add(_ part: Part, _ batch: RowBatch) throws {
        let index = part.rawValue
        // Taken out for the while: an array inside an array is looked up at each append.
        var bytes: [UInt8] = []
        swap(&bytes, &pending[index])
        func append(_ count: Int) {
            if count < 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: count))
            } else {
                bytes.appendVarint(UInt64(count))
            }
        }
        var walker = RowWalker(batch.bytes)
        while let (key, value) = walker.next() {
            append(key.count)
            bytes.append(contentsOf: key)
            if part == .states {
                try ViewsDigest.append(value, law, to: &bytes)
            } else {
                append(value.count)
                bytes.append(contentsOf: value)
            }
            if bytes.count >= ViewsDigest.chunkCount {
                bytes.withUnsafeBytes { parts[index].update(bufferPointer: $0) }
                bytes.removeAll(keepingCapacity: true)
            }
        }
        swap(&bytes, &pending[index])
    }

    private mutating func flush(_ index: Int) {
        pending[index].withUnsafeBytes { parts[index].update(bufferPointer: $0) }
        pending[index].removeAll(keepingCapacity: true)
    }

    /// 64 hexadecimal digits.
    package mutating func finish() -> String {
        var whole = SHA256()
        var head: [UInt8] = []
        head.appendBigEndian(fingerprint.high)
        head.appendBigEndian(fingerprint.low)
        whole.update(data: head)
        for index in parts.indices {
            flush(index)
            whole.update(data: Array(parts[index].finalize()))
        }
        return Array(whole.finalize()).hex
    }
}

extension ViewsFile.Tables {
    package func table(_ part: ViewsDigest.Part) -> Table {
        switch part {
        case .states: states
        case .items: items
        case .rows: rows
        }
    }

    /// The digest of what the tables hold, and how many keys and rows that is.
    package func digest(
        _ driver: ProjectionDriver, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> (digest: String, keys: Int, rows: Int) {
        var digest = ViewsDigest(driver)
        for part in ViewsDigest.Part.allCases {
            let cursor = try transaction.cursor(table(part))
            var entry = try cursor.first()
            while let found = entry {
                try digest.add(part, found.key, found.value)
                entry = try cursor.next()
            }
        }
        return (digest.finish(), try transaction.count(states), try transaction.count(rows))
    }
}
