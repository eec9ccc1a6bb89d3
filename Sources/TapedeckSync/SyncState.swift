package import TapedeckModel
package import TapedeckSyncProtocol

/// # Sync with one server, as a pure state machine
///
/// The machine takes inputs and returns actions; the time and the random source are arguments. The
/// driver, `SyncSession`, performs each action and reports the result as the next input.
///
/// ```
/// ready ──begin──▶ shaking ──shaken──▶ (what next?) ◀───────────────┐
///                     ▲                 │ own history forgotten: renewOrigin
///                     │                 │ server lost a part: renewing ──▶ shaken
///                     │                 │ histories differ: probing ──▶ heal
///                     │                 │ server lacks events: pushing ─┤
///                     │                 │ device lacks entries: pulling ┤
///                     │                 │ server lacks receipts: seeding┘
///                     │                 └ nothing: settled (ends, or listens while live)
///   any failure ──▶ waiting(reason, until) ──woken──┘
///   no live connection: settled ──▶ polling(reason, until) ──woken──▶ shaking
/// ```
///
/// Invariants:
/// 1. Every phase except `ready`, `settled` and `ended` waits for one specific response or time.
/// 2. A failure never changes the record of delivered events. After a failure, a handshake
///    determines the position.
/// 3. Events are offered only after the server's chain has been found to agree with this store's
///    chain.
/// 4. If a server cannot accept the events of an origin, the origin is parked with a code and the
///    other origins continue.
package struct SyncState: Sendable {
    /// Options of a session.
    package struct Options: Hashable, Sendable {
        /// Whether to stay connected when there is nothing more to do.
        package var isLive: Bool
        /// The number of consecutive failures after which a session ends; 0 to never end it.
        package var failuresMax: UInt32
        /// The maximum wait between two attempts, in milliseconds.
        package var backoffMax: UInt64
        /// The maximum wait for the other side in a one-time sync, in milliseconds; a sync that
        /// would have to wait longer ends.
        package var waitMax: UInt64

        package init(
            isLive: Bool = false, failuresMax: UInt32 = 3, backoffMax: UInt64 = Backoff.waitMax,
            waitMax: UInt64 = 30_000
        ) {
            self.isLive = isLive
            self.failuresMax = failuresMax
            self.backoffMax = backoffMax
            self.waitMax = waitMax
        }
    }

    package enum Phase: Hashable, Sendable {
        case ready, shaking, renewing, pushing, probing, pulling, seeding, settled
        case waiting(SyncWait)
        /// Everything is done, but there is no live connection, so changes on the server are pulled
        /// from time to time.
        case polling(SyncWait)
        case ended(SyncFailure?)
    }

    /// The local data for decisions, read again for every input.
    package struct Local: Sendable {
        /// The origin of this device.
        package var own: OriginID
        /// The last sequence number of every origin in the local log.
        package var lastSequences: [OriginID: UInt64]
        /// The position up to which the server's log has been read; nil if it has never been read.
        package var cursor: SyncCursor?
        /// Whether there may be receipts of other lineages that the server lacks.
        package var hasReceiptsToSeed: Bool
        /// The origins whose chain differs from the server's; used only after a handshake.
        package var forkedOrigins: [OriginID]
        /// Whether the server must confirm the last receipt, because the receipt's position is
        /// beyond the part of the server's log that has been read.
        ///
        /// Used only after a handshake.
        package var hasReceiptToConfirm: Bool
        /// The network state set by the app.
        package var network: NetworkState

        package init(
            own: OriginID, lastSequences: [OriginID: UInt64], cursor: SyncCursor?,
            hasReceiptsToSeed: Bool = false, forkedOrigins: [OriginID] = [],
            hasReceiptToConfirm: Bool = false, network: NetworkState = .online
        ) {
            self.hasReceiptToConfirm = hasReceiptToConfirm
            self.network = network
            self.own = own
            self.lastSequences = lastSequences
            self.cursor = cursor
            self.hasReceiptsToSeed = hasReceiptsToSeed
            self.forkedOrigins = forkedOrigins
        }
    }

    package enum Input: Sendable {
        case begin
        /// A response to a handshake or to a request for a new lineage.
        case shaken(lineage: LineageID, head: UInt64, lastSequences: [OriginID: UInt64])
        /// A response to a push: the last sequence number of each origin on the server, and the
        /// problem that ended the push early.
        case pushed([OriginID: UInt64], SyncProblem?)
        /// The server has accepted some receipts.
        case seeded
        /// A page has been recorded; the second value is the last sequence number of each origin on
        /// the page.
        case pulled(head: UInt64, [OriginID: UInt64])
        /// `renewOrigin` or `heal` has rewritten this store's events.
        case mended
        case failed(SyncFailure)
        /// The live connection ended, or could not be opened.
        case liveEnded(SyncFailure)
        /// This device has new events.
        case localChanged
        /// The server has announced new entries.
        case serverChanged(head: UInt64)
        /// The server asked an earlier sync to wait until a time that is still in the future.
        case asked(SyncWait)
        /// A wait has ended, or a retry was requested.
        case woken
        case stop
    }

    package enum Action: Hashable, Sendable {
        case none
        case shake
        case renewLineage
        case renewOrigin
        /// Push events that the server lacks, up to `bytesMax`. Events of parked origins, which the
        /// server cannot accept, are skipped.
        case push(bytesMax: Int)
        /// Push one event again, to check whether the server has the same event.
        case probe(EventID)
        /// Rewrite an origin's events starting with this event, which is the first event at which
        /// the histories differ.
        case heal(EventID)
        case seed
        case pull(bytesMax: Int)
        case wait(SyncWait)
        /// Everything is done; listen for changes.
        case listen
        case end(SyncFailure?)
    }

    package let options: Options
    package private(set) var phase = Phase.ready
    package private(set) var lineage: LineageID?
    /// The position of the server's head, as last reported.
    package private(set) var head: UInt64 = 0
    /// The last sequence number of each origin on the server.
    package private(set) var acknowledged: [OriginID: UInt64] = [:]
    /// The origins whose events the server does not accept, and the reasons.
    package private(set) var parked: [OriginID: SyncProblem] = [:]
    private var backoff: Backoff
    /// The phase in which the last failure occurred; nil after that phase has succeeded.
    private var failedPhase: Phase?
    /// The backoff for parked origins, which grows even if everything else succeeds.
    private var parking: Backoff
    private var listening: Listening
    private var pushBytes = SyncLimits.pushBytesUsual
    private var search: ForkSearch?
    /// The origins whose chain was reported to differ although their last event is the same.
    private var doubted: Set<OriginID> = []
    /// The store's own origin, and the own origins created in this session.
    ///
    /// No other device can have recorded events under a new origin.
    private var own: (current: OriginID?, new: Set<OriginID>) = (nil, [])
    /// The origins that were reported to differ although no event that can be compared differs, or
    /// although only this store has used the origin.
    private var unproved: Set<OriginID> = []
    /// The number of consecutive pushes without progress.
    private var idlePushes = 0
    /// The number of lineage renewals in this session; a server that causes too many renewals is
    /// considered broken.
    private var renewals = 0
    /// The number of heals in this session; each heal records events again, so the number is
    /// limited in case the server keeps reporting differences.
    private var heals = 0
    private var pullsNext = false
    /// The time from which the server accepts requests again, in milliseconds since 1970, if the
    /// sync ended because the server asked for a long wait.
    package private(set) var refusedUntil: UInt64?
    /// Whether the server has responded to a pull from this store's cursor since the handshake.
    ///
    /// A restored server may have reached the same head again with different entries.
    private var isCursorConfirmed = false

    private static let idlePushesMax = 3
    private static let renewalsMax = 3
    private static let healsMax = 16

    package init(_ options: Options = Options()) {
        self.options = options
        backoff = Backoff(longest: options.backoffMax)
        parking = Backoff(longest: options.backoffMax)
        listening = Listening(pollsWithin: options.backoffMax)
    }

    /// Handles an input and returns the next action.
    package mutating func handle(
        _ input: Input, _ local: Local, now: UInt64, _ random: inout some RandomNumberGenerator
    ) -> Action {
        if case .ended = phase { return .none }
        if let former = own.current, former != local.own { own.new.insert(local.own) }
        own.current = local.own
        switch input {
        case .stop: return end(nil)
        case .begin, .woken:
            switch phase {
            case .ready, .waiting, .settled, .polling: return offline(local, now) ?? shake()
            default: return .none
            }
        case .asked(let wait): return rest(wait, now)
        case .localChanged:
            return isDone ? next(local, now, &random) : .none
        case .serverChanged(let head):
            // A repeated announcement of a known head changes nothing.
            guard head > self.head else { return .none }
            self.head = head
            return isDone ? next(local, now, &random) : .none
        case .shaken(let lineage, let head, let lastSequences):
            return shaken(lineage, head, lastSequences, local, now, &random)
        case .pushed(let reached, let problem):
            return pushed(reached, problem, local, now, &random)
        case .seeded:
            succeeded()
            return next(local, now, &random)
        case .pulled(let head, let reached):
            self.head = head
            isCursorConfirmed = true
            // Events from the server need not be pushed back.
            for (origin, sequence) in reached {
                acknowledged[origin] = max(known(origin), sequence)
            }
            succeeded()
            return next(local, now, &random)
        case .mended:
            // Ask the server again for the last sequence numbers of the old and the new origin.
            search = nil
            return shake()
        case .failed(let failure):
            return failed(failure, local, now, &random)
        case .liveEnded(let failure):
            return liveEnded(failure, now, &random)
        }
    }
}

