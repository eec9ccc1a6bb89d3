internal import Foundation
internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// # The lazy index
///
/// Appends write only records. Indexing happens later: it reads the records that are not in any run
/// yet, sorts their terms, and writes them as a new run, in slices that hold the writer's lock for
/// a few milliseconds each. A crash leaves at most one run that is not in the catalogue, and the
/// next round removes it.
extension EventLog {
    /// The maximum duration of a slice of background work before it commits.
    static let sliceDuration = Duration.milliseconds(4)

    /// The maximum number of events in a new run, which limits the memory used.
    static let eventsPerRunMax: UInt64 = 1 << 18

    /// The maximum number of events in a run when a large log is indexed in the foreground; with
    /// larger runs, there are fewer of them, and they need no merging.
    static let eventsPerLargeRunMax: UInt64 = 1 << 21

    /// Returns the number of events in the log that the index does not cover yet.
    public func unindexedCount() throws(LogError) -> UInt64 {
        try read { transaction in
            let catalogue = try IndexCatalogue(
                decoding: try transaction.meta(self.tables, MetaKey.runs))
            let head = try self.lastPosition(transaction)
            guard catalogue.indexed <= head else { throw IndexCatalogue.damaged }
            return head - catalogue.indexed
        }
    }

    /// Updates the index up to the last event, and returns when it is done.
    ///
    /// The update runs concurrently with appends. Indexing also happens in the background. Call
    /// this method after very large appends if the next program to open the log should find
    /// everything indexed.
    @available(*, noasync)
    public func indexAll() throws(LogError) {
        try mergeIndex(eventsPerRun: EventLog.eventsPerLargeRunMax)
    }

    func indexIfNeeded() {
        let head = state.withLock(\.head)
        guard !options.isReadOnly, head - min(head, queue.indexedHint) > options.unindexedEventsMax,
            queue.beginIndexing()
        else { return }
        maintenance.async {
            defer { self.queue.endIndexing() }
            // Ignore a failure, which only costs time: the tail stays unindexed, and the next
            // append tries again. If the disk is full, appends report it.
            try? self.mergeIndex(keeping: self.options.unindexedEventsMax / 2, waits: false)
        }
    }

    /// Updates the index up to the head, in runs of up to `eventsPerRun`, if it lags by more than
    /// `keeping` events.
    ///
    /// The update runs concurrently with appends.
    ///
    /// - Parameter waits: Whether to wait while another thread or process is indexing; if false,
    ///   the call returns immediately in this case.
    package func mergeIndex(
        keeping: UInt64 = 0, eventsPerRun: UInt64 = EventLog.eventsPerRunMax, waits: Bool = true
    ) throws(LogError) {
        guard let lock = try directory.lockIndex(waits: waits) else { return }
        defer { lock.release() }
        try mergeIndexLocked(keeping: keeping, eventsPerRun: eventsPerRun)
    }

    /// Drops the index, rebuilds it from the records, and returns when it is done.
    ///
    /// Use this method to repair a damaged index; it does not touch recorded events. The rebuild
    /// runs concurrently with appends, and lookups read the log in the meantime. If the rebuild is
    /// interrupted, the index covers only part of the log.
    ///
    /// Throws `LogError`: `.readOnly`, `.diskFull`, `.closed`, and `.damaged` with the position of
    /// the first damaged event.
    @available(*, noasync)
    public func rebuildIndex() throws(LogError) {
        guard let lock = try directory.lockIndex(waits: true) else { return }
        defer { lock.release() }
        try write { transaction in
            // If the row is unreadable, numbering restarts, because every entry is removed before a
            // run is written.
            var catalogue = IndexCatalogue()
            if let row = try? transaction.meta(self.tables, MetaKey.runs),
                let former = try? IndexCatalogue(decoding: row)
            {
                catalogue.nextNumber = former.nextNumber
            }
            try transaction.setMeta(self.tables, MetaKey.runs, catalogue.encoded())
        }
        try removeUnnamedRuns()
        try mergeIndexLocked(keeping: 0, eventsPerRun: EventLog.eventsPerLargeRunMax)
    }

    /// Brings the index up to date; the caller holds the index lock.
    func mergeIndexLocked(keeping: UInt64, eventsPerRun: UInt64) throws(LogError) {
        while true {
            let (catalogue, head) = try read { transaction in
                (
                    try IndexCatalogue(
                        decoding: try transaction.meta(self.tables, MetaKey.runs)),
                    try self.lastPosition(transaction)
                )
            }
            queue.indexedHint = catalogue.indexed
            if let due = catalogue.dueForMerge {
                try merge(catalogue, due)
                continue
            }
            guard head > catalogue.indexed + keeping else { return }
            let upper = min(head, catalogue.indexed + eventsPerRun)
            try addRun(lower: catalogue.indexed, upper: upper)
        }
    }

    // MARK: - A new run

    private func addRun(lower: UInt64, upper: UInt64) throws(LogError) {
        try refreshState()
        let typeTerms = state.withLock { $0.types.map { Term(type: $0) } }
        var pairs: [TermPosition] = []
        pairs.reserveCapacity(Int(upper - lower) * 3)
        try scan(after: lower, through: upper) { record in
            Term.forEach(of: record, typeTerms: typeTerms) {
                pairs.append(TermPosition(term: $0, position: record.position))
            }
        }
        pairs.sort { ($0.term, $0.position) < ($1.term, $1.position) }

        let number = try beginRun()
        var writer = RunWriter(number)
        try writeSlices(from: 0) { transaction, deadline, next throws in
            let cursor = try transaction.cursor(self.tables.index)
            var written = 0
            while next < pairs.count {
                let term = pairs[next].term
                var end = next + 1
                while end < pairs.count, pairs[end].term == term { end += 1 }
                try writer.write(term, pairs[next..<end], cursor)
                next = end
                written += 1
                if written % 128 == 0, deadline.hasPassed { return next < pairs.count }
            }
            return false
        }
        try switchCatalogue { catalogue in
            guard catalogue.indexed == lower else { return false }
            catalogue.runs.append(.init(number: number, level: 0, lower: lower, upper: upper))
            return true
        }
    }

