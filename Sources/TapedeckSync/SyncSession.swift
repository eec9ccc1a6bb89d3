package import TapedeckLog
internal import TapedeckModel
internal import TapedeckSyncProtocol

/// One sync with one server: applies the decisions of `SyncState` to the log, and returns the next
/// request or wait.
///
/// A session blocks on the log but never on the network, and holds no transaction between calls. A
/// session can be discarded after any call, because all lasting state is in the log.
package struct SyncSession {
    /// The next step for the driver.
    package enum Step: Hashable, Sendable {
        /// Nothing has changed: continue with the previous step.
        case none
        /// Send the request, then call `answered` or `failed`.
        case send(SyncRequest)
        /// Call `woken` at the given time, or earlier to retry immediately.
        case wait(SyncWait)
        /// Everything is done for now; call `localChanged` or `serverChanged` after a change.
        case listen
        case end(SyncFailure?)
    }

    package let log: EventLog
    package private(set) var state: SyncState
    package internal(set) var upstream: Upstream
    package internal(set) var report = SyncReport()
    private var random: any RandomNumberGenerator & Sendable
    /// The content of the last push, in order.
    private var pushed = PushedBatch()
    /// The events of pushes whose responses were lost or altered; they are counted as pushed once
    /// the server confirms that it has them.
    private var unconfirmedPushes: Set<EventID> = []
    private var forked: [OriginID] = []
    /// The next page, which has been read but not recorded, and the response that contained it.
    var pageAhead: (WirePullResponse, PulledPage)?
    /// A receipt that the server must confirm again.
    var unconfirmed: Receipt?
    /// Whether the server has returned to a previous lineage, which means that it was restored from
    /// a backup.
    private var hasReturned = false
    /// The server time of the last handshake, which the next commit stores; a commit of its own
    /// would make every sync wait for the disk once more.
    var clockRow: SyncRow?
    private let now: @Sendable () -> UInt64
    private let clock: SteadyClock

    /// - Parameters:
    ///   - name: The name of the server in the store, which is its address.
    ///   - clock: The local clock used to estimate the server's time.
    ///   - random: Used only for jitter.
    package init(
        _ log: EventLog, upstream name: String, options: SyncState.Options = .init(),
        clock: SteadyClock = .system,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) throws(LogError) {
        self.log = log
        self.clock = clock
        self.random = random
        state = SyncState(options)
        upstream = try Upstream.named(name, in: log)
        now = log.now
    }

    // MARK: - Inputs

    package mutating func begin() throws(LogError) -> Step {
        // A wait that the server has asked for also applies to later syncs.
        if let wait = upstream.wait, wait.isAsked, wait.until > now() {
            return try handle(.asked(wait))
        }
        return try handle(.begin)
    }

    package mutating func woken() throws(LogError) -> Step { try handle(.woken) }
    package mutating func localChanged() throws(LogError) -> Step { try handle(.localChanged) }
    package mutating func stop() throws(LogError) -> Step { try handle(.stop) }

    package mutating func serverChanged(head: UInt64) throws(LogError) -> Step {
        try handle(.serverChanged(head: head))
    }

    package mutating func failed(_ failure: SyncFailure) throws(LogError) -> Step {
        if state.phase == .pushing { unconfirmedPushes.formUnion(pushed.events) }
        return try handle(.failed(failure))
    }

    package mutating func liveEnded(_ failure: SyncFailure) throws(LogError) -> Step {
        try handle(.liveEnded(failure))
    }

    package mutating func answered(_ response: SyncResponse) throws(LogError) -> Step {
        upstream.contactedAt = now()
        upstream.wait = nil
        let input: SyncState.Input
        switch response {
        case .handshake(let answer): input = try shaken(answer)
        case .push(let answer): input = try took(answer)
        case .pull(let answer): input = try apply(answer)
        }
        return try handle(input)
    }

    // MARK: - Actions

    private mutating func handle(_ first: SyncState.Input) throws(LogError) -> Step {
        // Discard the page that was read ahead, because the log may have changed since.
        pageAhead = nil
        var input = first
        while true {
            let action = state.handle(input, try local(), now: now(), &random)
            switch action {
            case .none: return .none
            case .shake:
                var request = WireHandshakeRequest()
                request.protocol = SyncLimits.protocolVersion
                request.origin = log.origin.data
                return .send(.handshake(request))
            case .renewLineage:
                guard let cursor = upstream.cursor else { return .none }
                var request = WireLineageRequest()
                request.cursor = cursor.wire
                request.origin = log.origin.data
                request.hasReturned_p = hasReturned
                if let unconfirmed {
                    var bytes: [UInt8] = []
                    bytes.append(unconfirmed)
                    request.receipt = .init(bytes)
                }
                return .send(.lineage(request))
            case .renewOrigin:
                try log.renewOrigin()
                report.renewedOrigins += 1
                input = .mended
            case .heal(let event):
                report.healed += try log.heal(from: event)
                upstream = Upstream(name: upstream.name)
                input = .mended
            case .push(let bytesMax):
                guard let request = try nextPush(bytesMax) else {
                    // The events that the server lacks are parked or no longer exist, so the next
                    // step must be decided again.
                    input = .pushed([:], nil)
                    continue
                }
                return .send(.push(request))
            case .probe(let event): return .send(.push(try probe(event)))
            case .seed:
                guard let request = try nextSeed() else {
                    input = .seeded
                    continue
                }
                return .send(.push(request))
            case .pull(let bytesMax):
                return .send(
                    .pull(
                        try pullRequest(
                            behind: upstream.cursor ?? cursorAtStart, bytesMax: bytesMax))
                )
            case .wait(let wait):
                // Without a live connection, events are still delivered.
                if case .polling = state.phase { try settle() } else { try note(wait) }
                return .wait(wait)
            case .listen:
                try settle()
                return .listen
            case .end(let failure):
                if let failure {
                    try note(
                        SyncWait(
                            reason: failure.code, message: failure.message,
                            until: state.refusedUntil ?? 0, isAsked: state.refusedUntil != nil))
                } else {
                    try settle()
                }
                return .end(failure)
            }
        }
    }

    /// Stores the wait; does nothing if the device is offline, because the stored network state
    /// already shows that.
    private mutating func note(_ wait: SyncWait) throws(LogError) {
        guard try NetworkState.current(in: log) != .offline else { return }
        upstream.wait = wait
        try log.setSyncRows(rows(upstream))
    }

    /// Returns the rows to store in the next commit.
    mutating func rows(_ upstream: Upstream) -> [SyncRow] {
        defer { clockRow = nil }
        return [upstream.row] + [clockRow].compactMap(\.self)
    }

    private var cursorAtStart: SyncCursor {
        SyncCursor(state.lineage ?? LineageID(high: 0, low: 0))
    }

    private func local() throws(LogError) -> SyncState.Local {
        var last: [OriginID: UInt64] = [:]
        for row in try log.origins() where row.lastSequence > 0 {
            last[row.origin] = row.lastSequence
        }
        return SyncState.Local(
            own: log.origin, lastSequences: last, cursor: upstream.cursor,
            hasReceiptsToSeed: try hasReceiptsToSeed(), forkedOrigins: forked,
            hasReceiptToConfirm: unconfirmed != nil || hasReturned,
            network: try .current(in: log))
    }

    /// Records that everything has been delivered, so that this can be reported without the
    /// network.
    private mutating func settle() throws(LogError) {
        // A stopped session also ends without a failure, so check that everything has been
        // delivered.
        guard state.parked.isEmpty, try lacking().isEmpty else { return }
        upstream.settledAt = try log.currentHead().rawValue
        try log.setSyncRows(rows(upstream))
    }
}