/// A wait and its reason.
package struct SyncWait: Hashable, Sendable {
    package var reason: ErrorCode
    package var message: String
    /// The end of the wait, in milliseconds since 1970; 0 if it is unknown.
    package var until: UInt64
    /// Whether the other side requested the wait, so that it also applies to later syncs.
    package var isAsked = false

    /// Returns whether the wait is still in progress.
    package func holds(at now: UInt64) -> Bool { until == 0 || until > now }

    /// Returns the end of the wait; nil if it is unknown or in the past.
    package func end(after now: UInt64) -> UInt64? { until > now ? until : nil }

    package init(reason: ErrorCode, message: String, until: UInt64, isAsked: Bool = false) {
        self.reason = reason
        self.message = message
        self.until = until
        self.isAsked = isAsked
    }
}

/// The reason why a server did not accept an event.
package struct SyncProblem: Hashable, Sendable {
    package var kind: WireProblem.Kind
    package var origin: OriginID
    /// See `WireProblem`.
    package var sequence: UInt64
    package var message: String

    /// The error code of the problem.
    package var code: ErrorCode {
        switch kind {
        case .fork: .fork
        case .gap: .gap
        default: .malformedRequest
        }
    }

    package init(
        kind: WireProblem.Kind, origin: OriginID, sequence: UInt64, message: String
    ) {
        self.kind = kind
        self.origin = origin
        self.sequence = sequence
        self.message = message
    }
}

