package import TapedeckModel
package import TapedeckSyncProtocol

/// # Sequencing
///
/// | entry | state of the server | result |
/// |---|---|---|
/// | event, the origin's next | | the next position and time, accepted or refused |
/// | event, not above the last | the same bytes | duplicate: the same position, time and refusal as before |
/// | | different bytes | problem: fork |
/// | event, beyond the next | | problem: gap |
/// | any, with a base | the same last event as the base, but a different chain | problem: fork, at 0 |
/// | range stub | its last event is above the last | the part that is missing here: the next position and time |
/// | | its last event is not above the last | duplicate: the position and time of the entry that holds its last event |
/// | | it begins right after the last, but the chain differs | problem: fork, at 0 |
/// | | its last event is the last, but the chain differs | problem: fork, at 0 |
/// | receipt of a known event | the same receipt, or one with higher precedence | position 0 |
/// | | no receipt, or one with lower precedence | the next position and time |
/// | receipt of an unknown event | | problem: unknown event |
///
/// A problem ends the push. The entries before the problem stay in the log, because each entry is
/// accepted on its own. Responses are derived from stored rows, so repeating a push whose response
/// was lost returns the same response.
extension SpaceRows {
    /// Adds entries in order; the entries take effect when the caller commits the rows.
    ///
    /// Throws `ServerError`: `.lineageChanged`; `.damaged`, in which case the preceding entries
    /// have been added and may be committed.
    package mutating func push(
        _ lineage: LineageID, _ entries: UnsafeRawBufferPointer,
        bases: [WireOriginState] = [], now: UInt64, refuses policy: RefusalPolicy
    ) throws -> WirePushResponse {
        guard lineage == state.lineage else {
            throw ServerError.lineageChanged(state.lineage, space)
        }
        var answer = WirePushResponse()
        answer.lineage = lineage.data
        if let problem = try forked(bases) {
            answer.problem = problem
            return answer
        }
        var reader = SyncEntryReader(entries)
        var index: UInt64 = 0
        while !reader.isAtEnd {
            guard let entry = reader.next() else {
                answer.problem = WireProblem(
                    .malformed, at: index, "the entry is truncated or of an unknown kind")
                break
            }
            switch try take(entry, now: now, refuses: policy) {
            case .placed(let place, let isFresh):
                answer.positions.append(place.position)
                answer.receivedAt.append(place.receivedAt.rawValue)
                if let refusal = place.refusal {
                    answer.refusals.append(WireRefusal(position: place.position, code: refusal))
                }
                if isFresh { answer.fresh += 1 }
            case .problem(var problem):
                problem.index = index
                answer.problem = problem
                return answer
            }
            index += 1
        }
        return answer
    }

    /// Returns a problem if the device's history of an origin before the pushed events differs from
    /// the server's.
    private mutating func forked(_ bases: [WireOriginState]) throws -> WireProblem? {
        for base in bases {
            guard let origin = OriginID(base.origin), let chain = HashChain([UInt8](base.chain)),
                base.lastSequence > 0, try lastSequence(of: origin) == base.lastSequence,
                try self.chain(of: origin) != chain
            else { continue }
            return WireProblem(
                .fork, of: EventID(origin: origin, sequence: 0),
                "the server has a different history of \(origin)")
        }
        return nil
    }

    private mutating func take(
        _ entry: SyncEntryReader.Entry, now: UInt64, refuses policy: RefusalPolicy
    ) throws -> Taken {
        switch entry.kind {
        case .event:
            let read: CanonicalEntry
            do {
                read = try CanonicalEntry(entry.body)
            } catch {
                return .problem(
                    WireProblem(
                        .malformed, of: CanonicalView.id(of: entry.body),
                        "the entry is not an event: \(error.what)"))
            }
            switch read {
            case .event(let view): return try take(view, now: now, refuses: policy)
            case .stub(let stub): return try take(stub, now: now)
            }
        case .receipt:
            var reader = ByteReader(entry.body)
            guard let receipt = reader.receipt(), reader.isAtEnd, receipt.event.sequence > 0 else {
                return .problem(WireProblem(.malformed, "the entry is not a receipt"))
            }
            return try take(receipt, entry.body, now: now)
        case .reference:
            return .problem(WireProblem(.malformed, "a push cannot contain references"))
        }
    }

    private mutating func take(
        _ view: CanonicalView, now: UInt64, refuses policy: RefusalPolicy
    ) throws -> Taken {
        let id = view.id
        let last = try lastSequence(of: id.origin)
        if id.sequence <= last { return try compare(view) }
        guard id.sequence == last + 1 else { return .gap(behind: last, of: id.origin) }
        let refusal = policy(view)?.rawValue
        precondition(
            refusal.map { (1...Receipt.codeLengthMax).contains($0.utf8.count) } ?? true,
            "the code of a refusal is empty or too long")
        let place = try append(.event, view.bytes, refusal: refusal, now: now)
        var chain = try chain(of: id.origin)
        chain.add(view.bytes)
        try note(id.sequence...id.sequence, of: id.origin, chain: chain, at: place.position)
        return .placed(place, isFresh: true)
    }