    // MARK: - Merging runs

    private func merge(_ catalogue: IndexCatalogue, _ range: Range<Int>) throws(LogError) {
        let sources = Array(catalogue.runs[range])
        guard let first = sources.first, let last = sources.last else { return }
        let number = try beginRun()
        var writer = RunWriter(number)
        var group: [TermPosition] = []
        try writeSlices(from: sources.map { RunReader($0.number) }) {
            transaction, deadline, readers throws in
            let cursor = try transaction.cursor(self.tables.index)
            var written = 0
            while true {
                var least: UInt64?
                for index in readers.indices {
                    guard let head = try readers[index].head(self.tables.index, transaction) else {
                        continue
                    }
                    least = min(least ?? .max, head.term)
                }
                guard let least else { return false }
                // Consecutive runs cover consecutive ranges of the log, so positions stay in order.
                group.removeAll(keepingCapacity: true)
                for index in readers.indices {
                    while let head = try readers[index].head(self.tables.index, transaction),
                        head.term == least
                    {
                        group.append(head)
                        readers[index].advance()
                    }
                }
                try writer.write(least, group, cursor)
                written += 1
                if written % 64 == 0, deadline.hasPassed { return true }
            }
        }
        let replaced = try switchCatalogue { catalogue in
            guard let start = catalogue.runs.firstIndex(of: first),
                catalogue.runs[start...].starts(with: sources)
            else { return false }
            catalogue.runs.replaceSubrange(
                start..<start + sources.count,
                with: [
                    .init(
                        number: number, level: first.level + 1, lower: first.lower,
                        upper: last.upper)
                ])
            return true
        }
        if replaced { try removeUnnamedRuns() }
    }

    // MARK: - Housekeeping

    private func beginRun() throws(LogError) -> UInt32 {
        try removeUnnamedRuns()
        return try write { transaction in
            var catalogue = try IndexCatalogue(
                decoding: try transaction.meta(self.tables, MetaKey.runs))
            let number = catalogue.nextNumber
            catalogue.nextNumber += 1
            try transaction.setMeta(self.tables, MetaKey.runs, catalogue.encoded())
            return number
        }
    }

    /// Changes the catalogue if `change` still applies to its current value; returns whether it
    /// did.
    @discardableResult
    private func switchCatalogue(
        _ change: (inout IndexCatalogue) -> Bool
    ) throws(LogError) -> Bool {
        try write { transaction in
            var catalogue = try IndexCatalogue(
                decoding: try transaction.meta(self.tables, MetaKey.runs))
            guard change(&catalogue) else { return false }
            try transaction.setMeta(self.tables, MetaKey.runs, catalogue.encoded())
            return true
        }
    }

    /// Removes the entries of runs that are not in the catalogue, left by a finished merge or a
    /// crash.
    private func removeUnnamedRuns() throws(LogError) {
        try writeSlices(from: ()) { transaction, deadline, _ throws in
            let catalogue = try IndexCatalogue(
                decoding: try transaction.meta(self.tables, MetaKey.runs))
            let named = Set(catalogue.runs.map(\.number))
            let cursor = try transaction.cursor(self.tables.index)
            var removed = 0
            var entry = try cursor.first()
            while let found = entry {
                let read = IndexEntry.read(found.key)
                // An unreadable entry may belong to a run in the catalogue, so it is an error
                // unless the catalogue is empty, as during a rebuild.
                if read == nil, !named.isEmpty { throw IndexEntry.damaged }
                if let read, named.contains(read.run) {
                    guard read.run < .max else { break }
                    entry = try cursor.seek(IndexEntry.key(run: read.run + 1, term: 0))
                    continue
                }
                try cursor.delete()
                removed += 1
                if removed % 128 == 0, deadline.hasPassed { return true }
                // After a delete, LMDB's cursor is already on the following entry, and `next`
                // returns that one.
                entry = try cursor.next()
            }
            return false
        }
    }

    /// Runs `slice` in consecutive write transactions until it returns false.
    ///
    /// - Parameter start: The start of the first slice; each slice sets the start of the next one.
    ///   If the map has to grow, the slice is rolled back and runs again from its own start.
    private func writeSlices<Place>(
        from start: Place,
        _ slice: (borrowing WriteTransaction, SliceDeadline, inout Place) throws -> Bool
    ) throws(LogError) {
        var place = start
        var more = true
        while more {
            let from = place
            (more, place) = try write { transaction in
                var reached = from
                let more = try slice(
                    transaction, SliceDeadline(after: EventLog.sliceDuration), &reached)
                return (more, reached)
            }
            // Lets other writers take the lock before the next slice.
            if more { sched_yield() }
        }
    }
}

/// The time at which a slice has to end.
struct SliceDeadline {
    private let end: ContinuousClock.Instant

    init(after duration: Duration) { end = ContinuousClock.now + duration }

    var hasPassed: Bool { ContinuousClock.now >= end }
}
