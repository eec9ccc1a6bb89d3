internal import TapedeckLMDB
internal import TapedeckModel

/// What an import did.
public struct ImportSummary: Codable, Hashable, Sendable {
    /// Events in the file.
    public var events: UInt64
    /// Of these, those that were not recorded before.
    public var recorded: UInt64
    /// Of these, those that were.
    public var known: UInt64
    /// Receipts that were not recorded before.
    public var receipts: UInt64
}

/// # Import
///
/// The file is read twice: first all of it is checked, against itself and against what is recorded;
/// only then is it recorded, in groups of one transaction each. An import that is cut off leaves a
/// beginning of the file, whole in itself; doing it again goes on from there.
///
/// Events keep their identity, stamp, hash chain and receipts and get new positions. Their origin
/// stays foreign: the own origin goes on where it was. The own clock takes in effective stamps.
extension EventLog {
    /// Events and bytes after which a group is committed.
    static let eventsPerImportGroupMax = 16_384
    static let bytesPerImportGroupMax = 16 << 20

    /// The index is brought up to date with an import of at least so many events; fewer are left to
    /// the next round in the background.
    static let importIndexMin: UInt64 = 16_384

    /// The most events in a run of the index that an import makes: bounds the memory of making it.
    static let eventsPerImportRunMax: UInt64 = 4 << 20

    /// Records the events and receipts of an export that are not recorded yet; durable when it returns.
    ///
    /// Throws `LogError`: `.damaged` (with the byte of the file; nothing was recorded), `.newerFormat`,
    /// `.fork` (an event is recorded here with other content; nothing was recorded), `.gap`,
    /// `.notFound` (no such file), `.diskFull` and `.closed` (what was recorded before stays; import
    /// again).
    @available(*, noasync)
    @discardableResult
    public func importEvents(
        from path: String, progress: LogProgress.Report? = nil
    ) throws(LogError) -> ImportSummary {
        var check = ImportCheck(self, path)
        try check.run(progress)
        var summary = ImportSummary(
            events: check.events, recorded: 0, known: check.events, receipts: 0)
        guard check.fresh > 0 || check.receipts > 0 else { return summary }

        var reader = try ExportReader(path, isHashed: false)
        var done: UInt64 = 0
        while let group = try nextGroup(&reader, check.recorded) {
            let outcome = try write { transaction in
                let outcome = try group.record(transaction)
                if outcome.receipts > 0 { try ReceiptRounds.advance(transaction, self.tables) }
                return outcome
            }
            adopt(outcome.state)
            done += outcome.events
            summary.recorded += outcome.recorded
            summary.known -= min(outcome.recorded, summary.known)
            summary.receipts += outcome.receipts
            progress?(LogProgress(phase: .writing, done: done, total: check.events))
        }
        if summary.recorded > 0 || summary.receipts > 0 { notifyObservers() }
        if summary.recorded >= EventLog.importIndexMin {
            progress?(LogProgress(phase: .indexing, done: done, total: check.events))
            // Everything is recorded; an index that lags costs time only and is caught up later.
            try? mergeIndex(eventsPerRun: EventLog.eventsPerImportRunMax)
        }
        return summary
    }

    private func nextGroup(
        _ reader: inout ExportReader, _ compared: [OriginID: UInt64]
    ) throws(LogError) -> ImportGroup? {
        var blocks: [ExportBlock] = []
        var events = 0
        var bytes = 0
        var start = reader.offset
        while events < EventLog.eventsPerImportGroupMax, bytes < EventLog.bytesPerImportGroupMax,
            let body = try reader.next(), body[0] == ExportFormat.blockKind
        {
            let block = try ExportBlock(body, at: start, reader.path)
            blocks.append(block)
            events += block.eventCount
            bytes += body.count
            start = reader.offset
        }
        return blocks.isEmpty ? nil : ImportGroup(log: self, blocks: blocks, compared: compared)
    }

    /// What is in memory if it is as of the transaction, else what the tables say.
    func state(in transaction: borrowing WriteTransaction) throws -> LogState {
        let held = state.withLock { $0 }
        // The next transaction but one may follow on another process's, which adds an origin, or a type that
        // it needed to compact, and no event.
        if try lastPosition(transaction) == held.head,
            try held.transaction + 1 == transaction.number
                || transaction.meta(tables, MetaKey.origin(UInt32(held.origins.count))) == nil
                    && transaction.meta(tables, MetaKey.type(UInt16(held.types.count))) == nil
        {
            return held
        }
        return try LogState(reading: transaction, tables)
    }
}
