internal import TapedeckLMDB
@_spi(Core) public import TapedeckModel

/// # Compaction
///
/// Some events become redundant once later ones are recorded, such as a player's position reports.
/// If the domain's rule allows it, runs of these events are replaced by **range stubs**, which keep
/// the ids of the events and the state of the hash chain before and after them.
///
/// Each origin's events are examined once, in blocks of 1,024 sequence numbers. A block is examined
/// when it is complete and all of its events are settled (delivered, and acknowledged by all
/// subscriptions). The rule depends only on the block, so every device removes the same events. A
/// run is replaced if its events have consecutive positions. The stub takes the last of these
/// positions and covers the other ones, so positions, sequence numbers and segments do not change.
///
/// Each block takes one commit of a few milliseconds. Look-ups never find a removed event, because
/// its index entries and receipts are removed in the same commit. Code that keeps positions between
/// transactions must prevent compaction in the meantime.
extension EventLog {
    /// Removes superseded events block by block, concurrently with appends.
    ///
    /// - Parameters:
    ///   - rule: The criteria for removing events.
    ///   - through: The last position that may be compacted.
    ///   - blocksMax: The maximum number of blocks to examine; a later call continues.
    ///   - blockCount: The number of sequence numbers per block, which must never change for a
    ///     store.
    /// - Returns: The result, and whether all blocks have been examined.
    ///
    /// The cost is a read of each event not yet examined, and a commit for each block with
    /// superseded events. Throws `LogError`: `.readOnly`, `.diskFull`, `.closed`, `.damaged`.
    @available(*, noasync)
    package func compact(
        _ rule: CompactionRule, through: LogPosition, blocksMax: Int = .max,
        blockCount: UInt64 = CompactionRule.blockCount,
        progress: LogProgress.Report? = nil
    ) throws(LogError) -> (report: CompactionReport, isDone: Bool) {
        guard !options.isReadOnly else {
            throw LogError(
                .readOnly, "a store opened read-only cannot be compacted",
                hint: "open it for writing")
        }
        settleBuffered()
        guard let lock = try directory.lockIndex(waits: true) else {
            return (CompactionReport(), false)
        }
        defer { lock.release() }
        // Index all events first: terms that are not in the index tables exist only in the memory
        // of this and other processes, where compaction cannot remove them.
        try mergeIndexLocked(keeping: 0, eventsPerRun: EventLog.eventsPerLargeRunMax)
        try refreshState()
        let state = state.withLock { $0 }
        let delivered = try subscriptionsReach()
        var report = CompactionReport()
        var blocksLeft = blocksMax
        var isDone = true
        for (ordinal, row) in state.origins.enumerated() {
            let ordinal = UInt32(ordinal)
            // Origins with forked or reissued events are not compacted.
            guard state.hasOneHistory(of: ordinal) else { continue }
            var walk = BlockWalk(
                ordinal: ordinal, origin: row.id, blockCount: blockCount,
                // These events must stay, because readers at these positions compare the checksums.
                kept: [through.rawValue, delivered],
                examined: try read { try CompactionRow.examined(of: ordinal, $0, self.tables) })
            let from = walk.examined
            guard from <= row.lastSequence else { throw CompactionRow.damaged(ordinal) }
            var reason: CompactionReport.Reason?
            while walk.examined + blockCount <= row.lastSequence, reason == nil {
                guard blocksLeft > 0 else {
                    isDone = false
                    break
                }
                let block = try readBlock(&walk, rule, state)
                reason =
                    block.lastPosition > through.rawValue
                    ? .projections
                    : block.lastPosition > delivered ? .subscription : block.reason
                guard reason == nil else { break }
                blocksLeft -= 1
                walk.examined += blockCount
                report.examined += blockCount
                if !block.runs.isEmpty { try replace(block, walk, state, &report) }
                progress?(
                    LogProgress(
                        phase: .compacting, done: walk.examined, total: row.lastSequence))
            }
            if walk.examined > from {
                let reached = walk.examined
                try write { transaction in
                    try CompactionRow.setExamined(of: ordinal, reached, transaction, self.tables)
                }
            }
            if let reason {
                report.waiting.append(
                    .init(
                        origin: row.id.description, sequence: walk.examined + 1, reason: reason))
            }
        }
        return (report, isDone)
    }

    /// Returns the sequence number up to which an origin's events may have been compacted in this
    /// store.
    @available(*, noasync)
    package func compactedThrough(_ origin: OriginID) throws(LogError) -> UInt64 {
        try refreshState()
        guard let ordinal = state.withLock({ $0.ordinals[origin] }) else { return 0 }
        return try read { try CompactionRow.examined(of: ordinal, $0, self.tables) }
    }

    /// Returns the sequence numbers of the events that were compacted together with this event; nil
    /// if the event was not compacted.
    @available(*, noasync)
    public func compacted(_ event: EventID) throws(LogError) -> ClosedRange<UInt64>? {
        try readRefreshed { transaction in
            guard let position = try self.position(of: event, transaction) else { return nil }
            let record = try self.record(at: position, transaction)
            return record.isStub ? record.firstSequence...record.sequence : nil
        }
    }

