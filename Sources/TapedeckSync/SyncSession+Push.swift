internal import TapedeckLog
internal import TapedeckModel
internal import TapedeckSyncProtocol

/// The content of a push.
struct PushedBatch: Sendable {
    var events: [EventID] = []
    /// The origins whose events or chains are in the push.
    var origins: Set<OriginID> = []
    /// The number of receipts that follow the events.
    var receipts = 0
    /// The position at which the next seed starts; nil if there is no next seed.
    var seedPlace: [UInt8]?
}

extension SyncSession {
    /// The maximum number of receipts in a push.
    static let receiptsPerPushMax = 8_192

    /// Returns a push of the next events that the server lacks; nil if there are none.
    mutating func nextPush(_ bytesMax: Int) throws(LogError) -> WirePushRequest? {
        var request = WirePushRequest()
        request.lineage = upstream.cursor?.lineage.data ?? .init()
        var batch = PushedBatch()
        var entries: [UInt8] = []
        let lacking = try log.origins().filter {
            $0.lastSequence > state.acknowledged[$0.origin] ?? 0 && state.parked[$0.origin] == nil
        }
        // Push the store's own origin first, because other devices may also push the events of the
        // other origins.
        let own = log.origin
        for row in lacking.sorted(by: { ($0.origin == own ? 0 : 1) < ($1.origin == own ? 0 : 1) }) {
            guard entries.count < bytesMax, batch.events.count < SyncLimits.pushEntriesMax else {
                break
            }
            batch.origins.insert(row.origin)
            let from = state.acknowledged[row.origin] ?? 0
            // Omit the chain inside a compacted range, where it is unknown. The next known chain
            // will show any difference between the histories.
            if let chain = try log.chain(of: row.origin, at: from) {
                request.bases.append(.init(row.origin, from, chain))
            }
            try log.forEachCanonical(of: row.origin, after: from) { id, canonical in
                if !batch.events.isEmpty,
                    entries.count + canonical.count + SyncEntryReader.headCount > bytesMax
                        || batch.events.count >= SyncLimits.pushEntriesMax
                {
                    return false
                }
                entries.appendEntry(.event, canonical)
                batch.events.append(id)
                return true
            }
        }
        guard !batch.events.isEmpty else { return nil }
        request.entries = .init(entries)
        pushed = batch
        return request
    }

    /// Returns a push of one event, which shows whether the server has a different one in its place.
    mutating func probe(_ event: EventID) throws(LogError) -> WirePushRequest {
        var request = WirePushRequest()
        request.lineage = upstream.cursor?.lineage.data ?? .init()
        var entries: [UInt8] = []
        // Compacted events cannot be compared, and a probe must not add anything to the server.
        var asked: [EventID] = []
        try log.forEachCanonical(of: event.origin, after: event.sequence - 1) { _, canonical in
            guard !RangeStub.isStub(canonical) else { return false }
            entries.appendEntry(.event, canonical)
            asked = [event]
            return false
        }
        request.entries = .init(entries)
        pushed = PushedBatch(events: asked, origins: [event.origin])
        return request
    }

