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
    var pushed = PushedBatch()
    /// The events of pushes whose responses were lost or altered; they are counted as pushed once
    /// the server confirms that it has them.
    var unconfirmedPushes: Set<EventID> = []
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
        try store()
    }

    /// Returns the rows to store in the next commit.
    func rows(_ upstream: Upstream) -> [SyncRow] {
        [upstream.row] + [clockRow].compactMap(\.self)
    }

    /// Stores what this session knows of the server in a commit of its own.
    mutating func store() throws(LogError) {
        try log.setSyncRows(rows(upstream))
        clockRow = nil
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
        try store()
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
            clockRow = ServerClock.row(answer.timeMilliseconds, clock)
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