    /// Returns the origin and sequence numbers of the events in the range stub that covers a
    /// position; nil if the position was not compacted.
    @available(*, noasync)
    public func compacted(
        at position: LogPosition
    ) throws(LogError) -> (origin: OriginID, sequences: ClosedRange<UInt64>)? {
        try readRefreshed { transaction in
            let origins = self.names.origins
            guard let record = try self.record(standingFor: position.rawValue, transaction),
                record.isStub, Int(record.origin) < origins.count
            else { return nil }
            return (origins[Int(record.origin)], record.firstSequence...record.sequence)
        }
    }

    /// Returns the position up to which every subscription has acknowledged all events.
    private func subscriptionsReach() throws(LogError) -> UInt64 {
        var reach = UInt64.max
        for subscription in try subscriptionStatuses() {
            reach = min(reach, subscription.acknowledged?.rawValue ?? 0)
        }
        return reach
    }

    // MARK: - Reading a block

    /// The progress through an origin's blocks.
    private struct BlockWalk {
        let ordinal: UInt32
        let origin: OriginID
        let blockCount: UInt64
        /// The positions of events that must stay.
        let kept: [UInt64]
        /// The last sequence number of the last examined block.
        var examined: UInt64
        /// The position of the last examined event.
        var position: UInt64 = 0
        /// The origin's hash chain up to the last examined event; nil if the chain was not
        /// computed.
        var chain: HashChain?
    }

    /// A run of events to replace.
    private struct Run {
        var stub: RangeStub
        var lastPosition: UInt64
        var firstPosition: UInt64 { lastPosition - (stub.count - 1) }
    }

    private struct Block {
        var lastPosition: UInt64 = 0
        var runs: [Run] = []
        var reason: CompactionReport.Reason?
    }

    /// Reads the next block of an origin, and applies the rule to it.
    private func readBlock(
        _ walk: inout BlockWalk, _ rule: CompactionRule, _ state: LogState
    ) throws(LogError) -> Block {
        let from = walk
        let (block, after) = try read { transaction in
            var walk = from
            let block = try self.readBlock(&walk, rule, state, transaction)
            return (block, walk)
        }
        walk = after
        return block
    }

    private func readBlock(
        _ walk: inout BlockWalk, _ rule: CompactionRule, _ state: LogState,
        _ transaction: borrowing ReadTransaction
    ) throws -> Block {
        let last = walk.examined + walk.blockCount
        let wanted = state.types.map { rule.types.contains($0) }
        var block = Block()
        var places: [(sequence: UInt64, position: UInt64)] = []
        var candidates: [CompactionRule.Candidate] = []
        var next = walk.examined + 1
        while next <= last {
            let id = EventID(origin: walk.origin, sequence: next)
            let record = try record(
                of: id, ordinal: walk.ordinal, near: walk.position + 1, state, transaction)
            walk.position = record.position
            next = record.sequence + 1
            guard !record.isStub, Int(record.type) < wanted.count, wanted[Int(record.type)] else {
                continue
            }
            let isFixed =
                try record.flags.contains(.reissued) || record.encoding != .plain
                || override(at: record.position, transaction) != nil
                || record.sequence == state.origins[Int(walk.ordinal)].lastSequence
                || walk.kept.contains(record.position)
            candidates.append(.init(event: try envelope(record), isFixed: isFixed))
            places.append((record.sequence, record.position))
        }
        block.lastPosition = walk.position
        let end = EventID(origin: walk.origin, sequence: next - 1)
        let receipts = try ReceiptReader.receipts(
            of: end, ordinal: walk.ordinal, transaction, tables)
        guard rule.isSettled(end, receipts) else {
            block.reason = .notDelivered
            return block
        }
        let now = options.now()
        guard candidates.allSatisfy({ $0.event.stamp.milliseconds <= now }) else {
            block.reason = .clock
            return block
        }
        let superseded = rule.superseded(candidates)
        precondition(
            superseded.count == candidates.count, "superseded must return one value per candidate")
        var ranges: [ClosedRange<Int>] = []
        for index in candidates.indices where superseded[index] && !candidates[index].isFixed {
            if let open = ranges.last, open.upperBound == index - 1,
                places[index - 1].sequence + 1 == places[index].sequence,
                places[index - 1].position + 1 == places[index].position
            {
                ranges[ranges.count - 1] = open.lowerBound...index
            } else {
                ranges.append(index...index)
            }
        }
        guard !ranges.isEmpty else {
            walk.chain = nil
            return block
        }
        let ends = ranges.flatMap {
            [places[$0.lowerBound].sequence - 1, places[$0.upperBound].sequence]
        }
        let chains = try chains(&walk, through: last, of: Set(ends), state, transaction)
        guard !chains.isEmpty else { return block }
        block.runs = try ranges.map { range in
            let (first, end) = (places[range.lowerBound].sequence, places[range.upperBound])
            guard let before = chains[first - 1], let after = chains[end.sequence] else {
                throw LogError.misplaced(EventID(origin: walk.origin, sequence: first))
            }
            return Run(
                stub: try RangeStub(
                    origin: walk.origin, sequences: first...end.sequence,
                    stamp: candidates[range.upperBound].event.stamp, before: before, after: after),
                lastPosition: end.position)
        }
        return block
    }

