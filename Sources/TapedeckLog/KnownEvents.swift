internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// Compares received events with the recorded events that have the same ids.
struct KnownEvents {
    private let log: EventLog
    private var types: [[UInt8]] = []
    /// The last compared event; the next event of its origin is usually at the next position.
    private var last: (origin: UInt32, sequence: UInt64, position: UInt64) = (.max, 0, 0)
    private var scratch: [UInt8] = []

    init(_ log: EventLog) { self.log = log }

    /// Throws `.fork` if an entry is recorded with different content; compacted events are compared
    /// as far as possible.
    ///
    /// - Parameters:
    ///   - entry: An entry whose last sequence number is recorded here.
    ///   - state: The state in the transaction, in which the origin has the number `ordinal`.
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
                "the compacted events up to \(stub.id) differ from the events recorded here",
                hint: "a store was copied, and both copies recorded events under the same origin",
                position: try log.position(
                    of: EventID(origin: stub.origin, sequence: stub.sequences.lowerBound),
                    in: state,
                    transaction
                ).map { LogPosition(rawValue: $0) })
        }
    }

    /// Throws `.fork` if a range stub, whose first events are recorded here, was compacted from a
    /// different history.
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

    /// Throws `.fork` if a range stub replaces an event of this store that no server has received.
    ///
    /// The stub ends after the origin's last event here, so its events cannot be compared with
    /// those recorded here. If they were others, no server would ever receive this event.
    func checkUnsent(
        in stub: RangeStub, ordinal: UInt32, _ state: LogState,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws {
        let row = state.origins[Int(ordinal)]
        // Only the rows of origins under which this store has recorded events contain a clock.
        guard row.clock != .zero else { return }
        var next = stub.sequences.lowerBound
        while next <= row.lastSequence {
            let id = EventID(origin: row.id, sequence: next)
            guard let position = try log.position(of: id, in: state, transaction) else {
                throw LogError.misplaced(id)
            }
            let record = try log.record(at: position, transaction)
            let isUnsent =
                try !record.isStub
                && ReceiptReader.receipts(of: id, ordinal: ordinal, transaction, log.tables).isEmpty
            if isUnsent { throw LogError.forked(before: stub, at: position) }
            next = record.sequence + 1
        }
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
            throw LogError.damagedRecord(record.position, "its contents do not match its header")
        }
        guard scratch.withUnsafeBytes({ $0.holdsSame(as: canonical) }) else {
            throw LogError(
                .fork, "event \(id) is recorded here with different content",
                hint: "a store was copied, and both copies recorded events under the same origin",
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
                .damaged, "event \(id) is recorded but cannot be found",
                hint: "storectl verify lists what is damaged; restore a backup")
        }
        let record = try log.record(bytes, at: position)
        guard record.origin == ordinal, record.holds(id.sequence) else {
            throw LogError.damagedRecord(position, "it should be event \(id)")
        }
        return record
    }
}

extension LogError {
    /// Returns the error for events compacted from a history that differs from the recorded one.
    ///
    /// - Parameter position: The position of the first event to void; nil if it is unknown.
    static func forked(before stub: RangeStub, at position: UInt64? = nil) -> LogError {
        LogError(
            .fork,
            "the compacted events up to \(stub.id) belong to a different history than the events"
                + " recorded here",
            hint: "a store was copied, and both copies recorded events under the same origin",
            position: position.map { LogPosition(rawValue: $0) })
    }
}