// MARK: - Handshake

extension SyncSession {
    private mutating func shaken(
        _ answer: WireHandshakeResponse
    ) throws(LogError) -> SyncState.Input {
        guard let lineage = LineageID(answer.lineage), answer.head <= StoredNumber.max else {
            return .failed(.malformed("a handshake"))
        }
        guard answer.protocol == SyncLimits.protocolVersion else {
            return .failed(
                SyncFailure(
                    .protocolMismatch,
                    "the server uses protocol version \(answer.protocol); this program"
                        + " uses version \(SyncLimits.protocolVersion)",
                    hint: "upgrade the older program"))
        }
        if answer.timeMilliseconds > 0 {
            clockRow = try ServerClock.row(answer.timeMilliseconds, clock, in: log)
            try LeaseClock.begin(in: log, clock)
        }
        var known: [OriginID: UInt64] = [:]
        forked = []
        for state in answer.origins {
            // Skip invalid entries; a server lists only origins that have events.
            guard let origin = OriginID(state.origin), state.lastSequence > 0 else { continue }
            known[origin] = state.lastSequence
            guard let chain = HashChain([UInt8](state.chain)) else { continue }
            if let own = try log.chain(of: origin, at: state.lastSequence), own != chain {
                forked.append(origin)
            }
        }
        unconfirmed = nil
        if state.phase == .renewing, upstream.cursor?.lineage == lineage {
            // The server was asked for a new lineage, but confirmed the current one.
            upstream.formerLineages.removeAll { $0 == lineage }
        } else {
            if upstream.cursor?.lineage != lineage {
                unconfirmedPushes = []
                // The server is new or has a new lineage: read its log from the beginning, and send
                // the events that it lacks.
                upstream.adopt(lineage)
                upstream.lastReceipt = try lastReceipt(of: lineage)
            }
            // The digest verifies the entries that were read, but not the events that were only
            // pushed, so the server must also confirm the last receipt.
            if let last = upstream.lastReceipt,
                last.serverPosition > upstream.cursor?.position ?? 0
            {
                unconfirmed = last
            }
        }
        let confirmed = unconfirmedPushes.filter { $0.sequence <= known[$0.origin] ?? 0 }
        report.pushed += UInt64(confirmed.count)
        unconfirmedPushes.subtract(confirmed)
        // The former lineage and the last receipt stay in the row until the server has been asked
        // for a new lineage, because the response may be lost or this process may die.
        hasReturned = upstream.formerLineages.contains(lineage)
        for (origin, sequence) in known where upstream.acknowledged[origin] ?? 0 < sequence {
            // Ignore the origins that this device has not pushed yet, except its own origin.
            if upstream.acknowledged[origin] != nil || origin == log.origin {
                upstream.acknowledged[origin] = sequence
            }
        }
        return .shaken(lineage: lineage, head: answer.head, lastSequences: known)
    }
}

