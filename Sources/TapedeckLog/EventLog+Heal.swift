internal import TapedeckLMDB
@_spi(Core) package import TapedeckModel

/// # Forked histories
///
/// If a store is restored to an earlier state and does not notice, it writes new events under ids
/// that it has already used. When the two histories meet, the history known to the other
/// stores wins. The conflicting events of this store lose their ids: they are voided, and then
/// reissued with `reissuedFrom` under an origin derived from the first of these events. No user
/// action is lost, no event changes, and two stores with the same voided history reissue the same
/// events. If a voided history comes back under its original ids, each of its events is still used
/// only once (`EventLog+Reissues`).
extension EventLog {
    /// The maximum number of events to reissue.
    package static let reissuedEventsMax = 1 << 20

    /// Voids an origin's history from the given event onwards and reissues the voided events; the
    /// changes are on disk when this method returns.
    ///
    /// The receipts of the voided events are removed, because these events have lost their ids. The
    /// rows of sync engines are also removed, so that every server's log is read again from the
    /// start.
    ///
    /// - Returns: The number of reissued events; 0 if the event is not recorded here.
    ///
    /// Throws `LogError`: `.tooLarge`, and the same errors as a durable append.
    @available(*, noasync)
    @discardableResult
    package func heal(from event: EventID) throws(LogError) -> UInt64 {
        try refreshState()
        let fresh = options.randomID()
        let now = options.now()
        let (count, after) = try write { transaction in
            try self.heal(from: event, freshOrigin: fresh, now: now, transaction)
        }
        adopt(after)
        if count > 0 { announce() }
        return count
    }

    private func heal(
        from event: EventID, freshOrigin: OriginID, now: UInt64,
        _ transaction: borrowing WriteTransaction
    ) throws -> (UInt64, LogState) {
        let before = try state(in: transaction)
        guard let ordinal = before.ordinals[event.origin],
            event.sequence <= before.origins[Int(ordinal)].lastSequence
        else { return (0, before) }
        let event = try beginning(of: event, before, transaction)
        let (losers, places) = try envelopes(of: event, ordinal, before, transaction)
        guard let last = places.last else { return (0, before) }

        try removeReceipts(of: ordinal, event.sequence..<UInt64.max, transaction)
        var voids = ReceiptWriter(tables)
        for place in places {
            try voids.void(at: place.position, stamp: place.stamp, transaction)
        }
        for loser in losers {
            if let source = loser.reissuedFrom {
                try Reissue.remove(
                    of: source, at: loser.position.rawValue, transaction, tables)
            }
        }
        try voids.finish(transaction)
        let fork = Fork(
            origin: ordinal, firstSequence: event.sequence,
            lastPosition: last.position)
        try transaction.setMeta(tables, fork.key, fork.value)
        try cutOrigin(ordinal, before: event.sequence, before, transaction)
        if ordinal == before.own {
            try StoreIdentity.renew(transaction, tables, origin: freshOrigin)
        }
        try removeSyncRows(transaction)

        // The head cannot be derived from the tables, because the truncated origin may have had the
        // last event.
        var draft = try LogState(reading: transaction, tables, head: before.head)
        draft.forgetChains()
        var writer = RecordWriter(tables, draft)
        let cursor = try transaction.cursor(tables.events)
        if let first = losers.first {
            let heir = try writer.ordinal(of: EventLog.heir(of: first), transaction)
            // Skip the events that another store has already reissued under the same ids.
            let known = Int(clamping: writer.state.origins[Int(heir)].lastSequence)
            for (index, loser) in losers.enumerated().dropFirst(known) {
                try writer.add(
                    ProposedEvent(reissuing: loser), keyID: loser.keyID,
                    reissuedFrom: loser.reissuedFrom ?? loser.id, origin: heir, stamp: loser.stamp,
                    endsCommit: index == losers.count - 1, transaction, cursor)
            }
        }
        var clock = HybridClock(last: draft.ownRow.clock)
        let note = OriginForked(
            origin: event.origin, firstSequence: event.sequence, count: UInt64(losers.count))
        try writer.add(
            try ProposedEvent(note), origin: draft.own, stamp: clock.tick(milliseconds: now),
            endsCommit: true, transaction, cursor)
        writer.setClock(clock.last)
        let sources = Set(losers.map { $0.reissuedFrom ?? $0.id })
        return (UInt64(losers.count), try finish(writer, settling: sources, transaction))
    }

