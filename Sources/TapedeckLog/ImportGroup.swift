internal import TapedeckLMDB
internal import TapedeckModel

/// Some blocks of an export that are recorded in one transaction.
struct ImportGroup {
    /// How far ahead of this system's clock another's may be for ours to follow it.
    ///
    /// Following keeps what is recorded here next behind what was imported, whichever clock is a little
    /// wrong. A clock that is wrong by more than a day (one that stands in 2040) must not carry ours along,
    /// which never goes back: its events keep their stamps and count as they say.
    static let driftMillisecondsMax: UInt64 = 86_400_000

    let log: EventLog
    let blocks: [ExportBlock]
    /// The last sequences of which the first reading has shown that they are the same here.
    let compared: [OriginID: UInt64]

    /// What recording a group did.
    struct Outcome {
        var state: LogState
        var events: UInt64 = 0
        var recorded: UInt64 = 0
        var receipts: UInt64 = 0
    }

    /// Records what is not recorded yet.
    ///
    /// It may run again in another transaction.
    func record(_ transaction: borrowing WriteTransaction) throws -> Outcome {
        let started = try log.state(in: transaction)
        // Another process may have recorded an origin since this one looked; look-ups have to know it.
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
        // By alias, since closures cannot hold a borrow; it ends with this call.
        let cursor = try transaction.alias.cursor(log.tables.events)
        let receiptCursor = try transaction.alias.cursor(log.tables.receipts)
        for block in blocks {
            let marks = Dictionary(
                block.marks.map { ($0.event.origin, $0) }, uniquingKeysWith: { $1 })
            // The origin whose events are being read: mostly the same for a long stretch.
            var origin: OriginID?
            var ordinal: UInt32 = 0
            var end: UInt64 = 0
            var mark: ChainMark?
            var index = 0
            try block.forEachEvent { bytes in
                guard let id = CanonicalView.id(of: bytes) else {
                    throw block.damaged("it changed")
                }
                if id.origin != origin {
                    origin = id.origin
                    ordinal = try writer.ordinal(of: id.origin, transaction)
                    end = ends[id.origin] ?? 0
                    mark = marks[id.origin]
                }
                outcome.events += 1
                let last = writer.state.origins[Int(ordinal)].lastSequence
                guard CanonicalEntry.firstSequence(of: bytes) ?? 0 <= last + 1 else {
                    throw LogError(.gap, "event \(id) follows on \(last) of its origin")
                }
                let said = block.receipts(of: id, at: index)
                index += 1
                guard id.sequence > last else {
                    // Where it is above what was compared, it was recorded since by somebody else.
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
                    if Int(ordinal) < started.origins.count {
                        try known.checkBeginning(
                            of: stub, ordinal: ordinal, started, transaction)
                    }
                    try log.raiseFormat(transaction)
                    try writer.add(stub, origin: ordinal, transaction, cursor)
                }
                outcome.recorded += 1
                if mark?.event.sequence == id.sequence,
                    mark?.chain != writer.state.knownChain(of: ordinal)
                {
                    throw block.damaged("the hash chain does not fit at event \(id)")
                }
                let standing = Standing(of: event.stamp, said)
                // A stamp that was given says nothing of any clock; what a server received, it received
                // by its clock, which all follow.
                if case .event(let event) = event, !event.isStampGiven,
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

    private func entry(
        _ bytes: UnsafeRawBufferPointer, in block: ExportBlock
    ) throws(LogError) -> CanonicalEntry {
        do throws(CanonicalProblem) {
            return try CanonicalEntry(bytes)
        } catch {
            throw block.damaged("an event is not one: \(error.what)")
        }
    }

    /// The last event of each origin: its record carries the hash chain.
    private func lastSequences() throws -> [OriginID: UInt64] {
        var ends: [OriginID: UInt64] = [:]
        var last: EventID?
        for block in blocks {
            try block.forEachEvent { bytes in
                guard let id = CanonicalView.id(of: bytes) else {
                    throw block.damaged("it changed")
                }
                if let last, last.origin != id.origin { ends[last.origin] = last.sequence }
                last = id
            }
        }
        if let last { ends[last.origin] = last.sequence }
        return ends
    }
}
