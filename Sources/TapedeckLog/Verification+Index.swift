internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// Sums over the expected and the actual contents of the index, in buckets of terms.
///
/// If the sums are equal, so are the entries, except for a chance of one in 2^64 per bucket.
struct TermBuckets {
    private static let count = 1 << 16
    private var sums = [UInt64](repeating: 0, count: TermBuckets.count)
    private var counts = [Int64](repeating: 0, count: TermBuckets.count)

    static func bucket(_ term: UInt64) -> Int { Int(truncatingIfNeeded: term) & (count - 1) }

    mutating func add(_ term: UInt64, _ position: UInt64) {
        let bucket = TermBuckets.bucket(term)
        sums[bucket] &+= TermSum.mix(term, position)
        counts[bucket] += 1
    }

    mutating func subtract(_ term: UInt64, _ position: UInt64) {
        let bucket = TermBuckets.bucket(term)
        sums[bucket] &-= TermSum.mix(term, position)
        counts[bucket] -= 1
    }

    /// The buckets in which the expected and the actual contents differ.
    var differing: Set<Int> {
        Set(sums.indices.filter { sums[$0] != 0 || counts[$0] != 0 })
    }
}

/// The number of a term's events, and a sum that identifies them.
struct TermSum: Equatable {
    var count: UInt64 = 0
    var sum: UInt64 = 0

    mutating func add(_ term: UInt64, _ position: UInt64) {
        count += 1
        sum &+= TermSum.mix(term, position)
    }