    /// Applies the response to a push.
    mutating func took(_ answer: WirePushResponse) throws(LogError) -> SyncState.Input {
        guard let lineage = LineageID(answer.lineage), lineage == upstream.cursor?.lineage,
            answer.positions.count == answer.receivedAt.count,
            answer.positions.count <= pushed.events.count + pushed.receipts,
            !answer.hasProblem || isPossible(answer.problem)
        else { return .failed(.malformed("a push")) }
        let isProbe = state.phase == .probing
        let isSeed = state.phase == .seeding
        let read = upstream.cursor?.position ?? 0
        let former = upstream.acknowledged
        var isContradiction = false
        var refusals: [UInt64: ErrorCode] = [:]
        for refusal in answer.refusals where !refusal.code.isEmpty {
            refusals[refusal.position] = ErrorCode(
                rawValue: String(refusal.code.prefix(Receipt.codeLengthMax)))
        }
        var receipts: [Receipt] = []
        var reached: [OriginID: UInt64] = [:]
        for (index, event) in pushed.events.prefix(answer.positions.count).enumerated() {
            let position = answer.positions[index]
            guard (1...StoredNumber.max).contains(position) else {
                return .failed(.malformed("a push"))
            }
            let code = refusals[position]
            // Compare the position with earlier data only if the server has already acknowledged
            // the event, or if the server's log has been read up to the position.
            if !isProbe, position <= read || event.sequence <= former[event.origin] ?? 0,
                try !holds(event, lineage, position)
            {
                isContradiction = true
                unconfirmed = try receipt(of: event, lineage) ?? unconfirmed
            }
            receipts.append(
                Receipt(
                    event: event, lineage: lineage, serverPosition: position,
                    receivedAt: Stamp(rawValue: answer.receivedAt[index]),
                    outcome: code.map { .refused($0) } ?? .accepted))
            reached[event.origin] = max(reached[event.origin] ?? 0, event.sequence)
            if let code, !isProbe { report.refused.append(.init(event: event, code: code)) }
        }
        // Seeds contain only receipts, which are not counted.
        if !isProbe, !isSeed {
            let placed = pushed.events.prefix(answer.positions.count)
            let repeated = placed.count { unconfirmedPushes.remove($0) != nil }
            let fresh = min(answer.fresh, UInt64(placed.count))
            report.pushed += fresh + min(UInt64(repeated), UInt64(placed.count) - fresh)
        }
        for (origin, sequence) in reached {
            upstream.acknowledged[origin] = max(upstream.acknowledged[origin] ?? 0, sequence)
        }
        if isSeed {
            upstream.seedPlace = pushed.seedPlace
            if let last = zip(answer.positions, answer.receivedAt).max(by: { $0.0 < $1.0 }),
                last.0 > upstream.cursor?.position ?? 0
            {
                upstream.lastSeed = .init(
                    position: last.0, receivedAt: Stamp(rawValue: last.1))
            }
            try store()
            return .seeded
        }
        if let last = receipts.max(by: { $0.serverPosition < $1.serverPosition }),
            last.serverPosition > upstream.lastReceipt?.serverPosition ?? 0
        {
            upstream.lastReceipt = last
        }
        if !isProbe, answer.hasProblem, answer.problem.kind == .gap,
            let origin = OriginID(answer.problem.origin),
            answer.problem.sequence <= former[origin] ?? 0
        {
            // The server asks for an event for which it has already issued a receipt.
            isContradiction = true
            let event = EventID(origin: origin, sequence: answer.problem.sequence)
            unconfirmed = try receipt(of: event, lineage) ?? upstream.lastReceipt
        }
        // Record the receipts even if there is a problem: the event with the problem has no
        // receipt, and the server and this store agree on all other events.
        try log.record(receipts: receipts, rows: rows(upstream))
        clockRow = nil
        if isContradiction {
            return .failed(
                SyncFailure(
                    .cursorMismatch,
                    "the server assigned events to positions that already hold other events"))
        }
        let problem: SyncProblem? =
            answer.hasProblem
            ? SyncProblem(
                kind: answer.problem.kind,
                origin: OriginID(answer.problem.origin)
                    ?? pushed.events.dropFirst(answer.positions.count).first?.origin ?? log.origin,
                sequence: answer.problem.sequence, message: answer.problem.message) : nil
        return .pushed(reached, problem)
    }

    /// Returns whether a problem is about the push: if it is believed, events are recorded again.
    private func isPossible(_ problem: WireProblem) -> Bool {
        // A problem with the chains of an empty push has the index 0.
        guard problem.index < max(1, pushed.events.count + pushed.receipts) else { return false }
        switch problem.kind {
        case .gap, .fork: return OriginID(problem.origin).map(pushed.origins.contains) ?? false
        default: return true
        }
    }

    /// Returns whether an event is known to be at a position in the server's log.
    private func holds(
        _ event: EventID, _ lineage: LineageID, _ position: UInt64
    ) throws(LogError) -> Bool {
        if let held = try receipt(of: event, lineage) { return held.serverPosition == position }
        // A compacted range has only one position on the server: the position in the receipt of the
        // last event in the range.
        return try log.isCovered(event, lineage, by: position)
    }

    /// Returns the receipt for an event in a lineage.
    private func receipt(
        of event: EventID, _ lineage: LineageID
    ) throws(LogError) -> Receipt? {
        try log.receipts(of: event).first { $0.lineage == lineage }
    }

    // MARK: - Seeding

    /// Returns whether the server may lack receipts of other lineages.
    func hasReceiptsToSeed() throws(LogError) -> Bool {
        if upstream.seedPlace != nil { return true }
        return try ReceiptRounds.current(log) > upstream.seedRound
    }

    /// Returns the next receipts of other lineages; nil if there are none.
    mutating func nextSeed() throws(LogError) -> WirePushRequest? {
        let round = try ReceiptRounds.current(log)
        if upstream.seedPlace == nil { upstream.seedPlace = [] }
        if upstream.seedPlace == [] { upstream.seedRound = round }
        while let place = upstream.seedPlace {
            let page = try log.receipts(after: place, limit: SyncSession.receiptsPerPushMax)
            let others = page.receipts.filter {
                $0.lineage != upstream.cursor?.lineage
                    && $0.event.sequence <= state.acknowledged[$0.event.origin] ?? 0
            }
            guard !others.isEmpty else {
                upstream.seedPlace = page.next
                continue
            }
            var entries: [UInt8] = []
            for receipt in others { entries.appendEntry(receipt) }
            var request = WirePushRequest()
            request.lineage = upstream.cursor?.lineage.data ?? .init()
            request.entries = .init(entries)
            pushed = PushedBatch(events: [], receipts: others.count, seedPlace: page.next)
            return request
        }
        try store()
        return nil
    }
}

extension WireOriginState {
    init(_ origin: OriginID, _ lastSequence: UInt64, _ chain: HashChain) {
        self.init()
        self.origin = origin.data
        self.lastSequence = lastSequence
        self.chain = .init(chain.bytes)
    }
}
