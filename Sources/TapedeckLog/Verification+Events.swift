internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

extension Verification {
    /// Reads every event up to the snapshot's head, and compares it with the log's metadata.
    mutating func checkEvents() throws(LogError) {
        var scan = EventScan(state, lookupEvery: max(1, head / EventLog.verifyLookupsMax))
        while scan.position < head {
            let from = self
            let before = scan
            (self, scan) = try log.read { transaction in
                var current = from
                var scan = before
                try scan.run(transaction, &current)
                return (current, scan)
            }
            tell(.checking, scan.position, head)
        }
        finish(scan)
    }

    /// Compares the metadata of the origins with the events.
    private mutating func finish(_ scan: EventScan) {
        var scan = scan
        scan.closeCutOrigins()
        for (index, row) in state.origins.enumerated() {
            let seen = scan.origins[index]
            if seen.row.lastSequence > 0 { report.origins += 1 }
            let key = row.id.description
            if row.lastSequence != seen.row.lastSequence
                || row.lastPosition != seen.row.lastPosition
            {
                report.add(
                    .origin, position: row.lastPosition, key: key,
                    "its last event should be \(row.lastSequence) at \(row.lastPosition), but is"
                        + " \(seen.row.lastSequence) at \(seen.row.lastPosition)")
            } else if row.segment != seen.row.segment {
                report.add(
                    .origin, position: row.lastPosition, key: key,
                    "its last segment does not match its events")
            }
            if seen.row.lastSequence > 0, !seen.endsInMark, !seen.isCut {
                report.add(
                    .chain, position: seen.row.lastPosition, key: key,
                    "the origin's last event does not contain the hash chain")
            }
        }
        if segmentRows != scan.closedSegments {
            report.add(
                .origin,
                "the log has \(segmentRows) closed segments, but its events form"
                    + " \(scan.closedSegments)"
            )
        }
        if reissueRows != scan.reissues {
            report.add(
                .origin,
                "the log lists \(reissueRows) reissued events, but has \(scan.reissues)"
            )
        }
    }
}

/// A scan of all records.
private struct EventScan {
    /// The state of an origin, derived from its events so far.
    struct Seen {
        var row: OriginRow
        /// The hash chain; nil after a gap or a damaged record, until a record with a stored chain
        /// is read.
        var chain: HashChain? = HashChain()
        var endsInMark = false
        /// Whether voided events follow the last event.
        var isCut = false
    }

    var position: UInt64 = 0
    var origins: [Seen]
    var closedSegments: UInt64 = 0
    /// The number of reissued events that were not voided.
    var reissues: UInt64 = 0
    private let originIDs: [OriginID]
    private let types: [[UInt8]]
    private let lookupEvery: UInt64
    private var scratch: [UInt8] = []

    init(_ state: LogState, lookupEvery: UInt64) {
        originIDs = state.origins.map(\.id)
        origins = originIDs.map { Seen(row: OriginRow(id: $0)) }
        types = state.types.map { Array($0.name.utf8) }
        self.lookupEvery = lookupEvery
    }

    /// Continues the scan for one transaction.
    mutating func run(
        _ transaction: borrowing ReadTransaction, _ verification: inout Verification
    ) throws {
        let end = min(verification.head, position + UInt64(EventLog.recordsPerTransactionMax))
        let cursor = try transaction.cursor(verification.log.tables.events)
        var entry = try cursor.seek(integer: position + 1)
        while let found = entry {
            let key = found.key.loadUnaligned(as: UInt64.self)
            let first = EventScan.firstPosition(of: found.value, at: key)
            if first > end { break }
            if first > position + 1 { lose(position + 1, through: first - 1, &verification) }
            position = key
            try read(found.value, transaction, &verification)
            if position >= end { break }
            entry = try cursor.next()
        }
        if position < end { lose(position + 1, through: end, &verification) }
        position = max(position, end)
    }

    /// Returns the first position that a record covers.
    private static func firstPosition(of bytes: UnsafeRawBufferPointer, at key: UInt64) -> UInt64 {
        guard let record = RecordView(bytes), record.isIntact, record.position == key,
            record.isSoundStub
        else { return key }
        return record.firstPosition
    }

    /// Reports missing events.
    private mutating func lose(
        _ first: UInt64, through last: UInt64, _ verification: inout Verification
    ) {
        verification.report.add(
            .position, position: first,
            first == last ? "the event is missing" : "the events up to \(last) are missing")
    }

