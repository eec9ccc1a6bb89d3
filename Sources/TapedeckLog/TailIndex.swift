internal import Foundation
internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// An in-memory index of the events that are not in the index tables yet.
///
/// The index is built from the log when a term is first looked up, and later lookups extend it.
/// Appends do not update it, so it does not matter which process recorded an event.
final class TailIndex: @unchecked Sendable {
    // `lock` guards all properties of the index.
    /// The index covers the positions in (base, covered].
    private var base: UInt64 = 0
    private var covered: UInt64 = 0
    /// For each term, 1 + the index of its last entry.
    private var newest: [UInt64: UInt32] = [:]
    /// For each entry, its position minus the base, and 1 + the index of the previous entry of the
    /// same term; 0 if there is no previous entry.
    private var entries: [(offset: UInt32, previous: UInt32)] = []
    private let lock = NSLock()

    /// Discards the index; later lookups read the log again.
    func forget() {
        lock.lock()
        defer { lock.unlock() }
        (base, covered) = (0, 0)
        newest = [:]
        entries = []
    }

    /// Returns the positions of a term in (`lower`, `head`], in ascending order; the tables cover
    /// the positions up to `lower`.
    func positions(
        of term: Term, lower: UInt64, head: UInt64, in log: EventLog,
        _ transaction: borrowing some Readable & ~Copyable, typeTerms: [Term]
    ) throws -> [UInt64] {
        lock.lock()
        defer { lock.unlock() }
        if lower < base {
            // The caller's snapshot is older than the index, which is rare, so the log is read.
            var found: [UInt64] = []
            try log.scan(transaction, after: lower, through: head) { record in
                Term.forEach(of: record, typeTerms: typeTerms) { hash in
                    if hash == term.hash, found.last != record.position {
                        found.append(record.position)
                    }
                }
            }
            return found
        }
        if lower > base + 65_536 || lower >= covered {
            base = lower
            covered = lower
            newest.removeAll(keepingCapacity: true)
            entries.removeAll(keepingCapacity: true)
        }
        if head > covered {
            try log.scan(transaction, after: covered, through: head) { record in
                let offset = UInt32(truncatingIfNeeded: record.position - self.base)
                Term.forEach(of: record, typeTerms: typeTerms) { hash in
                    let previous = self.newest[hash] ?? 0
                    if previous > 0, self.entries[Int(previous) - 1].offset == offset { return }
                    self.entries.append((offset, previous))
                    self.newest[hash] = UInt32(self.entries.count)
                }
                // `covered` is updated after each record, so that a retry after a failed scan does
                // not add records twice.
                self.covered = record.position
            }
        }
        var found: [UInt64] = []
        var entry = newest[term.hash] ?? 0
        while entry > 0 {
            let (offset, previous) = entries[Int(entry) - 1]
            let position = base + UInt64(offset)
            if position <= lower { break }
            if position <= head { found.append(position) }
            entry = previous
        }
        return found.reversed()
    }
}