    private mutating func take(_ stub: RangeStub, now: UInt64) throws -> Taken {
        let last = try lastSequence(of: stub.origin)
        let chain = try chain(of: stub.origin)
        guard stub.sequences.lowerBound <= last + 1 else {
            return .gap(behind: last, of: stub.origin)
        }
        let known = stub.sequences.upperBound == last ? stub.after : stub.before
        if stub.sequences.upperBound == last || stub.sequences.lowerBound == last + 1,
            known != chain
        {
            return .problem(
                WireProblem(
                    .fork, of: EventID(origin: stub.origin, sequence: 0),
                    "the server has a different history of \(stub.origin)"))
        }
        guard let rest = stub.rest(behind: last, chain) else {
            let position = try position(of: stub.id)
            return try withEntry(at: position) { stored in
                try check(stored, holds: stub.id)
                return .placed(Place(stored), isFresh: false)
            }
        }
        let place = try rest.canonical.withUnsafeBytes {
            try append(.event, $0, refusal: nil, now: now)
        }
        try note(rest.sequences, of: rest.origin, chain: rest.after, at: place.position)
        return .placed(place, isFresh: true)
    }

    private func check(_ stored: StoredEntry, holds event: EventID) throws {
        guard stored.kind == .event, CanonicalEntry.isHeld(event, by: stored.body) else {
            throw ServerError.damaged(
                space, at: stored.position, "it does not contain event \(event)")
        }
    }

    /// Compares a pushed event with the stored event that has the same id.
    private mutating func compare(_ view: CanonicalView) throws -> Taken {
        let position = try position(of: view.id)
        return try withEntry(at: position) { stored in
            try check(stored, holds: view.id)
            // A compacted event cannot be compared and is treated as the same event.
            guard RangeStub.isStub(stored.body) || stored.body.holdsSame(as: view.bytes) else {
                return .problem(
                    WireProblem(.fork, of: view.id, "the server has a different event with this id")
                )
            }
            return .placed(Place(stored), isFresh: false)
        }
    }

    private mutating func take(
        _ receipt: Receipt, _ body: UnsafeRawBufferPointer, now: UInt64
    ) throws -> Taken {
        guard receipt.event.sequence <= (try lastSequence(of: receipt.event.origin)) else {
            return .problem(
                WireProblem(
                    .unknownEvent, of: receipt.event,
                    "the receipt belongs to an event that the server does not have"))
        }
        if let known = try knownReceipt(of: receipt.event, from: receipt.lineage),
            !receipt.counts(before: known)
        {
            return .placed(Place(position: 0, receivedAt: .zero), isFresh: false)
        }
        let place = try append(.receipt, body, refusal: nil, now: now)
        try note(receipt, at: place.position)
        return .placed(place, isFresh: true)
    }

    /// Returns the known receipt for an event and a lineage; if there are several, the receipt that
    /// takes precedence.
    ///
    /// For the current lineage, the event's position in the log serves as a receipt. The position
    /// can contradict another receipt of the same lineage only if the server was restored from a
    /// backup without beginning a new lineage. If the position and the receipt contradict each
    /// other, devices need both.
    private mutating func knownReceipt(
        of event: EventID, from lineage: LineageID
    ) throws -> Receipt? {
        if let position = try receiptPosition(of: event, from: lineage) {
            return try withEntry(at: position) { stored in
                var reader = ByteReader(stored.body)
                guard let receipt = reader.receipt(), receipt.event == event else {
                    throw ServerError.damaged(
                        space, at: position, "it is not the receipt of event \(event)")
                }
                return receipt
            }
        }
        guard lineage == state.lineage else { return nil }
        let position = try position(of: event)
        return try withEntry(at: position) { stored in
            Receipt(
                event: event, lineage: lineage, serverPosition: position,
                receivedAt: stored.receivedAt,
                outcome: stored.refusal.map { .refused(ErrorCode(rawValue: $0)) } ?? .accepted)
        }
    }

    /// Appends an entry at the head.
    private mutating func append(
        _ kind: SyncEntryKind, _ body: UnsafeRawBufferPointer, refusal: String?, now: UInt64
    ) throws -> Place {
        var clock = HybridClock(last: state.receivedAt)
        let place = Place(
            position: state.head + 1, receivedAt: clock.tick(milliseconds: now), refusal: refusal)
        var next = state
        next.head = place.position
        next.receivedAt = place.receivedAt
        next.digest.add(
            position: place.position, receivedAt: place.receivedAt, refusal: refusal, kind: kind,
            body)
        try add(
            StoredEntry(
                position: place.position, receivedAt: place.receivedAt, refusal: refusal,
                digest: next.digest, kind: kind, body: body))
        state = next
        return place
    }
}

/// The result of adding an entry.
private enum Taken {
    case placed(Place, isFresh: Bool)
    case problem(WireProblem)

    static func gap(behind last: UInt64, of origin: OriginID) -> Taken {
        .problem(
            WireProblem(
                .gap, of: EventID(origin: origin, sequence: last + 1),
                "the server has \(last) events from \(origin)"))
    }
}

/// The position, time and refusal of an entry.
private struct Place {
    var position: UInt64
    var receivedAt: Stamp
    var refusal: String?

    init(position: UInt64, receivedAt: Stamp, refusal: String? = nil) {
        self.position = position
        self.receivedAt = receivedAt
        self.refusal = refusal
    }

    init(_ stored: StoredEntry) {
        self.init(
            position: stored.position, receivedAt: stored.receivedAt, refusal: stored.refusal)
    }
}

extension WireRefusal {
    init(position: UInt64, code: String) {
        self.init()
        self.position = position
        self.code = code
    }
}

extension WireProblem {
    fileprivate init(
        _ kind: Kind, of event: EventID? = nil, at index: UInt64 = 0, _ message: String
    ) {
        self.init()
        self.kind = kind
        self.index = index
        if let event {
            origin = event.origin.data
            sequence = event.sequence
        }
        self.message = message
    }
}