    private mutating func read(
        _ bytes: UnsafeRawBufferPointer, _ transaction: borrowing ReadTransaction,
        _ verification: inout Verification
    ) throws {
        let record: RecordView
        do throws(LogError) {
            record = try verification.log.record(bytes, at: position)
        } catch {
            verification.report.events += 1
            return verification.report.add(.record, position: position, error.message)
        }
        if record.isStub {
            verification.report.compacted += record.position - record.firstPosition + 1
        } else {
            verification.report.events += 1
        }
        guard Int(record.origin) < origins.count, Int(record.type) < types.count else {
            return verification.report.add(
                .record, position: position,
                "its origin \(record.origin) or type \(record.type) is unknown")
        }
        let origin = originIDs[Int(record.origin)]
        scratch.removeAll(keepingCapacity: true)
        let isWhole = scratch.appendCanonical(
            record, origin: origin, type: types[Int(record.type)])
        let problem =
            isWhole
            ? scratch.withUnsafeBytes(EventScan.problem) : "its contents do not match its header"
        if let problem {
            return verification.report.add(.record, position: position, problem)
        }
        verification.addTerms(of: record)
        if verification.state.isForked(record) {
            // The event was voided; the next event of its origin starts a new segment.
            origins[Int(record.origin)].isCut = true
            return
        }
        follow(record, &verification)
        if record.flags.contains(.reissued) {
            reissues += 1
            try verification.checkReissue(record, transaction)
        }
        if position % lookupEvery == 0 {
            try lookUp(
                EventID(origin: origin, sequence: record.sequence), transaction, &verification)
        }
        if !closed.isEmpty { try checkSegments(transaction, &verification) }
    }

    private static func problem(_ canonical: UnsafeRawBufferPointer) -> String? {
        do throws(CanonicalProblem) {
            _ = try CanonicalEntry(canonical)
            return nil
        } catch {
            return error.what
        }
    }

    /// Closes the segments of origins whose history was truncated, because such origins have no
    /// open segment.
    mutating func closeCutOrigins() {
        for index in origins.indices where origins[index].isCut {
            if origins[index].row.segment.firstSequence > 0 { closedSegments += 1 }
            origins[index].row.segment = Segment()
        }
    }

    // MARK: - Sequence and chain

    private mutating func follow(_ record: RecordView, _ verification: inout Verification) {
        var seen = origins[Int(record.origin)]
        let sequence = record.firstSequence
        if sequence != seen.row.lastSequence + 1 {
            verification.report.add(
                .sequence, position: position, key: seen.row.id.description,
                "event \(sequence) of its origin follows event \(seen.row.lastSequence)")
            seen.chain = nil
        }
        if let stub = record.stub(of: seen.row.id) {
            if let chain = seen.chain, chain != stub.before {
                verification.report.add(
                    .chain, position: position, key: seen.row.id.description,
                    "the hash chain of its origin does not match the compacted range")
            }
            seen.chain = nil
        } else if var chain = seen.chain {
            scratch.withUnsafeBytes { chain.add($0) }
            seen.chain = chain
        }
        seen.endsInMark = record.flags.contains(.chain)
        if seen.endsInMark {
            let mark = record.blocks.flatMap { HashChain($0.chain) }
            if let chain = seen.chain, chain != mark {
                verification.report.add(
                    .chain, position: position, key: seen.row.id.description,
                    "the hash chain of its origin does not match")
            }
            seen.chain = mark
        }
        if seen.isCut { close(&seen.row, record.origin) }
        seen.isCut = false
        for sequence in sequence...record.sequence {
            extend(
                &seen.row, record.origin, sequence,
                at: record.position - (record.sequence - sequence))
        }
        origins[Int(record.origin)] = seen
    }

    // MARK: - Segments

    /// The segments closed by the last record.
    private var closed: [(origin: UInt32, segment: Segment)] = []

    private mutating func close(_ row: inout OriginRow, _ origin: UInt32) {
        if row.segment.firstSequence > 0 { closed.append((origin, row.segment)) }
        row.segment = Segment()
    }

    private mutating func extend(
        _ row: inout OriginRow, _ origin: UInt32, _ sequence: UInt64, at position: UInt64
    ) {
        if position <= row.lastPosition
            || !row.segment.extend(sequence: sequence, position: position, after: row.lastPosition)
        {
            if row.segment.firstSequence > 0 { closed.append((origin, row.segment)) }
            row.segment = Segment(firstSequence: sequence, firstPosition: position)
        }
        row.lastSequence = sequence
        row.lastPosition = position
    }

    private mutating func checkSegments(
        _ transaction: borrowing ReadTransaction, _ verification: inout Verification
    ) throws {
        for (origin, segment) in closed {
            closedSegments += 1
            let key = MetaKey.segment(origin, segment.firstSequence)
            var held: Segment?
            if let sealed = try transaction.get(verification.log.tables.meta, key),
                let row = key.withUnsafeBytes({ SealedValue.open(sealed, key: $0) })
            {
                var reader = ByteReader(row)
                held = Segment(&reader, firstSequence: segment.firstSequence)
            }
            if held != segment {
                verification.report.add(
                    .origin, position: segment.firstPosition,
                    key: originIDs[Int(origin)].description,
                    "the segment from event \(segment.firstSequence) does not match its events")
            }
        }
        closed.removeAll()
    }

    // MARK: - Look-up by id

    private func lookUp(
        _ id: EventID, _ transaction: borrowing ReadTransaction,
        _ verification: inout Verification
    ) throws {
        verification.report.lookups += 1
        var found: UInt64?
        do {
            found = try verification.log.position(of: id, transaction)
        } catch let error as LogError where error.code == .damaged {
            return verification.report.add(
                .identity, position: position, key: id.description, error.message)
        }
        guard found != position else { return }
        verification.report.add(
            .identity, position: position, key: id.description,
            found.map { "a lookup of its id finds position \($0)" }
                ?? "a lookup of its id finds nothing")
    }
}
