internal import TapedeckLMDB
@_spi(Core) package import TapedeckModel

/// # Two histories of one origin
///
/// A store that was put back to an earlier state and went on without anybody noticing writes events
/// under names that it has used before. When the two histories meet, the one that others know stays.
/// Here, the events that differ lose their names: they count nowhere, and are written anew under an
/// origin that follows from the first of them, with `reissuedFrom`. What the user did is kept; no event
/// changes; and two stores that hold the same history write the same events. Should the history come back
/// under its own names, its events count once all the same (`EventLog+Reissues`).
extension EventLog {
    /// The most events that are written anew.
    package static let reissuedEventsMax = 1 << 20

    /// Gives up an origin's history from an event on, and writes its events anew; durable when it
    /// returns.
    ///
    /// The rows of sync engines are dropped, so that every server's log is read again from its
    /// beginning: what it says of these names was taken to be of events that have lost them.
    ///
    /// - Returns: how many events were written anew; 0 where the event is not recorded here.
    ///
    /// Throws `LogError`: `.tooLarge`, and what a durable append throws.
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

        // The cut origin no longer reaches to the head, which the tables' own check would not know.
        var draft = try LogState(reading: transaction, tables, head: before.head)
        draft.forgetChains()
        var writer = RecordWriter(tables, draft)
        let cursor = try transaction.cursor(tables.events)
        if let first = losers.first {
            let heir = try writer.ordinal(of: EventLog.heir(of: first), transaction)
            // Whatever another store has written of them under the same names is here already.
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

    /// The origin under which a history is written anew: it follows from its first event, so that
    /// every store that holds the history gives the events the same names, and none counts twice.
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

    /// The event itself, or the first that was compacted together with it.
    private func beginning(
        of event: EventID, _ state: LogState, _ transaction: borrowing WriteTransaction
    ) throws -> EventID {
        guard let position = try position(of: event, in: state, transaction) else { return event }
        let first = try record(at: position, transaction).firstSequence
        return EventID(origin: event.origin, sequence: min(first, event.sequence))
    }

    /// The events of the history that is given up, in order, and where its records stand; what was compacted says
    /// nothing any more, and stands there, too.
    private func envelopes(
        of event: EventID, _ ordinal: UInt32, _ state: LogState,
        _ transaction: borrowing WriteTransaction
    ) throws -> (events: [EventEnvelope], places: [(position: UInt64, stamp: Stamp)]) {
        let last = state.origins[Int(ordinal)].lastSequence
        guard last - event.sequence < UInt64(EventLog.reissuedEventsMax) else {
            throw LogError(
                .tooLarge,
                "\(last - event.sequence + 1) events of origin \(event.origin) would have to be"
                    + " written anew", hint: "export this store and begin a new one")
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

    /// Makes an origin end before a sequence.
    private func cutOrigin(
        _ ordinal: UInt32, before sequence: UInt64, _ state: LogState,
        _ transaction: borrowing WriteTransaction
    ) throws {
        var row = state.origins[Int(ordinal)]
        let lastID = EventID(origin: row.id, sequence: sequence - 1)
        let lastPosition = sequence == 1 ? 0 : try position(of: lastID, transaction) ?? 0
        // The segment that holds the last event that stays; it may be open or closed.
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
                lastPosition - kept.firstPosition == sequence - 1 - kept.firstSequence
            try transaction.setMeta(
                tables, MetaKey.segment(ordinal, kept.firstSequence), kept.encoded())
        }
        row.lastSequence = sequence - 1
        row.lastPosition = lastPosition
        row.segment = Segment()
        try transaction.setMeta(tables, MetaKey.origin(ordinal), row.encoded())
    }

    /// Removes the receipts of some of an origin's events.
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
    /// The same event, to be written under another name.
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
    /// An origin's hash chain as of one of its events; nil where that is not recorded here, or is among
    /// events that were compacted.
    ///
    /// Costs the events since the last commit of that origin before it.
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

    /// The chain of an origin that the state knows, as of one of its events.
    func chain(
        of ordinal: UInt32, at sequence: UInt64, _ state: LogState,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> HashChain? {
        let origin = state.origins[Int(ordinal)].id
        // Back to a record that holds the chain, then forward again.
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
                throw LogError.damagedRecord(position, "its parts contradict its header")
            }
            canonical.withUnsafeBytes { chain.add($0) }
        }
        return chain
    }
}
