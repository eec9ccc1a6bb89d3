internal import TapedeckLMDB
internal import TapedeckModel

/// Blocks of an export that are recorded in one transaction.
struct ImportGroup {
    /// The maximum time by which an imported stamp may be ahead of the system's clock and still
    /// advance the store's clock.
    ///
    /// Advancing the clock ensures that new events sort after the imported ones even if the clocks
    /// differ slightly. The store's clock never goes back, so a stamp that is wrong by more than a
    /// day (for example, from a clock set to 2040) must not advance it. The imported event itself
    /// keeps its stamp.
    static let driftMillisecondsMax: UInt64 = 86_400_000

    let log: EventLog
    let blocks: [ExportBlock]
    /// For each origin, the sequence number up to which the first pass found the same events in
    /// this log.
    let compared: [OriginID: UInt64]
    /// Whether the blocks come from a server, which has given a receipt for each event that this
    /// store has sent.
    var isFromServer = false

    /// The result of recording a group.
    struct Outcome {
        var state: LogState
        var events: UInt64 = 0
        var recorded: UInt64 = 0
        var receipts: UInt64 = 0
    }

    /// Records the events and receipts that are not recorded yet.
    ///
    /// The method may be called again in another transaction.
    func record(_ transaction: borrowing WriteTransaction) throws -> Outcome {
        let started = try log.state(in: transaction)
        // Lookups must include any origin that another process has recorded since the first pass.
        log.adopt(started)
        var outcome = Outcome(state: started)
        var writer = RecordWriter(log.tables, started)
        var receipts = ReceiptWriter(log.tables)
        var known = KnownEvents(log)
        var reissued: Set<EventID> = []
        var clock = HybridClock(last: started.ownRow.clock)
        let clockEnd = Stamp(
            milliseconds: min(
                log.options.now() &+ ImportGroup.driftMillisecondsMax, Stamp.millisecondsMax))
        let ends = try lastSequences()
        // Closures cannot hold a borrow, so the cursors use an alias of the transaction. The
        // cursors are dropped at the end of this call.
        let cursor = try transaction.alias.cursor(log.tables.events)
        let receiptCursor = try transaction.alias.cursor(log.tables.receipts)
        for block in blocks {
            let marks = Dictionary(
                block.marks.map { ($0.event.origin, $0) }, uniquingKeysWith: { $1 })
            // The origin of the current event, which is usually the same for many events in a row.
            var origin: OriginID?
            var ordinal: UInt32 = 0
            // The origin's last sequence number before this transaction.
            var former: UInt64 = 0
            var end: UInt64 = 0
            var mark: ChainMark?
            var index = 0
            try block.forEachEvent { bytes in
                guard let id = CanonicalView.id(of: bytes) else {
                    throw block.damaged("an event was changed during the import")
                }
                if id.origin != origin {
                    origin = id.origin
                    ordinal = try writer.ordinal(of: id.origin, transaction)
                    former =
                        Int(ordinal) < started.origins.count
                        ? started.origins[Int(ordinal)].lastSequence : 0
                    end = ends[id.origin] ?? 0
                    mark = marks[id.origin]
                }
                outcome.events += 1
                let last = writer.state.origins[Int(ordinal)].lastSequence
                guard CanonicalEntry.firstSequence(of: bytes) ?? 0 <= last + 1 else {
                    throw LogError(
                        .gap,
                        "events of an origin are missing: event \(last) is followed by event \(id)")
                }
                let said = block.receipts(of: id, at: index)
                index += 1
                guard id.sequence > last else {
                    guard id.sequence <= former else {
                        throw block.damaged("event \(id) occurs twice")
                    }
                    // Another process has meanwhile recorded events that the first pass did not
                    // compare.
                    guard !said.isEmpty || id.sequence > compared[id.origin] ?? 0 else { return }
                    let entry = try entry(bytes, in: block)
                    try known.check(entry, ordinal: ordinal, started, transaction)
                    guard !said.isEmpty,
                        let position = try log.placeOfReceipts(of: id, started, transaction)
                    else { return }
                    if case .event(let event) = entry, let source = event.source {
                        reissued.insert(source)
                    }
                    for receipt in said
                    where try receipts.add(
                        receipt, ordinal: ordinal, position: position, stamp: entry.stamp,
                        transaction)
                    {
                        outcome.receipts += 1
                    }
                    return
                }
                let event = try entry(bytes, in: block)
                switch event {
                case .event(let event):
                    try writer.add(
                        event, origin: ordinal, endsCommit: id.sequence == end, transaction, cursor)
                case .stub(let stub):
                    if former > 0 {
                        try known.checkBeginning(
                            of: stub, ordinal: ordinal, started, transaction)
                        if isFromServer {
                            try known.checkUnsent(
                                in: stub, ordinal: ordinal, started, transaction)
                        }
                    }
                    try log.raiseFormat(transaction)
                    try writer.add(stub, origin: ordinal, transaction, cursor)
                }
                outcome.recorded += 1
                if mark?.event.sequence == id.sequence,
                    mark?.chain != writer.state.knownChain(of: ordinal)
                {
                    throw block.damaged("the hash chain does not match at event \(id)")
                }
                let standing = Standing(of: event.stamp, said)
                // A stamp that the caller specified does not come from a clock, so it does not
                // advance the clock. Any other event with a receipt does, because its effective
                // stamp is never later than the server's clock, which all devices follow.
                if event.isStampFromClock,
                    standing.effectiveStamp <= clockEnd || !said.isEmpty
                {
                    clock.merge(standing.effectiveStamp)
                }
                outcome.receipts += try receipts.addFirst(
                    said, ordinal: ordinal, position: writer.state.head, stamp: event.stamp,
                    transaction, receiptCursor)
            }
        }
        if outcome.recorded > 0 { writer.setClock(clock.last) }
        try receipts.finish(transaction)
        outcome.state = try log.finish(writer, settling: reissued, transaction)
        return outcome
    }

    // Entries are large, and a call would copy each of them.
    @inline(__always)
    private func entry(
        _ bytes: UnsafeRawBufferPointer, in block: ExportBlock
    ) throws(LogError) -> CanonicalEntry {
        do throws(CanonicalProblem) {
            return try CanonicalEntry(bytes)
        } catch {
            throw block.damaged("an event is invalid: \(error.what)")
        }
    }

    /// Returns the greatest sequence number of each origin in the group; the record of that event
    /// contains the hash chain.
    ///
    /// The events of a page from a server can be in any order, because a server may repeat events
    /// that are already recorded.
    private func lastSequences() throws -> [OriginID: UInt64] {
        var ends: [OriginID: UInt64] = [:]
        // The origin of the current event, and its greatest sequence number so far.
        var origin: OriginID?
        var end: UInt64 = 0
        for block in blocks {
            try block.forEachEvent { bytes in
                guard let id = CanonicalView.id(of: bytes) else {
                    throw block.damaged("an event was changed during the import")
                }
                if id.origin != origin {
                    if let origin { ends[origin] = end }
                    origin = id.origin
                    end = ends[id.origin] ?? 0
                }
                end = max(end, id.sequence)
            }
        }
        if let origin { ends[origin] = end }
        return ends
    }
}