extension SyncSession {
    /// Returns the receipt with the highest position in a lineage; reads all receipts.
    ///
    /// If the server's log still has the receipt's entry at that position, it also has all earlier
    /// entries.
    private func lastReceipt(of lineage: LineageID) throws(LogError) -> Receipt? {
        var last: Receipt?
        var place: [UInt8]? = []
        while let from = place {
            let page = try log.receipts(after: from, limit: SyncSession.receiptsPerPushMax)
            for receipt in page.receipts
            where receipt.lineage == lineage && receipt.serverPosition > last?.serverPosition ?? 0 {
                last = receipt
            }
            place = page.next
        }
        return last
    }
}

extension SyncFailure {
    static let altered = SyncFailure(
        .altered, "a page of the server's log was changed in transit",
        hint: "the page will be requested again; check for faulty proxies")

    static func malformed(_ what: String, _ reason: String? = nil) -> SyncFailure {
        let detail = reason.map { ": \($0)" } ?? ""
        return SyncFailure(
            .malformedRequest, "the server's response to \(own: what) is invalid\(own: detail)",
            hint: "check that the address is that of a Tapedeck server; upgrade the older program")
    }
}

// MARK: - Push

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

    private mutating func nextPush(_ bytesMax: Int) throws(LogError) -> WirePushRequest? {
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

    private mutating func probe(_ event: EventID) throws(LogError) -> WirePushRequest {
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
    private mutating func took(_ answer: WirePushResponse) throws(LogError) -> SyncState.Input {
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
            try log.setSyncRows(rows(upstream))
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

    private func hasReceiptsToSeed() throws(LogError) -> Bool {
        if upstream.seedPlace != nil { return true }
        return try ReceiptRounds.current(log) > upstream.seedRound
    }

    /// Returns the next receipts of other lineages; nil if there are none.
    private mutating func nextSeed() throws(LogError) -> WirePushRequest? {
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
        try log.setSyncRows(rows(upstream))
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