// MARK: - Next action

extension SyncState {
    private mutating func shake() -> Action {
        phase = .shaking
        parked = [:]
        return .shake
    }

    /// Returns the action to take if the device is offline; nil if it is online.
    private mutating func offline(_ local: Local, _ now: UInt64) -> Action? {
        if let failure = local.network.failure, !options.isLive { return end(failure) }
        guard let wait = local.network.wait(until: now + NetworkState.pause) else { return nil }
        phase = .waiting(wait)
        return .wait(wait)
    }

    private mutating func end(_ failure: SyncFailure?) -> Action {
        phase = .ended(failure)
        return .end(failure)
    }

    /// Records the success of a step.
    ///
    /// If another phase has failed, that failure is not cleared: a server that answers pulls but
    /// never accepts a push must not be retried forever.
    private mutating func succeeded() {
        if let failedPhase, failedPhase != phase { return }
        failedPhase = nil
        backoff.succeed()
    }

    private mutating func shaken(
        _ lineage: LineageID, _ head: UInt64, _ lastSequences: [OriginID: UInt64], _ local: Local,
        _ now: UInt64, _ random: inout some RandomNumberGenerator
    ) -> Action {
        // A handshake alone is not a success: a server that accepts only handshakes must not be
        // retried forever.
        self.lineage = lineage
        self.head = head
        acknowledged = lastSequences
        idlePushes = 0
        search = nil
        isCursorConfirmed = false
        if local.hasReceiptToConfirm {
            phase = .renewing
            return .renewLineage
        }
        if let cursor = local.cursor, cursor.lineage == lineage, cursor.position > head {
            return renew(local, now, &random)
        }
        // The server has an event from this device that the store lacks, so the store was restored
        // to an earlier state.
        if acknowledged[local.own] ?? 0 > local.lastSequences[local.own] ?? 0 {
            phase = .shaking
            return .renewOrigin
        }
        if let origin = local.forkedOrigins.first(where: { !unproved.contains($0) }) {
            return searchFork(
                origin, differs: min(known(origin), last(origin, local)),
                isConfirmed: doubted.contains(origin), local, now, &random)
        }
        return next(local, now, &random)
    }

    private mutating func renew(
        _ local: Local, _ now: UInt64, _ random: inout some RandomNumberGenerator
    ) -> Action {
        renewals += 1
        guard renewals <= SyncState.renewalsMax else {
            return failed(
                SyncFailure(
                    .cursorMismatch, "the server keeps losing data",
                    hint: "check the server's log and disk"), local, now, &random)
        }
        phase = .renewing
        return .renewLineage
    }

