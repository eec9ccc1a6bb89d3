package import TapedeckLog
internal import TapedeckModel
package import TapedeckProjections

/// # Sync with one remote
///
/// Inputs come in, one step goes out; whoever drives it (`RemoteEngine`, or a simulator) sends requests,
/// waits, and reports with the next input. It touches the log and nothing else.
///
///     begin ─▶ login? ─▶ read pages ─▶ deliver, one intent at a time ─▶ settled (ends, or waits while live)
///                 ▲          │ failure              │ failure
///                 └──401─────┴─▶ waiting(reason, until) ◀──┘
///
/// Invariants:
/// 1. A page's sightings and the place behind it commit together.
/// 2. Before a request that is not natural leaves, its dispatch is on disk. From there on only an outcome
///    says that it was not done; without one it is asked for, or told as unknown.
/// 3. An outcome and what the remote then showed commit together.
/// 4. An intent counts as done already only by what was read since it came to the log: before, somebody
///    else may have changed it.
/// 5. A 401 ends nothing but the token: one login is tried, then the remote waits for the user. A login
///    that another process writes meanwhile is taken up with the next request.
/// 6. Nothing is sent after the login was deleted or the remote removed, nor as another account than the
///    store's: before each request the session looks, and ends.
package struct RemoteSession {
    /// How to go about it: whether to go on reading when everything is done, and how patiently.
    package typealias Options = SyncState.Options

    /// What is to be done next.
    package enum Step: Sendable {
        case send(RemoteRequest)
        /// Something is in the way until a time; `woken` tries at once.
        case wait(SyncWait)
        /// Everything is done; `woken` at a time, in Unix milliseconds, or when there is something to do.
        case idle(until: UInt64)
        case end(SyncFailure?)
    }

    /// What the next answer belongs to.
    enum Pending {
        case nothing
        case login([RemoteResponse])
        case page(RemotePage)
        case delivery(Delivery, Intent)
        case probe(Delivery, Intent)
    }

    package let log: EventLog
    package let remote: Remote
    let connector: any Connector
    let runner: ProjectionRunner
    let outboxes: [Outbox]
    let options: Options
    let logins: LoginFiles
    private let connection: RemoteConnection
    /// The end of the log when the session last looked whether the remote is still there, and what it saw.
    private var connectionSeenAt: LogPosition?
    private var isRemoved = false
    var leases: LeaseClock
    let clock: SteadyClock
    /// What the host said of the network, as of the last look.
    var network = NetworkState.online
    var login: RemoteLogin
    var row: RemoteRow
    var pending = Pending.nothing
    private var isStopped = false
    /// Whether a login has been tried since one held.
    private var hasRenewed = false
    /// That the login is not taken, while a live session waits for another one.
    private var refusal: SyncFailure?
    private var random: any RandomNumberGenerator & Sendable
    private var backoff: Backoff
    /// When requests went out, the latest last.
    private var sentAt: [UInt64] = []
    /// A request that comes next.
    var held: (request: RemoteRequest, pending: Pending)?

    var reading: Reading
    /// What need not be asked for again yet.
    var fresh = RemoteFreshness()
    /// Whether the next reading asks for what is fresh as well.
    var asksAll: Bool
    /// When the reading began, and when its feeds are others by the time alone.
    var readingBegan: UInt64 = 0
    var readingTurn: UInt64 = .max
    /// Whether a reading has not come to its end.
    var isReading = false
    /// The end of the log when the reading began: what is behind it was wanted later.
    var readingPosition = LogPosition(rawValue: 0)
    var delivering = Delivering()
    package var report = RemoteReport()
    /// Readings in a row, all of them and those that left something out: the more, the rarer.
    private var quietReadings = 0
    private var lackingReadings = 0
    private var nextReading: UInt64 = 0
    private var patience = RemoteSession.patienceMax
    /// Whether a feed could not be read to its end.
    var hasGivenUp = false
    /// Natural deliveries that went through, by intent and target.
    var delivered: Set<String> = []

    /// Intents that another device may deliver, until a time of the day's clock here.
    var leased: [EventID: UInt64] = [:]
    /// Intents of which the server is to say first whose they are.
    var unclaimed: Set<EventID> = []
    /// When this session first met a dispatch, by the steady clock.
    var dispatchesMet: [String: UInt64] = [:]

    /// How often a sync by hand waits for a lane, and how long at most, in milliseconds.
    private static let patienceMax = 5
    private static let laneWaitMax: UInt64 = 15_000
    /// How often a live session looks for another login, in milliseconds.
    private static let loginPause: UInt64 = 2_000

    /// Makes a session of an open store.
    ///
    /// - Parameters:
    ///   - runner: serves the outboxes and what the connector looks things up in.
    ///   - outboxes: those of the connector's kinds.
    ///   - connection: what the store says of the remote meanwhile.
    ///   - clock: by which leases are measured.
    ///   - asksAll: whether also what is fresh is asked for at first.
    ///
    /// Throws `SyncError` with `.unauthorized` where nobody has logged in and the remote shows nothing without.
    package init(
        _ log: EventLog, _ remote: Remote, _ connector: any Connector, _ runner: ProjectionRunner,
        outboxes: [Outbox], logins: LoginFiles,
        connection: RemoteConnection, options: Options = Options(),
        clock: SteadyClock = .system, asksAll: Bool = false,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) throws {
        self.log = log
        self.remote = remote
        self.connector = connector
        self.runner = runner
        self.outboxes = outboxes.filter { connector.manifest.intentKinds.contains($0.tagKind) }
        self.options = options
        self.logins = logins
        self.connection = connection
        self.random = random
        self.asksAll = asksAll
        reading = Reading(connector.manifest.reading)
        let anonymous =
            connector.manifest.isOpen
            ? RemoteLogin(secrets: RemoteSecrets(), account: .anonymous) : nil
        guard let login = try logins.read(remote) ?? anonymous else {
            throw SyncError(
                .unauthorized, "nobody has logged in at \(remote.name)",
                hint: "storectl login \(remote.name)")
        }
        self.login = login
        self.clock = clock
        leases = try LeaseClock(log, clock)
        row = try RemoteRow.named(remote.name, in: log)
        backoff = Backoff(longest: options.backoffMax)
    }

    // MARK: - Inputs

    package mutating func begin() throws -> Step {
        try beginReading()
        // Somebody wants it now; what the remote itself asked for holds all the same.
        if row.wait?.reason != .throttled { row.wait = nil }
        return try next()
    }

    package mutating func answered(_ response: RemoteResponse) throws -> Step {
        let pending = pending
        self.pending = .nothing
        row.contactedAt = log.now()
        var response = response
        response.receivedAt = Int64(clamping: row.contactedAt)
        do {
            switch pending {
            case .nothing: break
            case .login(let answers): try took(login: answers + [response])
            case .page(let page): try took(response, of: page)
            case .delivery(let delivery, let intent):
                try took(response, delivery, of: intent)
            case .probe(let delivery, let intent):
                try took(probe: response, delivery, of: intent)
            }
        } catch let failure as SyncFailure {
            return try fail(failure, pending)
        }
        recover(after: pending)
        return try next()
    }

    package mutating func failed(_ failure: SyncFailure) throws -> Step {
        let pending = pending
        self.pending = .nothing
        return try fail(failure, pending)
    }

    /// A wait has ended, or the user wants it to.
    package mutating func woken() throws -> Step {
        if row.wait?.reason != .throttled { row.wait = nil }
        if options.isLive, isReadingOverdue { try beginReading() }
        return try next()
    }

    /// Ends the session if its login or its remote is gone; nil if both are there.
    package mutating func endIfGone() throws -> Step? {
        guard let failure = try gone() else { return nil }
        return try end(failure, isGone: true)
    }

    package mutating func stop() throws -> Step {
        isStopped = true
        return try next()
    }

    /// Stops while a request is under way: that is no failure of the remote's.
    ///
    /// - Parameter failure: how the request ended; one that never left is noted as that.
    package mutating func stop(cuttingOff failure: SyncFailure) throws -> Step {
        if case .delivery(let delivery, let intent) = pending {
            try failed(failure, delivery, of: intent)
        }
        pending = .nothing
        return try stop()
    }

    // MARK: - What next

    var now: UInt64 { log.now() }

    private mutating func next() throws -> Step {
        if isStopped { return try end(nil) }
        if let ended = try endIfGone() { return ended }
        network = try .current(in: log)
        if let failure = network.failure, !options.isLive { return try end(failure) }
        if let wait = network.wait(until: now + NetworkState.pause) { return .wait(wait) }
        takeUpLogin()
        if let refusal {
            row.wait = SyncWait(reason: refusal.code, message: refusal.message, until: 0)
            report.wait = row.wait
            return .idle(until: now + RemoteSession.loginPause)
        }
        if let wait = row.wait, wait.until > now { return .wait(wait) }
        if let held {
            self.held = nil
            return try send(held.request, held.pending)
        }
        guard let account = usableAccount else { return try logIn() }
        if let page = nextPage() {
            return try send(connector.request(for: page, account), .page(page))
        }
        if let (request, pending) = try nextDelivery(account) { return try send(request, pending) }
        // What is wanted may have to be held against what the remote shows now.
        if let page = nextPage() {
            delivering.restart()
            return try send(connector.request(for: page, account), .page(page))
        }
        return try settle()
    }

    /// Why nothing may be sent any more: the user has logged out on this device, or removed the remote on any.
    private mutating func gone() throws -> SyncFailure? {
        let head = try log.currentHead()
        if head != connectionSeenAt {
            isRemoved = try !connection.isThere()
            connectionSeenAt = head
        }
        if isRemoved {
            return SyncFailure(
                .unauthorized, "\(remote.name) was removed, or has another address now",
                hint: "storectl remote list shows what there is")
        }
        if login.account?.isAnonymous == true { return nil }
        // A file that cannot be read is no word of the user's.
        do {
            guard try logins.read(remote) == nil else { return nil }
        } catch {
            return nil
        }
        return SyncFailure(
            .unauthorized, "this device has logged out at \(remote.name)",
            hint: "storectl login \(remote.name)")
    }

    /// The account, unless its token has ended.
    private var usableAccount: RemoteAccount? {
        guard let account = login.account else { return nil }
        if let end = account.expiresAt, end <= now, !hasRenewed { return nil }
        return account
    }

    private mutating func logIn() throws -> Step {
        hasRenewed = true
        let step: LoginStep
        do throws(SyncFailure) {
            step = try connector.login(login.secrets, [])
        } catch {
            return try fail(error, .login([]))
        }
        switch step {
        case .send(let request, let account):
            return try send(authorized(request, as: account), .login([]))
        case .done(let account, let sightings):
            do {
                try keep(account, sightings)
            } catch let failure as SyncFailure {
                return try end(failure)
            }
            return try next()
        }
    }

    private mutating func took(login answers: [RemoteResponse]) throws {
        switch try connector.login(login.secrets, answers) {
        case .send(let request, let account):
            held = (authorized(request, as: account), .login(answers))
        case .done(let account, let sightings): try keep(account, sightings)
        }
    }

    /// Takes a login that another process has written meanwhile; false where there is none.
    @discardableResult
    private mutating func takeUpLogin() -> Bool {
        // Where it is gone or cannot be read, the one at hand goes on.
        guard let other = try? logins.read(remote), !other.isSame(as: login) else { return false }
        login = other
        (hasRenewed, refusal, report.wait) = (false, nil, nil)
        if row.wait?.reason == .unauthorized { row.wait = nil }
        if case .login = held?.pending { held = nil }
        return true
    }

    private mutating func keep(_ account: RemoteAccount, _ sightings: [ProposedEvent]) throws {
        // A login that was written meanwhile is not to be written over.
        if !takeUpLogin() {
            try account.check(against: try connection.account() ?? login.account?.user, at: remote)
            login.account = account
            try logins.write(login, for: remote)
            if !sightings.isEmpty { try log.record(sightings) }
        }
        if reading.isEmpty { try beginReading() }
    }

    /// Sends a request now, or when the remote's rate allows it.
    private mutating func send(_ request: RemoteRequest, _ pending: Pending) throws -> Step {
        let manifest = connector.manifest
        let now = now
        sentAt.removeAll { $0 + manifest.rateWindow <= now }
        if sentAt.count >= manifest.rateCount, let first = sentAt.first {
            held = (request, pending)
            return .wait(
                SyncWait(
                    reason: .throttled, message: "as many requests as the remote allows",
                    until: first + manifest.rateWindow))
        }
        var request = request
        if case .login = pending {
        } else if let account = login.account {
            request = authorized(request, as: account)
        }
        // Nothing leaves before its dispatch is on disk.
        if case .delivery(let delivery, let intent) = pending, delivery.safety != .natural {
            try record(.dispatched, delivery, of: intent)
        }
        sentAt.append(now)
        self.pending = pending
        return .send(request)
    }

    private mutating func authorized(
        _ request: RemoteRequest, as account: RemoteAccount?
    ) -> RemoteRequest {
        guard let account, !account.isAnonymous else { return request }
        var request = request
        connector.authorize(
            &request, account,
            RequestMoment(
                base: remote.url, now: now, nonce: .random(in: 0...(.max), using: &random)))
        return request
    }

    // MARK: - Failures

    /// Whether all of the remote is in question, and not only what was asked.
    private func concernsAll(_ failure: SyncFailure, _ pending: Pending) -> Bool {
        switch failure.code {
        case .unauthorized, .offline, .throttled: return true
        case .unavailable:
            // One request that a remote chokes on must not keep it from the others.
            if case .delivery = pending { return false }
            if case .probe = pending { return false }
            return true
        default:
            if case .login = pending { return true }
            return false
        }
    }

    private mutating func fail(_ failure: SyncFailure, _ pending: Pending) throws -> Step {
        let failure = login.redacting(failure)
        if case .delivery(let delivery, let intent) = pending {
            try failed(failure, delivery, of: intent)
        }
        if case .page(let page) = pending, try leave(page, failure) { return try next() }
        // The login is that of another account: to try again changes nothing.
        if case .login = pending, failure.code == .conditionFailed { return try end(failure) }
        guard concernsAll(failure, pending) else {
            switch pending {
            case .page(let page): try giveUp(page, failure)
            case .probe(let delivery, let intent): try postpone(failure, delivery, of: intent)
            default: break
            }
            return try next()
        }
        // A page is still the next one. What comes behind a delivery in its lane must not overtake it.
        if case .probe(_, let intent) = pending { delivering.again(intent) }
        if case .login = pending, failure.code != .unauthorized { hasRenewed = false }
        if failure.code == .unauthorized {
            if takeUpLogin() { return try next() }
            if case .login = pending {
            } else if !hasRenewed {
                return try logIn()
            }
            row.wait = SyncWait(reason: failure.code, message: failure.message, until: 0)
            guard options.isLive else { return try end(failure) }
            refusal = failure
            try log.setSyncRows([row.row])
            return try next()
        }
        row.failures += 1
        let pause = backoff.fail(retryAfter: failure.retryAfter, &random)
        let wait = SyncWait(
            reason: failure.code, message: failure.message, until: now + pause)
        row.wait = wait
        try log.setSyncRows([row.row])
        guard options.failuresMax > 0, row.failures >= options.failuresMax else {
            return .wait(wait)
        }
        if case .page(let page) = pending, connector.manifest.reading.feedsStandAlone {
            try giveUp(page, failure)
        }
        return try end(failure)
    }

    /// Leaves a page at which the remote fails to be read behind the others, or to the next reading where
    /// the remote fails at that one alone; false where all of the remote is in question.
    private mutating func leave(_ page: RemotePage, _ failure: SyncFailure) throws -> Bool {
        guard connector.manifest.reading.feedsStandAlone,
            [.unavailable, .offline].contains(failure.code)
        else { return false }
        if reading.failsAlone() {
            try giveUp(page, failure)
            return true
        }
        guard row.failures == 0, reading.postpone() else { return false }
        row.failures += 1
        return true
    }

    /// An answer came: whatever was in the way is gone.
    private mutating func recover(after pending: Pending) {
        // A login that is granted holds only once something is answered by it.
        if case .login = pending { return }
        hasRenewed = false
        guard row.failures > 0 || row.wait != nil else { return }
        row.failures = 0
        row.wait = nil
        backoff.succeed()
    }

    // MARK: - The end

    private mutating func settle() throws -> Step {
        let (isDone, before) = (isReading, row)
        if isDone {
            (isReading, asksAll) = (false, false)
            report.unread = try RemoteRow.leads(remote.name, in: log).count
            // What was given up may hold what is not known yet; what is fresh was read before.
            if !hasGivenUp, reading.hasRead || row.readAt == 0 { row.readAt = now }
            lackingReadings = hasGivenUp || report.unread > 0 ? lackingReadings + 1 : 0
        }
        row.failures = 0
        row.wait = nil
        if isDone || row != before { try log.setSyncRows([row.row]) }
        let soonest = delivering.soonest
        delivering = Delivering()
        guard options.isLive else {
            if patience > 0, let soonest, soonest <= now + RemoteSession.laneWaitMax {
                patience -= 1
                return .idle(until: max(soonest, now + 1))
            }
            return try end(nil)
        }
        if isDone {
            nextReading = readAgainAt
        } else if nextReading <= now {
            quietReadings += 1
            try beginReading()
            return try next()
        }
        return .idle(until: min(nextReading, soonest ?? .max))
    }

    /// When a live session reads again: as soon as the first feed is no longer fresh, else by the manifest's
    /// steps, which also what was left out is read again by; and no later than when the feeds are others.
    private var readAgainAt: UInt64 {
        let now = now
        let steps = connector.manifest.freshness
        func step(_ number: Int) -> UInt64 { now + steps[min(number, steps.count - 1)] }
        var next = readingTurn
        // However short an answer's life is, the remote is not asked without a pause.
        if let end = reading.freshUntil { next = min(next, max(end, step(0))) }
        if lackingReadings > 0 {
            next = min(next, step(lackingReadings - 1))
        } else if !reading.isFresh {
            next = min(next, step(quietReadings))
        }
        return max(next, now + 1)
    }

    /// Whether a reading that does not come to its end, as the remote fails, has lasted so long that what was
    /// read is to be read again.
    private var isReadingOverdue: Bool {
        guard connector.manifest.reading.feedsStandAlone, isReading else { return false }
        let steps = connector.manifest.freshness
        let end = max(reading.freshUntil ?? .max, readingBegan + (steps.first ?? 0))
        return now >= min(end, readingBegan + (steps.last ?? 0), readingTurn)
    }

    private mutating func end(_ failure: SyncFailure?, isGone: Bool = false) throws -> Step {
        try log.setSyncRows([row.row])
        try leases.remember(log)
        report.unread = try RemoteRow.leads(remote.name, in: log).count
        report.failure = failure.map { failure in
            // A login that is gone, or of no use any more, is not to be looked for.
            guard failure.code == .unauthorized, !isGone else { return SyncError(failure) }
            return SyncError(
                .unauthorized, "\(failure.message); the login is in \(logins.path(remote.name))",
                hint: failure.hint(for: remote))
        }
        try takeStock()
        return .end(failure)
    }

    // MARK: - Lanes

    /// How long a lane waits after failures in a row, in milliseconds.
    mutating func laneWait(_ failures: UInt32) -> UInt64 {
        var backoff = Backoff(longest: options.backoffMax)
        var wait: UInt64 = 0
        for _ in 0..<min(failures, 12) { wait = backoff.fail(retryAfter: nil, &random) }
        return wait
    }
}
