internal import Foundation
internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// An index in memory of the events that the index tables do not hold yet.
///
/// It is made by reading the log when somebody first asks for a term, and goes on from there; appends
/// do not touch it, so it is right whichever process wrote the events.
final class TailIndex: @unchecked Sendable {
    // All guarded by `lock`.
    /// Covers positions in (base, covered].
    private var base: UInt64 = 0
    private var covered: UInt64 = 0
    /// Term → the last of its entries, plus one.
    private var newest: [UInt64: UInt32] = [:]
    /// Each entry: its position less the base, and the entry of the same term before it, plus one.
    private var entries: [(offset: UInt32, previous: UInt32)] = []
    private let lock = NSLock()

    /// Lets go of everything; what is asked next is read from the log.
    func forget() {
        lock.lock()
        defer { lock.unlock() }
        (base, covered) = (0, 0)
        newest = [:]
        entries = []
    }

    /// The positions of a term in (`lower`, `head`], ascending; `lower` is what the tables cover.
    func positions(
        of term: Term, lower: UInt64, head: UInt64, in log: EventLog,
        _ transaction: borrowing some Readable & ~Copyable, typeTerms: [Term]
    ) throws -> [UInt64] {
        lock.lock()
        defer { lock.unlock() }
        if lower < base {
            // The caller's snapshot is older than what was let go of: rare, so it reads the log.
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
                // At once, so that a scan that fails half-way is not taken in twice.
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