    /// Returns the origin under which the events of a history are reissued.
    ///
    /// The new origin is derived from the first event, so that every store with this history
    /// assigns the same ids and no event is used twice.
    private static func heir(of first: EventEnvelope) -> OriginID {
        var canonical = CanonicalEvent()
        let proposed = ProposedEvent(reissuing: first)
        let digest = canonical.withBytes(
            of: proposed, id: first.id, stamp: first.stamp, keyID: first.keyID,
            reissuedFrom: first.reissuedFrom
        ) { bytes in
            var chain = HashChain()
            chain.add(bytes)
            return chain.bytes
        }
        return digest.withUnsafeBytes { bytes in
            OriginID(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    /// Returns the event itself, or the first event that was compacted together with it.
    private func beginning(
        of event: EventID, _ state: LogState, _ transaction: borrowing WriteTransaction
    ) throws -> EventID {
        guard let position = try position(of: event, in: state, transaction) else { return event }
        let first = try record(at: position, transaction).firstSequence
        return EventID(origin: event.origin, sequence: min(first, event.sequence))
    }

    /// Returns the events of the voided history, in order, and the positions of their records.
    ///
    /// Compacted events have no content to reissue, so only their positions are included.
    private func envelopes(
        of event: EventID, _ ordinal: UInt32, _ state: LogState,
        _ transaction: borrowing WriteTransaction
    ) throws -> (events: [EventEnvelope], places: [(position: UInt64, stamp: Stamp)]) {
        let last = state.origins[Int(ordinal)].lastSequence
        guard last - event.sequence < UInt64(EventLog.reissuedEventsMax) else {
            throw LogError(
                .tooLarge,
                "\(last - event.sequence + 1) events of origin \(event.origin) would have to be"
                    + " reissued", hint: "export this store and create a new one")
        }
        var found: [EventEnvelope] = []
        var places: [(position: UInt64, stamp: Stamp)] = []
        var next = event.sequence
        while next <= last {
            let id = EventID(origin: event.origin, sequence: next)
            guard let position = try position(of: id, transaction) else {
                throw LogError.misplaced(id)
            }
            let record = try record(at: position, transaction)
            if !record.isStub { found.append(try envelope(record)) }
            places.append((record.position, record.stamp))
            next = record.sequence + 1
        }
        return (found, places)
    }

    /// Truncates an origin's history: removes the event with the given sequence number and
    /// everything after it.
    private func cutOrigin(
        _ ordinal: UInt32, before sequence: UInt64, _ state: LogState,
        _ transaction: borrowing WriteTransaction
    ) throws {
        var row = state.origins[Int(ordinal)]
        let lastID = EventID(origin: row.id, sequence: sequence - 1)
        let lastPosition = sequence == 1 ? 0 : try position(of: lastID, transaction) ?? 0
        // The segment, open or closed, of the last remaining event.
        var kept: Segment?
        if row.segment.firstSequence > 0, row.segment.firstSequence < sequence {
            kept = row.segment
        }
        var doomed: [[UInt8]] = []
        do {
            let cursor = try transaction.cursor(tables.meta)
            var entry = try cursor.seek(MetaKey.segments(ordinal))
            while let found = entry, found.key.starts(with: MetaKey.segments(ordinal)) {
                var key = ByteReader(UnsafeRawBufferPointer(rebasing: found.key[5...]))
                guard let first = key.bigEndian(UInt64.self),
                    let opened = SealedValue.open(found.value, key: found.key)
                else { throw LogError.damagedRow(Array(found.key)) }
                var value = ByteReader(opened)
                guard let segment = Segment(&value, firstSequence: first) else {
                    throw LogError.damagedRow(Array(found.key))
                }
                if first >= sequence {
                    doomed.append(Array(found.key))
                } else if kept == nil || first > kept?.firstSequence ?? 0 {
                    kept = segment
                }
                entry = try cursor.next()
            }
        }
        for key in doomed { try transaction.delete(tables.meta, key) }
        if var kept {
            kept.isDense =
                lastPosition &- kept.firstPosition == sequence - 1 - kept.firstSequence
            try transaction.setMeta(
                tables, MetaKey.segment(ordinal, kept.firstSequence), kept.encoded())
        }
        row.lastSequence = sequence - 1
        row.lastPosition = lastPosition
        row.segment = Segment()
        try transaction.setMeta(tables, MetaKey.origin(ordinal), row.encoded())
    }

    /// Removes the receipts for a range of an origin's events.
    func removeReceipts(
        of ordinal: UInt32, _ sequences: Range<UInt64>, _ transaction: borrowing WriteTransaction
    ) throws {
        var doomed: [[UInt8]] = []
        guard let last = sequences.last else { return }
        let origin = state.withLock { $0.origins[Int(ordinal)].id }
        try ReceiptReader.forEach(
            of: origin, ordinal: ordinal, sequences.lowerBound...last, transaction, tables
        ) { entry, _ in
            doomed.append(Array(entry.key))
            return true
        }
        for key in doomed { try transaction.delete(tables.receipts, key) }
    }

    private func removeSyncRows(_ transaction: borrowing WriteTransaction) throws {
        var doomed: [[UInt8]] = []
        do {
            let prefix = MetaKey.sync("")
            let cursor = try transaction.cursor(tables.meta)
            var entry = try cursor.seek(prefix)
            while let found = entry, found.key.starts(with: prefix) {
                doomed.append(Array(found.key))
                entry = try cursor.next()
            }
        }
        for key in doomed { try transaction.delete(tables.meta, key) }
    }
}

extension ProposedEvent {
    /// Creates a copy of an event, to be recorded under another id.
    fileprivate init(reissuing event: EventEnvelope) {
        self.init(
            type: event.type, schemaVersion: event.schemaVersion, tags: event.tags,
            fact: event.fact, atMilliseconds: event.stamp.milliseconds,
            causation: event.causation, correlation: event.correlation,
            retention: event.retention, encoding: event.encoding, payload: event.payload)
    }
}

// MARK: - Chains

extension EventLog {
    /// Returns an origin's hash chain up to one of its events; nil if the event is not recorded
    /// here, or is inside a compacted range.
    ///
    /// The cost is a read of the events since that origin's previous commit.
    @available(*, noasync)
    package func chain(of origin: OriginID, at sequence: UInt64) throws(LogError) -> HashChain? {
        if sequence == 0 { return HashChain() }
        try refreshState()
        let state = state.withLock { $0 }
        guard let ordinal = state.ordinals[origin],
            sequence <= state.origins[Int(ordinal)].lastSequence
        else { return nil }
        return try read { transaction in
            try self.chain(of: ordinal, at: sequence, state, transaction)
        }
    }

    /// Returns the chain of a known origin up to one of its events.
    func chain(
        of ordinal: UInt32, at sequence: UInt64, _ state: LogState,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> HashChain? {
        let origin = state.origins[Int(ordinal)].id
        // Search backward for a record with a stored chain, then compute forward from it.
        var between: [UInt64] = []
        var chain = HashChain()
        var current = sequence
        while current > 0 {
            let id = EventID(origin: origin, sequence: current)
            guard let position = try position(of: id, in: state, transaction),
                let bytes = try transaction.get(tables.events, integer: position)
            else { throw LogError.misplaced(id) }
            let record = try record(bytes, at: position)
            guard record.sequence == current else { return nil }
            if record.flags.contains(.chain),
                let held = record.blocks.flatMap({ HashChain($0.chain) })
            {
                chain = held
                break
            }
            between.append(position)
            current -= 1
        }
        var canonical: [UInt8] = []
        for position in between.reversed() {
            let record = try record(at: position, transaction)
            canonical.removeAll(keepingCapacity: true)
            guard state.appendCanonical(record, to: &canonical) else {
                throw LogError.damagedRecord(position, "its contents do not match its header")
            }
            canonical.withUnsafeBytes { chain.add($0) }
        }
        return chain
    }
}