    private func known(_ origin: OriginID) -> UInt64 { acknowledged[origin] ?? 0 }
    private func last(_ origin: OriginID, _ local: Local) -> UInt64 {
        local.lastSequences[origin] ?? 0
    }

    /// Returns whether the server lacks events that can be pushed.
    private func lacksEvents(_ local: Local) -> Bool {
        local.lastSequences.contains { parked[$0.key] == nil && $0.value > known($0.key) }
    }

    /// Decides the next action; pushing and pulling alternate.
    private mutating func next(
        _ local: Local, _ now: UInt64, _ random: inout some RandomNumberGenerator
    ) -> Action {
        if let search { return probe(search, local, now, &random) }
        if let offline = offline(local, now) { return offline }
        let pulls =
            local.cursor.map {
                $0.lineage != lineage || $0.position < head
                    || !isCursorConfirmed && $0.position > 0
            } ?? (head > 0)
        let pushes = lacksEvents(local)
        if pulls, pullsNext || !pushes {
            phase = .pulling
            pullsNext = false
            return .pull(bytesMax: SyncLimits.pullBytesUsual)
        }
        if pushes {
            phase = .pushing
            pullsNext = true
            return .push(bytesMax: pushBytes)
        }
        // Seed last, because servers accept receipts only for events that they have.
        if local.hasReceiptsToSeed {
            phase = .seeding
            return .seed
        }
        guard options.isLive else { return end(nil) }
        if let problem = parked.values.min(by: { $0.origin < $1.origin }) {
            // Nothing signals that a retry would succeed, so wait and try again.
            let wait = parking.fail(retryAfter: nil, &random)
            let waiting = SyncWait(
                reason: problem.code, message: problem.message, until: now + wait)
            phase = .waiting(waiting)
            return .wait(waiting)
        }
        parking.succeed()
        failedPhase = nil
        succeeded()
        return settle(now, &random)
    }

    /// Whether everything was done at the last check.
    private var isDone: Bool {
        switch phase {
        case .settled, .polling: true
        default: false
        }
    }

    /// Listens, or polls while the live connection must not be opened.
    private mutating func settle(
        _ now: UInt64, _ random: inout some RandomNumberGenerator
    ) -> Action {
        guard let wait = listening.pause(at: now, &random) else {
            phase = .settled
            return .listen
        }
        phase = .polling(wait)
        return .wait(wait)
    }

    private mutating func liveEnded(
        _ failure: SyncFailure, _ now: UInt64, _ random: inout some RandomNumberGenerator
    ) -> Action {
        listening.ended(failure, now, &random)
        return phase == .settled ? settle(now, &random) : .none
    }

    // MARK: - Answers

    private mutating func pushed(
        _ reached: [OriginID: UInt64], _ problem: SyncProblem?, _ local: Local, _ now: UInt64,
        _ random: inout some RandomNumberGenerator
    ) -> Action {
        // A probe is not progress, so if the server always claims a fork, the session ends.
        if phase == .probing { return probed(reached, problem, local, now, &random) }
        succeeded()
        let before = acknowledged
        for (origin, sequence) in reached {
            acknowledged[origin] = max(known(origin), sequence)
        }
        if acknowledged != before { idlePushes = 0 }
        if problem != nil || acknowledged == before { idlePushes += 1 }
        if let problem {
            switch problem.kind {
            case .gap
            where idlePushes <= SyncState.idlePushesMax
                && problem.sequence - min(problem.sequence, 1) <= last(problem.origin, local):
                // The server has fewer events than it reported, so continue with the event that it
                // asks for.
                acknowledged[problem.origin] = problem.sequence - min(problem.sequence, 1)
            case .fork:
                let differs =
                    problem.sequence > 0
                    ? problem.sequence : min(known(problem.origin), last(problem.origin, local))
                if differs > 0 {
                    return searchFork(
                        problem.origin, differs: differs,
                        isConfirmed: doubted.contains(problem.origin), local, now, &random)
                }
                park(problem, local)
            default:
                park(problem, local)
            }
        }
        guard idlePushes <= SyncState.idlePushesMax else {
            return failed(
                SyncFailure(
                    .malformedRequest, "the server accepts no events and does not say why",
                    hint: "check the server's version and log"), local, now, &random)
        }
        return next(local, now, &random)
    }

    /// Excludes an origin from the session; later pushes then contain fewer origins, which is
    /// progress.
    private mutating func park(_ problem: SyncProblem, _ local: Local) {
        if parked[problem.origin] == nil, last(problem.origin, local) > known(problem.origin) {
            idlePushes = 0
        }
        parked[problem.origin] = problem
    }

