internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// Compares events from elsewhere with those that are recorded under the same identity.
struct KnownEvents {
    private let log: EventLog
    private var types: [[UInt8]] = []
    /// Where the last event stood: an origin's next event mostly stands behind it.
    private var last: (origin: UInt32, sequence: UInt64, position: UInt64) = (.max, 0, 0)
    private var scratch: [UInt8] = []

    init(_ log: EventLog) { self.log = log }

    /// Throws `.fork` where what came from elsewhere is recorded with other content; what was compacted, here
    /// or there, is compared as far as that can be.
    ///
    /// - Parameters:
    ///   - entry: its last sequence is recorded here.
    ///   - state: as of the transaction; it knows the origin as `ordinal`.
    mutating func check(
        _ entry: CanonicalEntry, ordinal: UInt32, _ state: LogState,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws {
        switch entry {
        case .event(let event):
            try check(event.bytes, event.id, ordinal: ordinal, state, transaction)
        case .stub(let stub):
            guard
                let chain = try log.chain(
                    of: ordinal, at: stub.sequences.upperBound, state, transaction),
                chain != stub.after
            else { return }
            throw LogError(
                .fork,
                "what was compacted up to event \(stub.id) is recorded here with other content",
                hint: "two histories of one origin met: a store was copied and both went on",
                position: try log.position(
                    of: EventID(origin: stub.origin, sequence: stub.sequences.lowerBound),
                    in: state,
                    transaction
                ).map { LogPosition(rawValue: $0) })
        }
    }

    /// Throws `.fork` where a range stub, of which the first events are recorded here, follows on another
    /// history than they do.
    func checkBeginning(
        of stub: RangeStub, ordinal: UInt32, _ state: LogState,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws {
        let first = stub.sequences.lowerBound
        guard first <= state.origins[Int(ordinal)].lastSequence,
            let chain = try first == 1
                ? HashChain() : log.chain(of: ordinal, at: first - 1, state, transaction),
            chain != stub.before
        else { return }
        throw LogError.forked(
            before: stub,
            at: try log.position(
                of: EventID(origin: stub.origin, sequence: first), in: state, transaction))
    }

    private mutating func check(
        _ canonical: UnsafeRawBufferPointer, _ id: EventID, ordinal: UInt32, _ state: LogState,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws {
        let record = try find(id, ordinal, transaction)
        last = (ordinal, id.sequence, record.position)
        guard !record.isStub else { return }
        if types.count < state.types.count { types = state.types.map { Array($0.name.utf8) } }
        scratch.removeAll(keepingCapacity: true)
        guard Int(record.type) < types.count,
            scratch.appendCanonical(record, origin: id.origin, type: types[Int(record.type)])
        else {
            throw LogError.damagedRecord(record.position, "its parts contradict its header")
        }
        guard scratch.withUnsafeBytes({ $0.holdsSame(as: canonical) }) else {
            throw LogError(
                .fork, "event \(id) is recorded here with other content",
                hint: "two histories of one origin met: a store was copied and both went on",
                position: LogPosition(rawValue: record.position))
        }
    }

    private func find(
        _ id: EventID, _ ordinal: UInt32, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> RecordView {
        if last.origin == ordinal, last.sequence + 1 == id.sequence,
            let bytes = try transaction.get(log.tables.events, integer: last.position + 1)
        {
            let record = try log.record(bytes, at: last.position + 1)
            if record.origin == ordinal, record.sequence == id.sequence,
                !log.state.withLock({ $0.isForked(record) })
            {
                return record
            }
        }
        guard let position = try log.position(of: id, transaction),
            let bytes = try transaction.get(log.tables.events, integer: position)
        else {
            throw LogError(
                .damaged, "event \(id) should be recorded and is not found",
                hint: "storectl verify says what is damaged; restore a backup")
        }
        let record = try log.record(bytes, at: position)
        guard record.origin == ordinal, record.holds(id.sequence) else {
            throw LogError.damagedRecord(position, "event \(id) should stand there")
        }
        return record
    }
}

extension LogError {
    /// What was compacted follows on another history than the one that is recorded here.
    ///
    /// - Parameter position: of what is to be given up; nil where that is not known.
    static func forked(before stub: RangeStub, at position: UInt64? = nil) -> LogError {
        LogError(
            .fork,
            "what was compacted up to event \(stub.id) follows on another history than the one that is"
                + " recorded here",
            hint: "two histories of one origin met: a store was copied and both went on",
            position: position.map { LogPosition(rawValue: $0) })
    }
}
