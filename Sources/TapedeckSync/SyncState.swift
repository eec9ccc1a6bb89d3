package import TapedeckModel
package import TapedeckSyncProtocol

/// # Sync with one server, as a pure state machine
///
/// Inputs come in, one action goes out; the clock's time and the random source are arguments. Whoever
/// drives it (`SyncSession`) does what the action says and reports with the next input.
///
///     ready ──begin──▶ shaking ──shaken──▶ (what next?) ◀───────────────┐
///                         ▲                 │ own history forgotten: renewOrigin
///                         │                 │ server lost a part: renewing ──▶ shaken
///                         │                 │ histories differ: probing ──▶ heal
///                         │                 │ server lacks events: pushing ─┤
///                         │                 │ device lacks entries: pulling ┤
///                         │                 │ server lacks receipts: seeding┘
///                         │                 └ nothing: settled (ends, or listens while live)
///       any failure ──▶ waiting(reason, until) ──woken──┘
///
/// Invariants:
/// 1. Every phase but `ready`, `settled` and `ended` waits for one named answer or one named time.
/// 2. A failure never changes what is known to be delivered; after one, a handshake says where we are.
/// 3. Events are offered only after the server's chain was seen to agree with ours.
/// 4. An origin whose events a server cannot take is parked, with a code; the others go on.
package struct SyncState: Sendable {
    /// How a session behaves.
    package struct Options: Hashable, Sendable {
        /// Whether to stay connected when there is nothing more to do.
        package var isLive: Bool
        /// Failures in a row after which a session ends; 0 for never.
        package var failuresMax: UInt32
        /// The longest wait between two attempts, in milliseconds.
        package var backoffMax: UInt64

        package init(
            isLive: Bool = false, failuresMax: UInt32 = 3, backoffMax: UInt64 = Backoff.waitMax
        ) {
            self.isLive = isLive
            self.failuresMax = failuresMax
            self.backoffMax = backoffMax
        }
    }

    package enum Phase: Hashable, Sendable {
        case ready, shaking, renewing, pushing, probing, pulling, seeding, settled
        case waiting(SyncWait)
        case ended(SyncFailure?)
    }

    /// What of this device the decisions rest on; read anew for every input.
    package struct Local: Sendable {
        /// The origin that the device writes as.
        package var own: OriginID
        /// The last sequence of every origin.
        package var lastSequences: [OriginID: UInt64]
        /// How far the server's log has been read; nil where it never was.
        package var cursor: SyncCursor?
        /// Whether there may be receipts of other lineages that the server lacks.
        package var hasReceiptsToSeed: Bool
        /// The origins whose chain differs from the server's; looked at after a handshake only.
        package var forkedOrigins: [OriginID]
        /// Whether the server has given receipts beyond what has been read of its log, so that it is
        /// to be asked whether it still holds the last of them; looked at after a handshake only.
        package var hasReceiptToConfirm: Bool
        /// What the host says of the network.
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
        /// A handshake was answered, or a request for a new lineage.
        case shaken(lineage: LineageID, head: UInt64, lastSequences: [OriginID: UInt64])
        /// A push was answered: the last sequences it brought the server to, and why it ended early.
        case pushed([OriginID: UInt64], SyncProblem?)
        /// Some receipts were taken.
        case seeded
        /// A page was recorded, up to these sequences.
        case pulled(head: UInt64, [OriginID: UInt64])
        /// The own events are written anew; `renewOrigin` and `heal` are done.
        case mended
        case failed(SyncFailure)
        /// The device has new events.
        case localChanged
        /// The server says that it has new entries.
        case serverChanged(head: UInt64)
        /// The time of a wait has come, or somebody asked for an attempt now.
        case woken
        case stop
    }

    package enum Action: Hashable, Sendable {
        case none
        case shake
        case renewLineage
        case renewOrigin
        /// Push what the server lacks, at most so many bytes; not of the parked origins.
        case push(bytesMax: Int)
        /// Push one event again, to see whether the server has the same.
        case probe(EventID)
        /// The histories of an origin differ from this event on.
        case heal(EventID)
        case seed
        case pull(bytesMax: Int)
        case wait(SyncWait)
        /// All is done; listen for changes.
        case listen
        case end(SyncFailure?)
    }

    package let options: Options
    package private(set) var phase = Phase.ready
    package private(set) var lineage: LineageID?
    /// The server's last position, as it said last.
    package private(set) var head: UInt64 = 0
    /// The last sequence of each origin that the server has.
    package private(set) var acknowledged: [OriginID: UInt64] = [:]
    /// Origins whose events the server does not take, and why.
    package private(set) var parked: [OriginID: SyncProblem] = [:]
    private var backoff: Backoff
    /// In which phase the last failure came, if it has not succeeded since.
    private var failedPhase: Phase?
    /// How long parked origins wait; it grows although everything else succeeds.
    private var parking: Backoff
    private var pushBytes = SyncLimits.pushBytesUsual
    private var search: ForkSearch?
    /// Origins of which the server's chain was said to differ although their last event is the same.
    private var doubted: Set<OriginID> = []
    /// Pushes in a row that brought nothing.
    private var idlePushes = 0
    /// Renewals of the lineage in this session: a server that asks for more is broken.
    private var renewals = 0
    /// Heals in this session: each records events again, so a server that claims more is not followed.
    private var heals = 0
    private var pullsNext = false
    /// Whether the server has answered a pull from our cursor since the handshake: one that was put back may
    /// have come to the same head again, with other entries.
    private var isCursorConfirmed = false

    private static let idlePushesMax = 3
    private static let renewalsMax = 3
    private static let healsMax = 16

    package init(_ options: Options = Options()) {
        self.options = options
        backoff = Backoff(longest: options.backoffMax)
        parking = Backoff(longest: options.backoffMax)
    }

    /// Takes an input; gives what to do.
    package mutating func handle(
        _ input: Input, _ local: Local, now: UInt64, _ random: inout some RandomNumberGenerator
    ) -> Action {
        if case .ended = phase { return .none }
        switch input {
        case .stop: return end(nil)
        case .begin, .woken:
            switch phase {
            case .ready, .waiting, .settled: return offline(local, now) ?? shake()
            default: return .none
            }
        case .localChanged:
            return phase == .settled ? next(local, now, &random) : .none
        case .serverChanged(let head):
            // A reminder of a known head changes nothing.
            guard head > self.head else { return .none }
            self.head = head
            return phase == .settled ? next(local, now, &random) : .none
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
            // What came from the server need not be offered to it.
            for (origin, sequence) in reached {
                acknowledged[origin] = max(known(origin), sequence)
            }
            succeeded()
            return next(local, now, &random)
        case .mended:
            // What the server knows of the fresh origin and the old one is to be asked again.
            search = nil
            return shake()
        case .failed(let failure):
            return failed(failure, local, now, &random)
        }
    }
}

