internal import TapedeckLMDB
internal import TapedeckModel

/// The result of an import.
public struct ImportSummary: Codable, Hashable, Sendable {
    /// The number of events in the file.
    public var events: UInt64
    /// The number of events in the file that the store did not have.
    public var recorded: UInt64
    /// The number of events in the file that the store already had.
    public var known: UInt64
    /// The number of receipts in the file that the store did not have.
    public var receipts: UInt64
}

/// # Import
///
/// The file is read twice. The first pass checks the entire file, both for consistency and against
/// the recorded events. The second pass records the events in groups, one transaction per group. If
/// an import is interrupted, a consistent first part of the file stays recorded; repeating the
/// import continues from there.
///
/// Events keep their ids, stamps, hash chains and receipts, and get new positions. Imported events
/// stay under their own origins, and this store's origin continues unchanged. This store's clock
/// advances to the effective stamps of the events, unless they are too far in the future.
extension EventLog {
    /// The numbers of events and bytes after which a group is committed.
    static let eventsPerImportGroupMax = 16_384
    static let bytesPerImportGroupMax = 16 << 20

    /// An import that records at least this many events updates the index itself; a smaller import
    /// leaves this to the next background run.
    static let importIndexMin: UInt64 = 16_384

    /// The maximum number of events per index run created by an import, which limits the memory
    /// used.
    static let eventsPerImportRunMax: UInt64 = 4 << 20

    /// Records the events and receipts of an export that are not recorded yet; they are on disk
    /// when this method returns.
    ///
    /// Throws `LogError`: `.damaged` (with the offset in the file; nothing was recorded),
    /// `.newerFormat`, `.fork` (an event is recorded here with different content; nothing was
    /// recorded), `.usage` (the file is a backup, or it contains sample events and this store does
    /// not; nothing was recorded), `.gap`, `.notFound` (no such file), `.diskFull` and `.closed`
    /// (the groups recorded so far stay; import again).
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
            // All events are recorded; a lagging index only costs time and is updated later.
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

    /// Returns the state in memory if it is current in the transaction; otherwise reads it from the
    /// tables.
    func state(in transaction: borrowing WriteTransaction) throws -> LogState {
        let held = state.withLock { $0 }
        let head = try lastPosition(transaction)
        if try head == held.head && held.transaction + 1 == transaction.number
            || held.isCurrent(transaction, tables, head: head)
        {
            return held
        }
        return try LogState(reading: transaction, tables)
    }
}