    /// Mixes both values with SplitMix64's finalizer.
    static func mix(_ term: UInt64, _ position: UInt64) -> UInt64 {
        var mixed = term &+ position &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// The progress of reading the index tables.
struct IndexWalk {
    /// The runs of the index.
    var runs: [IndexCatalogue.Run] = []
    /// The index of the current run.
    private(set) var run = 0
    /// The key to continue from; nil at the start of a run.
    var next: [UInt8]?
    /// The last term and position read from the run.
    var former = (term: UInt64(0), position: UInt64(0))

    var isAtStart: Bool { runs.isEmpty && next == nil }

    mutating func beginNextRun() {
        run += 1
        next = nil
        former = (0, 0)
    }
}

extension Verification {
    /// The maximum number of differing buckets that are compared term by term.
    private static let bucketsNamedMax = 64

    // MARK: - Actual contents

    /// Reads entries of the current runs, up to the limit per transaction.
    ///
    /// Returns true when all entries have been read, false if a merge has replaced a partly read
    /// run, and nil if entries remain.
    mutating func addIndex(
        _ walk: inout IndexWalk, isWhole: Bool, _ transaction: borrowing ReadTransaction
    ) throws -> Bool? {
        let named = try IndexCatalogue(decoding: try transaction.meta(log.tables, MetaKey.runs))
            .runs
        guard named.starts(with: walk.runs) else { return false }
        var left = isWhole ? Int.max : entriesPerTransaction
        while walk.run < walk.runs.count {
            try forEachEntry(&walk, atMost: &left, transaction) { current, term, position in
                current.buckets.subtract(term, position)
                current.report.entries += 1
            }
            if left <= 0 { return nil }
        }
        return true
    }

    /// Calls `body` with each term and position of a run, starting at the walk's place; reports
    /// invalid entries.
    ///
    /// Afterwards, the walk is at the start of the next run or, if the limit `left` was reached, at
    /// the next entry.
    private mutating func forEachEntry(
        _ walk: inout IndexWalk, atMost left: inout Int, _ transaction: borrowing ReadTransaction,
        _ body: (inout Verification, _ term: UInt64, _ position: UInt64) -> Void
    ) throws {
        let run = walk.runs[walk.run]
        let cursor = try transaction.cursor(log.tables.index)
        var entry = try cursor.seek(walk.next ?? IndexEntry.key(run: run.number, term: 0))
        while let found = entry {
            guard let key = IndexEntry.read(found.key) else {
                report.add(
                    .index,
                    "an entry near run \(run.number) of the index has an unreadable key")
                entry = try cursor.next()
                continue
            }
            guard key.run == run.number else { break }
            guard left > 0 else {
                walk.next = Array(found.key)
                return
            }
            left -= 1
            if key.term != walk.former.term { walk.former = (key.term, run.lower) }
            guard let value = SealedValue.open(found.value, key: found.key) else {
                report.add(
                    .index, position: key.first,
                    "the checksum of an entry in run \(run.number) does not match")
                entry = try cursor.next()
                continue
            }
            var reader = ByteReader(value)
            var position = key.first
            while true {
                guard position > max(walk.former.position, run.lower), position <= run.upper else {
                    report.add(
                        .index, position: position,
                        "run \(run.number) of the index lists the event out of order, or outside the"
                            + " run's range \(run.lower + 1) to \(run.upper)")
                    break
                }
                walk.former.position = position
                body(&self, key.term, position)
                if reader.isAtEnd { break }
                guard let distance = reader.varint() else {
                    report.add(.index, "an entry in run \(run.number) of the index is damaged")
                    break
                }
                position &+= distance
            }
            entry = try cursor.next()
        }
        walk.beginNextRun()
    }

    // MARK: - Expected contents

    /// Adds the terms of a record to the expected contents.
    mutating func addTerms(of record: RecordView) {
        let position = record.position
        forEachTerm(of: record) { current, term in
            if position <= current.indexed {
                current.buckets.add(term, position)
            } else if current.tailTerms.count < EventLog.verifyTailTermsMax
                || current.tailTerms[term] != nil
            {
                current.tailTerms[term, default: TermSum()].add(term, position)
            }
        }
    }

    private mutating func forEachTerm(
        of record: RecordView, _ body: (inout Verification, UInt64) -> Void
    ) {
        terms.removeAll(keepingCapacity: true)
        Term.forEach(of: record, typeTerms: typeTerms) { terms.append($0) }
        for (index, term) in terms.enumerated() where !terms[..<index].contains(term) {
            body(&self, term)
        }
    }

    // MARK: - Comparing

    mutating func checkIndex() throws(LogError) {
        let differing = buckets.differing
        if !differing.isEmpty { try nameTerms(in: differing) }
        let (all, after, through) = (Array(tailTerms), indexed, head)
        let count = EventLog.verifyTailTermsPerTransactionMax
        for start in stride(from: 0, to: all.count, by: count) {
            let wrong = try log.read { transaction in
                var wrong: [(expected: UInt64, found: UInt64)] = []
                for (term, expected) in all[start..<min(start + count, all.count)] {
                    var found = TermSum()
                    try self.log.forEachPosition(of: Term(hash: term), transaction, after: after) {
                        guard $0 <= through else { return false }
                        found.add(term, $0)
                        return true
                    }
                    if found != expected { wrong.append((expected.count, found.count)) }
                }
                return wrong
            }
            for (expected, found) in wrong {
                report.add(
                    .index,
                    "after position \(after), a lookup of a term finds \(found) events instead of"
                        + " \(expected)")
            }
        }
    }

    /// Reports which terms differ.
    ///
    /// The log and the index are read again. The index, which is known to be damaged, is read in
    /// one transaction.
    private mutating func nameTerms(in differing: Set<Int>) throws(LogError) {
        let named = Set(differing.sorted().prefix(Verification.bucketsNamedMax))
        var expected: [UInt64: TermSum] = [:]
        var names: [UInt64: String] = [:]
        let (types, typeTerms, indexed) = (state.types, self.typeTerms, self.indexed)
        do throws(LogError) {
            try log.scan(after: 0, through: indexed) { record in
                var seen: Set<UInt64> = []
                func add(_ term: UInt64, _ name: () -> String) {
                    guard named.contains(TermBuckets.bucket(term)), seen.insert(term).inserted
                    else {
                        return
                    }
                    expected[term, default: TermSum()].add(term, record.position)
                    if names[term] == nil { names[term] = name() }
                }
                if Int(record.type) < types.count {
                    add(typeTerms[Int(record.type)].hash) { types[Int(record.type)].name }
                }
                record.forEachTag { tag in
                    add(Term(tagBytes: tag).hash) { String(decoding: tag, as: UTF8.self) }
                }
                if let entity = record.fact?.entity {
                    add(Term(entity: entity).hash) { "entity \(entity.high.paddedHex)" }
                }
            }
        } catch {
            guard error.code == .damaged else { throw error }
            report.add(.index, "the index does not match the log, which has damaged events")
            return
        }
        let from = self
        let found = try log.read { transaction in
            var found: [UInt64: TermSum] = [:]
            var current = from
            var walk = IndexWalk()
            walk.runs = try IndexCatalogue(
                decoding: try transaction.meta(self.log.tables, MetaKey.runs)
            ).runs
            while walk.run < walk.runs.count {
                var left = Int.max
                try current.forEachEntry(&walk, atMost: &left, transaction) { _, term, position in
                    guard named.contains(TermBuckets.bucket(term)), position <= indexed else {
                        return
                    }
                    found[term, default: TermSum()].add(term, position)
                }
            }
            return found
        }
        let all = Set(expected.keys).union(found.keys).sorted()
        for term in all where expected[term] != found[term] {
            report.add(
                .index, key: names[term] ?? "term \(term.paddedHex)",
                "its \(found[term]?.count ?? 0) events in the index do not match its"
                    + " \(expected[term]?.count ?? 0) events in the log")
        }
        if differing.count > named.count {
            report.add(.index, "\(differing.count - named.count) more parts of the index differ")
        }
    }
}