/// A wait with its reason: nothing waits without one.
package struct SyncWait: Hashable, Sendable {
    package var reason: ErrorCode
    package var message: String
    /// In Unix milliseconds.
    package var until: UInt64

    package init(reason: ErrorCode, message: String, until: UInt64) {
        self.reason = reason
        self.message = message
        self.until = until
    }
}

/// Why a server did not take an event.
package struct SyncProblem: Hashable, Sendable {
    package var kind: WireProblem.Kind
    package var origin: OriginID
    /// See `WireProblem`.
    package var sequence: UInt64
    package var message: String

    /// The code under which it is told.
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

/// The search for the first event in which two histories of one origin differ: halving.
private struct ForkSearch: Sendable {
    let origin: OriginID
    /// The histories agree up to here.
    var agreed: UInt64 = 0
    /// They differ here.
    var differs: UInt64
    /// Whether the server has said so of the event itself, and not only of a chain.
    var isConfirmed: Bool

    var isOver: Bool { isConfirmed && differs == agreed + 1 }
    /// What the server is asked next.
    var asked: UInt64 { isConfirmed ? agreed + (differs - agreed) / 2 : differs }
}

// MARK: - What next

extension SyncState {
    private mutating func shake() -> Action {
        phase = .shaking
        parked = [:]
        return .shake
    }

    /// What is done while the host says that there is no network.
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

    /// A step has succeeded.
    ///
    /// Where another one failed before, that has not: a server that answers pulls and never takes a push is not asked
    /// for ever.
    private mutating func succeeded() {
        if let failedPhase, failedPhase != phase { return }
        failedPhase = nil
        backoff.succeed()
    }

    private mutating func shaken(
        _ lineage: LineageID, _ head: UInt64, _ lastSequences: [OriginID: UInt64], _ local: Local,
        _ now: UInt64, _ random: inout some RandomNumberGenerator
    ) -> Action {
        // No success yet: a server that shakes hands and takes nothing would be tried for ever.
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
        // An event of ours that we do not know: the store was put back to an earlier state.
        if acknowledged[local.own] ?? 0 > local.lastSequences[local.own] ?? 0 {
            phase = .shaking
            return .renewOrigin
        }
        if let origin = local.forkedOrigins.first {
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
                    .cursorMismatch, "the server keeps losing what it said",
                    hint: "look at the server's log and disk"), local, now, &random)
        }
        phase = .renewing
        return .renewLineage
    }

    private func known(_ origin: OriginID) -> UInt64 { acknowledged[origin] ?? 0 }
    private func last(_ origin: OriginID, _ local: Local) -> UInt64 {
        local.lastSequences[origin] ?? 0
    }

    /// Whether the server lacks events that it can be given.
    private func lacksEvents(_ local: Local) -> Bool {
        local.lastSequences.contains { parked[$0.key] == nil && $0.value > known($0.key) }
    }

    /// Decides what is to be done now; pushing and pulling take turns.
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
        // Last, since a receipt is taken only of an event that the server has.
        if local.hasReceiptsToSeed {
            phase = .seeding
            return .seed
        }
        guard options.isLive else { return end(nil) }
        if let problem = parked.values.min(by: { $0.origin < $1.origin }) {
            // Nobody else will tell when it can be tried again.
            let wait = parking.fail(retryAfter: nil, &random)
            let waiting = SyncWait(
                reason: problem.code, message: problem.message, until: now + wait)
            phase = .waiting(waiting)
            return .wait(waiting)
        }
        parking.succeed()
        failedPhase = nil
        succeeded()
        phase = .settled
        return .listen
    }

    // MARK: - Answers

    private mutating func pushed(
        _ reached: [OriginID: UInt64], _ problem: SyncProblem?, _ local: Local, _ now: UInt64,
        _ random: inout some RandomNumberGenerator
    ) -> Action {
        // A probe is no progress: a server that always claims another history would be asked for ever.
        if phase == .probing { return probed(reached, problem, local, now, &random) }
        succeeded()
        let before = acknowledged
        for (origin, sequence) in reached {
            acknowledged[origin] = max(known(origin), sequence)
        }
        if acknowledged != before { idlePushes = 0 }
        guard let problem else { return next(local, now, &random) }
        idlePushes += 1
        switch problem.kind {
        case .gap where idlePushes <= SyncState.idlePushesMax:
            // The server knows less than it said: it begins where it says now.
            acknowledged[problem.origin] = problem.sequence - min(problem.sequence, 1)
        case .fork:
            let differs =
                problem.sequence > 0
                ? problem.sequence : min(known(problem.origin), last(problem.origin, local))
            if differs > 0 {
                return searchFork(
                    problem.origin, differs: differs,
                    isConfirmed: problem.sequence > 0 || doubted.contains(problem.origin), local,
                    now, &random)
            }
            parked[problem.origin] = problem
        default:
            parked[problem.origin] = problem
        }
        return next(local, now, &random)
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
        heals += 1
        guard heals <= SyncState.healsMax else {
            return failed(
                SyncFailure(
                    .fork, "the server keeps claiming that histories differ",
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
            search.isConfirmed = true
        } else if let problem {
            // It cannot be told: the origin waits for the next session.
            parked[search.origin] = problem
            self.search = nil
            return next(local, now, &random)
        } else if search.isConfirmed {
            search.agreed = search.asked
        } else if reached[search.origin] == search.asked {
            // The last event is the same: most likely the chain was changed on the way. If it is said again, an earlier
            // event differs.
            doubted.insert(search.origin)
            return failed(
                SyncFailure(
                    .altered, "the server's answer to a handshake was changed on the way",
                    hint: "it is asked for again; look at what stands between"), local, now, &random
            )
        } else {
            // Of what was compacted only the chain tells.
            search.isConfirmed = true
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
            // The handshake tells the new lineage. Twice in a row it would be a broken server.
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
        failedPhase = [.pushing, .pulling, .seeding].contains(phase) ? phase : nil
        let wait = backoff.fail(retryAfter: failure.retryAfter, &random)
        let isOver = options.failuresMax > 0 && backoff.failures >= options.failuresMax
        // Only a push can be too large for the server; the size of another body was changed on the way.
        let mayPass = failure.isTransient || failure.code == .tooLarge && phase != .pushing
        guard !isOver, mayPass || options.isLive else { return end(failure) }
        let waiting = SyncWait(
            reason: failure.code, message: failure.message, until: now + wait)
        phase = .waiting(waiting)
        return .wait(waiting)
    }

    /// Pushes are not made smaller than this; one event may be larger, and goes alone.
    private static let pushBytesMin = 16 << 10
}
