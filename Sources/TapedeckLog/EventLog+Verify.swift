internal import TapedeckLMDB
internal import TapedeckModel

/// # Verify
///
/// In this order, since each step trusts what the one before has shown: the pages of the file, without
/// LMDB; what the log keeps of itself; the index tables; every event up to the commit that these were
/// of; the index against the events; receipts and what follows from them.
///
/// A read transaction keeps the file from using free pages again, so none is held for longer than a
/// slice takes. That is invisible: records never change, and a run of the index lives as it is until a
/// merge replaces it, upon which the reading of the index begins again.
///
/// Memory stays bounded: the index is compared by sums over buckets of terms, and only buckets that
/// differ are looked at term by term.
extension EventLog {
    /// Every event is looked up by its identity in a log of up to so many; in a longer one, about so
    /// many events spread over all of it.
    static let verifyLookupsMax: UInt64 = 1 << 20

    /// The most terms of the tail that are asked for, and how many of them in one transaction.
    static let verifyTailTermsMax = 1 << 14
    static let verifyTailTermsPerTransactionMax = 1 << 10

    /// How often the index is read from its beginning when merges replace what is being read; the last
    /// time in one transaction.
    static let verifyIndexAttemptsMax = 3

    /// Checks the whole store: every event, hash chain, index entry and receipt, and the file itself.
    ///
    /// Events recorded meanwhile are left out. One read transaction is held while the pages are read, a
    /// gigabyte in about a second, which the file grows by under load; all else is read in many.
    ///
    /// What is damaged is in the report. Throws `LogError` only for what is no damage: `.closed`,
    /// `.accessDenied`, `.inputOutput`.
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

    /// Opens and checks the store in `directory`, or says what is wrong where it cannot be opened.
    ///
    /// Throws `LogError`: `.noStore`, `.newerFormat`, `.busy` and what is no damage.
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

/// One check of a store, step by step; the steps stand in `Verification+….swift`.
struct Verification {
    let log: EventLog
    let progress: LogProgress.Report?
    var report = VerifyReport()
    /// What the log kept of itself at the commit up to which is checked.
    var state: LogState
    var head: UInt64 = 0
    /// Every event up to here is in the index tables.
    var indexed: UInt64 = 0
    var typeTerms: [Term] = []
    var buckets = TermBuckets()
    /// What the terms of events behind the index tables have.
    var tailTerms: [UInt64: TermSum] = [:]
    var terms: [UInt64] = []
    /// The rows of closed segments at that commit.
    var segmentRows: UInt64 = 0
    /// How often the log had been compacted at that commit.
    private var round: UInt64 = 0
    /// The rows of events that were written anew at that commit.
    var reissueRows: UInt64 = 0

    /// Entries of the index that are read in one transaction.
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
                guard try log.compactionRound() != round else { return }
                self = before
            case .overtaken: self = before
            }
        }
        throw LogError(
            .busy, "the store is being compacted while it is verified",
            hint: "verify it again when that is done")
    }

    /// Looks at the pages, as of one commit; false where there is no use in going on.
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
        /// There is no use in going on.
        case damaged
        /// A merge has replaced runs while they were read.
        case overtaken
    }

    /// Takes in what the log keeps of itself, then the index tables, slice by slice.
    private mutating func checkIndexTables(
        inOneTransaction isWhole: Bool
    ) throws(LogError) -> Outcome {
        var walk = IndexWalk()
        var outcome: Outcome?
        while outcome == nil {
            let (from, place) = (self, walk)
            (self, walk, outcome) = try log.read { transaction in
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

    /// Looks at what the log keeps of itself.
    ///
    /// False where there is no use in going on.
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
                    .index, "the index covers \(indexed) events, the log has \(head)")
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

    /// Looks at every row of what the log keeps of itself, whoever reads it.
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
        // One that is damaged is named above.
        guard let bytes = MetaKey.format.withUnsafeBytes({ SealedValue.open(sealed, key: $0) })
        else { return }
        var reader = ByteReader(bytes)
        let formats = StoreDirectory.firstFormat...StoreDirectory.format
        if !formats.contains(Int(reader.littleEndian(UInt32.self) ?? 0)) || !reader.isAtEnd {
            report.add(.meta, "row f of the log's meta table names another storage format")
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
