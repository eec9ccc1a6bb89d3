internal import Crypto
package import TapedeckLMDB
internal import TapedeckModel

/// Computes the digest of a projection from its entries, which are added table by table in key
/// order.
///
/// The digest is the SHA-256 of the fingerprint and of three SHA-256 values: one each for the
/// states, the items and the rows. Each of the three values covers all keys and values and their
/// lengths. The digest covers no log positions and no interned numbers, so all machines that folded
/// the same events compute the same digest. Nor does the digest cover the number of folded events
/// or the order of the last event: both depend on the order in which events arrive, because an
/// observation is recorded only if it is new.
package struct ViewsDigest {
    package enum Part: Int, CaseIterable {
        case states, items, rows
    }

    private var parts = [SHA256](repeating: SHA256(), count: Part.allCases.count)
    private var pending = [[UInt8]](repeating: [], count: Part.allCases.count)
    private let fingerprint: Digest16
    private let law: FoldLaw

    /// The number of bytes to collect before calling the hash function, whose calls have a fixed
    /// cost.
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

    /// Appends the relevant parts of a state row: the state, and whether the key is frozen.
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
        // The array is moved out during the loop, because appending to an array inside an array
        // costs a lookup each time.
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

    /// Returns the digest as 64 hexadecimal digits.
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

    /// Returns the digest of the tables, the number of keys and the number of rows.
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