    private mutating func searchFork(
        _ origin: OriginID, differs: UInt64, isConfirmed: Bool, _ local: Local, _ now: UInt64,
        _ random: inout some RandomNumberGenerator
    ) -> Action {
        let search = ForkSearch(origin: origin, differs: differs, isConfirmed: isConfirmed)
        self.search = search
        return probe(search, local, now, &random)
    }

    private mutating func probe(
        _ search: ForkSearch, _ local: Local, _ now: UInt64,
        _ random: inout some RandomNumberGenerator
    ) -> Action {
        phase = .probing
        guard search.isOver else {
            return .probe(EventID(origin: search.origin, sequence: search.asked))
        }
        guard search.isProved, !own.new.contains(search.origin) else {
            if unproved.insert(search.origin).inserted {
                // The server's log shows whether its compacted events differ, so read it first.
                self.search = nil
                pullsNext = true
                return next(local, now, &random)
            }
            return failed(
                SyncFailure(
                    .altered, "the server claims a difference that its events do not have",
                    hint: "check for faulty proxies, and check the server's log and disk"), local,
                now, &random)
        }
        heals += 1
        guard heals <= SyncState.healsMax else {
            return failed(
                SyncFailure(
                    .fork, "the server keeps claiming that the histories differ",
                    hint: "check the server's log and disk"), local, now, &random)
        }
        return .heal(EventID(origin: search.origin, sequence: search.differs))
    }

    private mutating func probed(
        _ reached: [OriginID: UInt64], _ problem: SyncProblem?, _ local: Local, _ now: UInt64,
        _ random: inout some RandomNumberGenerator
    ) -> Action {
        guard var search else { return next(local, now, &random) }
        if problem?.kind == .fork {
            search.differs = search.asked
            (search.isConfirmed, search.isProved) = (true, true)
        } else if let problem {
            // The difference cannot be located. Park the origin until the next handshake.
            parked[search.origin] = problem
            self.search = nil
            return next(local, now, &random)
        } else if search.isConfirmed {
            search.agreed = search.asked
        } else if reached[search.origin] == search.asked {
            // The last event is the same, so the chain was probably changed in transit. If the
            // chain differs again, an earlier event differs.
            doubted.insert(search.origin)
            return failed(
                SyncFailure(
                    .altered, "a response of the server was changed in transit",
                    hint: "the sync will be repeated; check for faulty proxies"), local, now,
                &random
            )
        } else {
            // For compacted events, only the chain can be compared.
            (search.isConfirmed, search.isProved) = (true, true)
        }
        self.search = search
        return probe(search, local, now, &random)
    }

    // MARK: - Failures

    private mutating func failed(
        _ failure: SyncFailure, _ local: Local, _ now: UInt64,
        _ random: inout some RandomNumberGenerator
    ) -> Action {
        switch failure.code {
        case .lineageChanged where backoff.failures == 0:
            // The handshake returns the new lineage. If the lineage changes twice in a row, the
            // server is broken.
            _ = backoff.fail(retryAfter: nil, &random)
            return shake()
        case .cursorMismatch
        where (phase == .pulling || phase == .pushing) && renewals < SyncState.renewalsMax:
            return renew(local, now, &random)
        case .tooLarge where phase == .pushing && pushBytes > SyncState.pushBytesMin:
            pushBytes /= 2
            return .push(bytesMax: pushBytes)
        default: break
        }
        search = nil
        failedPhase = [.pushing, .probing, .pulling, .seeding].contains(phase) ? phase : nil
        let wait = backoff.fail(retryAfter: failure.retryAfter, &random)
        let isOver = options.failuresMax > 0 && backoff.failures >= options.failuresMax
        // Only a push can be too large for the server. If the server rejects any other body as too
        // large, the size of the body was changed in transit, so a retry may succeed.
        let mayPass = failure.isTransient || failure.code == .tooLarge && phase != .pushing
        guard !isOver, mayPass || options.isLive else { return end(failure) }
        return rest(
            SyncWait(
                reason: failure.code, message: failure.message, until: now + wait,
                isAsked: failure.retryAfter != nil), now)
    }

    /// Waits; a one-time sync ends instead if the server has asked for a long wait.
    private mutating func rest(_ wait: SyncWait, _ now: UInt64) -> Action {
        guard options.isLive || !wait.isAsked || wait.until <= now + options.waitMax else {
            refusedUntil = wait.until
            return end(SyncFailure(wait.reason, "\(wait.message)"))
        }
        phase = .waiting(wait)
        return .wait(wait)
    }

    /// The minimum value of `pushBytes`; an event larger than the limit is sent alone.
    private static let pushBytesMin = 16 << 10
}
