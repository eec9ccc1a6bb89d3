internal import TapedeckLMDB
internal import TapedeckModel

/// # Verify
///
/// The steps run in this order, because each relies on the previous steps: the pages of the file,
/// without LMDB; the log's metadata; the index tables; every event up to the same commit; the index
/// compared with the events; receipts and the rows derived from them.
///
/// A read transaction keeps the file from reusing free pages, so each transaction lasts only for a
/// slice. Short transactions do not affect the result: records never change, and a run of the index
/// does not change until a merge replaces it. If a merge replaces a run, the index is read again
/// from the start.
///
/// Memory use is bounded: the index is compared by sums over buckets of terms, and only buckets
/// that differ are compared term by term.
extension EventLog {
    /// The maximum number of events that are looked up by id; in a log with more events, about this
    /// many are sampled.
    static let verifyLookupsMax: UInt64 = 1 << 20

    /// The maximum number of terms of unindexed events that are looked up, in total and per
    /// transaction.
    static let verifyTailTermsMax = 1 << 14
    static let verifyTailTermsPerTransactionMax = 1 << 10

    /// The maximum number of attempts to read the index if merges replace its runs; the last
    /// attempt uses a single transaction.
    static let verifyIndexAttemptsMax = 3

    /// Checks the entire store: every event, hash chain, index entry and receipt, and the file
    /// itself.
    ///
    /// Events recorded during the check are not included. The pages are read at about a gigabyte
    /// per second, in one read transaction, during which the file can grow under load. Everything
    /// else is read in many short transactions.
    ///
    /// Damage is reported in the result. Throws `LogError` only for other errors: `.closed`,
    /// `.accessDenied`, `.inputOutput`, and `.busy` if compaction keeps changing the store.
    @available(*, noasync)
    public func verify(progress: LogProgress.Report? = nil) throws(LogError) -> VerifyReport {
        var verification = Verification(self, progress)
        do throws(LogError) {
            try verification.run()
        } catch {
            guard error.code == .damaged else { throw error }
            verification.report.add(.meta, position: error.position?.rawValue, error.message)
        }
        return verification.report
    }

    /// Opens and checks the store in `directory`; if damage prevents opening it, the report
    /// contains the reason.
    ///
    /// Throws `LogError`: `.noStore`, `.newerFormat`, `.busy`, and any other error except damage.
    @available(*, noasync)
    public static func verify(
        _ directory: String, options: Options = Options(), progress: LogProgress.Report? = nil
    ) throws(LogError) -> VerifyReport {
        let place = StoreDirectory(directory)
        var report = VerifyReport()
        do throws(LogError) {
            _ = try place.readMarker()
            let pages = try LogError.wrapping { try PageCheck.run(place.log) }
            if !pages.isSound {
                report.add(pages)
                return report
            }
            let log = try EventLog(opening: directory, options: options)
            defer { log.close() }
            return try log.verify(progress: progress)
        } catch {
            // A store that was moved away meanwhile is not damaged.
            try place.checkIsInPlace(nil)
            guard error.code == .damaged else { throw error }
            report.add(.meta, position: error.position?.rawValue, error.message)
            return report
        }
    }
}

extension VerifyReport {
    mutating func add(_ pages: PageCheck.Report) {
        for problem in pages.problems { add(.page, position: problem.page, problem.what) }
        problemCount += UInt64(pages.problemCount - pages.problems.count)
    }
}

/// A check of a store, step by step; the steps are in `Verification+….swift`.
struct Verification {
    let log: EventLog
    let progress: LogProgress.Report?
    var report = VerifyReport()
    /// The log's metadata at the commit up to which events are checked.
    var state: LogState
    var head: UInt64 = 0
    /// The position up to which every event is in the index tables.
    var indexed: UInt64 = 0
    var typeTerms: [Term] = []
    var buckets = TermBuckets()
    /// For each term, the number and the sum of its events after the indexed position.
    var tailTerms: [UInt64: TermSum] = [:]
    var terms: [UInt64] = []
    /// The number of rows for closed segments at the commit of `state`.
    var segmentRows: UInt64 = 0
    /// The number of compaction commits up to the commit of `state`.
    private var round: UInt64 = 0
    /// The number of rows for reissued events at the commit of `state`.
    var reissueRows: UInt64 = 0

    /// The number of index entries to read per transaction.
    private(set) var entriesPerTransaction: Int

    init(
        _ log: EventLog, _ progress: LogProgress.Report?, entriesPerTransaction: Int = 1 << 16
    ) {
        self.entriesPerTransaction = entriesPerTransaction
        self.log = log
        self.progress = progress
        state = log.state.withLock { $0 }
    }