    /// Returns the origin's hash chain up to each of the `wanted` sequence numbers in a block;
    /// empty if the chain before the block is unknown.
    private func chains(
        _ walk: inout BlockWalk, through last: UInt64, of wanted: Set<UInt64>, _ state: LogState,
        _ transaction: borrowing ReadTransaction
    ) throws -> [UInt64: HashChain] {
        var sequence = walk.examined
        guard
            var chain = try walk.chain
                ?? chain(of: walk.ordinal, at: sequence, state, transaction)
        else { return [:] }
        var found: [UInt64: HashChain] = [:]
        if wanted.contains(sequence) { found[sequence] = chain }
        var position: UInt64 = 0
        var canonical: [UInt8] = []
        while sequence < last {
            let record = try record(
                of: EventID(origin: walk.origin, sequence: sequence + 1), ordinal: walk.ordinal,
                near: position + 1, state, transaction)
            position = record.position
            sequence = record.sequence
            if let stub = record.stub(of: walk.origin) {
                chain = stub.after
            } else {
                canonical.removeAll(keepingCapacity: true)
                guard state.appendCanonical(record, to: &canonical) else {
                    throw LogError.damagedRecord(position, "its contents do not match its header")
                }
                canonical.withUnsafeBytes { chain.add($0) }
            }
            if wanted.contains(sequence) { found[sequence] = chain }
        }
        walk.chain = chain
        return found
    }

    // MARK: - Replacing

    /// Replaces the runs of a block in one transaction; a block that has changed in the meantime is
    /// left unchanged.
    private func replace(
        _ block: Block, _ walk: BlockWalk, _ state: LogState, _ report: inout CompactionReport
    ) throws(LogError) {
        let typeTerms = state.types.map { Term(type: $0) }
        let (done, after) = try write { transaction -> ([Run], LogState) in
            try self.raiseFormat(transaction)
            var writer = RecordWriter(self.tables, try self.state(in: transaction))
            let type = try writer.typeOrdinal(.rangeCompacted, transaction)
            let catalogue = try IndexCatalogue(
                decoding: try transaction.meta(self.tables, MetaKey.runs))
            // If a fork was healed in the meantime, everything after the fork may have changed.
            guard writer.state.hasOneHistory(of: walk.ordinal) else { return ([], writer.state) }
            // Replace all runs or none: if only some were replaced, an event could remain although
            // the event that supersedes it is gone.
            var terms: [Set<UInt64>] = []
            for run in block.runs {
                guard
                    let found = try self.terms(of: run, walk, catalogue, typeTerms, transaction)
                else { return ([], writer.state) }
                terms.append(found)
            }
            for (run, terms) in zip(block.runs, terms) {
                try self.replace(run, walk, type, terms, catalogue, transaction)
            }
            try CompactionRow.setExamined(
                of: walk.ordinal, walk.examined, transaction, self.tables)
            try CompactionRow.advanceRound(transaction, self.tables)
            return (block.runs, writer.state)
        }
        adopt(after)
        report.stubs += UInt64(done.count)
        report.removed += done.reduce(0) { $0 + $1.stub.count }
    }

    /// Returns the index terms of a run's events; nil if the events have changed since they were
    /// read.
    private func terms(
        of run: Run, _ walk: BlockWalk, _ catalogue: IndexCatalogue, _ typeTerms: [Term],
        _ transaction: borrowing WriteTransaction
    ) throws -> Set<UInt64>? {
        let positions = run.firstPosition...run.lastPosition
        guard catalogue.indexed >= positions.upperBound else { return nil }
        var terms: Set<UInt64> = []
        for (position, sequence) in zip(positions, run.stub.sequences) {
            guard let bytes = try transaction.get(tables.events, integer: position) else {
                return nil
            }
            let record = try record(bytes, at: position)
            guard record.origin == walk.ordinal, record.sequence == sequence, !record.isStub,
                try transaction.get(tables.overrides, integer: position) == nil
            else { return nil }
            Term.forEach(of: record, typeTerms: typeTerms) { terms.insert($0) }
        }
        return terms
    }

    private func replace(
        _ run: Run, _ walk: BlockWalk, _ type: UInt16, _ terms: Set<UInt64>,
        _ catalogue: IndexCatalogue, _ transaction: borrowing WriteTransaction
    ) throws {
        let positions = run.firstPosition...run.lastPosition
        for position in positions { try transaction.delete(tables.events, integer: position) }
        var record: [UInt8] = []
        record.appendRecord(
            run.stub,
            as: RecordIdentity(
                position: run.lastPosition, stamp: run.stub.stamp,
                sequence: run.stub.sequences.upperBound, origin: walk.ordinal, type: type))
        try transaction.put(tables.events, integer: run.lastPosition, record)
        try removeReceipts(
            of: walk.ordinal, run.stub.sequences.lowerBound..<run.stub.sequences.upperBound,
            transaction)
        try IndexEntry.remove(positions, of: terms, catalogue, transaction, tables)
    }
}