    mutating func run() throws(LogError) {
        guard try checkPages() else { return }
        for attempt in 1...EventLog.verifyIndexAttemptsMax {
            let before = self
            let isLast = attempt == EventLog.verifyIndexAttemptsMax
            switch try checkIndexTables(inOneTransaction: isLast) {
            case .damaged: return
            case .read:
                try checkEvents()
                try checkIndex()
                try checkReceipts()
                guard try hasHistoryChanged() else { return }
                self = before
            case .overtaken: self = before
            }
        }
        throw LogError(
            .busy, "the store is being compacted or healed while it is verified",
            hint: "verify the store again")
    }

    /// Returns whether events recorded before the snapshot have been compacted or voided since.
    private func hasHistoryChanged() throws(LogError) -> Bool {
        try log.refreshState()
        return try log.compactionRound() != round
            || log.state.withLock(\.forks.count) != state.forks.count
    }

    /// Checks the pages as of one commit; returns false if further checks are pointless.
    private mutating func checkPages() throws(LogError) -> Bool {
        tell(.pages, 0, 1)
        let path = log.directory.log
        let pages = try log.read { _ in try PageCheck.run(path, isPinned: true) }
        report.pages = pages.usedPages
        report.add(pages)
        guard pages.problemCount == 0 else { return false }
        tell(.pages, 1, 1)
        return true
    }

    private enum Outcome {
        case read
        /// The data is so damaged that further checks are skipped.
        case damaged
        /// A merge replaced parts of the index while they were being read.
        case overtaken
    }

    /// Reads the log's metadata, then the index tables in slices.
    private mutating func checkIndexTables(
        inOneTransaction isWhole: Bool
    ) throws(LogError) -> Outcome {
        var walk = IndexWalk()
        var outcome: Outcome?
        while outcome == nil {
            let (from, place) = (self, walk)
            // The log in memory must know every origin and type of the snapshot, which another
            // process may have just recorded.
            (self, walk, outcome) = try log.readRefreshed { transaction in
                var (current, place) = (from, place)
                if place.isAtStart, try !current.beginSnapshot(transaction, &place) {
                    return (current, place, .damaged)
                }
                let outcome = try current.addIndex(&place, isWhole: isWhole, transaction)
                return (current, place, outcome.map { $0 ? .read : .overtaken })
            }
            tell(.checking, 0, head)
        }
        return outcome ?? .damaged
    }

    /// Reads the log's metadata.
    ///
    /// Returns false if further checks are pointless.
    private mutating func beginSnapshot(
        _ transaction: borrowing ReadTransaction, _ walk: inout IndexWalk
    ) throws -> Bool {
        do {
            head = try log.lastPosition(transaction)
            round = try CompactionRow.round(transaction, log.tables)
            state = try LogState(reading: transaction, log.tables)
            typeTerms = state.types.map { Term(type: $0) }
            let catalogue = try IndexCatalogue(
                decoding: try transaction.meta(log.tables, MetaKey.runs))
            walk.runs = catalogue.runs
            indexed = catalogue.indexed
            report.indexed = indexed
            if indexed > head {
                report.add(
                    .index, "the index covers \(indexed) events, but the log has \(head)")
            }
        } catch let error as LogError where error.code == .damaged {
            report.add(.meta, position: error.position?.rawValue, error.message)
            return false
        }
        try checkRows(transaction)
        segmentRows = try count(MetaKey.allSegments, transaction)
        reissueRows = try count(Reissue.allKeys, transaction)
        return true
    }

    /// Checks every metadata row, regardless of its purpose.
    private mutating func checkRows(_ transaction: borrowing ReadTransaction) throws {
        let cursor = try transaction.cursor(log.tables.meta)
        var entry = try cursor.first()
        while let found = entry {
            if SealedValue.open(found.value, key: found.key) == nil {
                report.add(.meta, LogError.damagedRow(Array(found.key)).message)
            }
            entry = try cursor.next()
        }
        guard let sealed = try transaction.get(log.tables.meta, MetaKey.format) else {
            return report.add(.meta, "row f of the log's meta table is missing")
        }
        // A damaged row has already been reported above.
        guard let bytes = MetaKey.format.withUnsafeBytes({ SealedValue.open(sealed, key: $0) })
        else { return }
        var reader = ByteReader(bytes)
        let formats = StoreDirectory.firstFormat...StoreDirectory.format
        if !formats.contains(Int(reader.littleEndian(UInt32.self) ?? 0)) || !reader.isAtEnd {
            report.add(.meta, "row f of the log's meta table has an unknown storage format")
        }
    }

    private func count(
        _ keys: [UInt8], _ transaction: borrowing ReadTransaction
    ) throws -> UInt64 {
        var count: UInt64 = 0
        let cursor = try transaction.cursor(log.tables.meta)
        var entry = try cursor.seek(keys)
        while let found = entry, found.key.starts(with: keys) {
            count += 1
            entry = try cursor.next()
        }
        return count
    }

    func tell(_ phase: LogProgress.Phase, _ done: UInt64, _ total: UInt64) {
        progress?(LogProgress(phase: phase, done: done, total: total))
    }
}
