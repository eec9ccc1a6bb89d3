package import TapedeckLog
internal import TapedeckModel
package import TapedeckProjections

/// # Sync with one remote
///
/// A session takes inputs and returns steps. A session reads the remote's pages in passes, and
/// delivers intents between the pages. The intents of one key form a *lane*: they are delivered in
/// order, and a waiting intent delays only the later intents of its lane. The driver of a session
/// (`RemoteEngine` or a simulator) sends requests, waits, and reports each result as the next
/// input. The session itself accesses only the log.
///
/// ```
/// begin ─▶ login? ─▶ read pages ─▶ deliver, one intent at a time ─▶ settled (ends, or waits while live)
///             ▲          │ failure              │ failure
///             └──401─────┴─▶ waiting(reason, until) ◀──┘
/// ```
///
/// Invariants:
/// 1. The observations of a page and the position after it are committed together.
/// 2. A request that is not idempotent is sent only after its dispatch is on disk. Unless a later
///    outcome records that the request was not executed, its effect is probed or its outcome is
///    reported as unknown.
/// 3. An outcome and the resulting state of the remote are committed together.
/// 4. An intent is considered already satisfied only if the data that shows it was read after the
///    intent was recorded, because older data may be out of date; see `Evidence`.
/// 5. A 401 response invalidates only the token. The session tries one new login; if that login
///    fails, the remote waits for the user. If another process writes a new login, the next request
///    uses it. If the local clock was wrong, the session first sends the request once more, signed
///    with the remote's time.
/// 6. Nothing is sent after the login has been deleted or ended on another device or the remote has
///    been removed, or from an account other than the store's. The session checks the login and the
///    remote before each request and the account after each login, and ends if a check fails.
package struct RemoteSession {
    /// Options: whether to keep reading when everything is done, and the retry limits.
    package typealias Options = SyncState.Options

    /// The next step for the driver.
    package enum Step: Sendable {
        case send(RemoteRequest)
        /// The session is blocked until a time; `woken` retries immediately.
        case wait(SyncWait)
        /// Reading pauses until a time; call `woken` earlier if there is new work.
        case pause(SyncWait)
        /// Everything is done; call `woken` at the time `until`, in milliseconds since 1970, or
        /// earlier if there is new work.
        case idle(until: UInt64)
        case end(SyncFailure?)
    }

    /// The request to which the next response belongs.
    enum Pending {
        case nothing
        /// A login request, with the responses to the login's earlier requests, and the account
        /// that signs the request.
        case login([RemoteResponse], as: RemoteAccount? = nil)
        case page(RemotePage)
        case delivery(Delivery, Intent)
        case probe(Delivery, Intent)

        var isPage: Bool { if case .page = self { true } else { false } }

        /// Whether the request is a read with the account's credentials.
        var isRead: Bool {
            switch self {
            case .page, .probe: true
            case .nothing, .login, .delivery: false
            }
        }
    }

    package let log: EventLog
    package private(set) var remote: Remote
    private(set) var connector: any Connector
    let runner: ProjectionRunner
    let outboxes: [Outbox]
    let options: Options
    let logins: LoginFiles
    let connection: RemoteConnection
    /// The end of the log when the session last checked whether the remote was removed; `isRemoved`
    /// is the result of that check.
    private var connectionSeenAt: LogPosition?
    private var isRemoved = false
    var custody: CustodyBook
    /// The network state at the last check.
    var network = NetworkState.online
    var login: RemoteLogin
    var row: RemoteRow
    var pending = Pending.nothing
    /// The last request, without credentials, and the number of redirects that led to it.
    private var sent = RemoteRequest("GET", "")
    private var redirects = 0
    /// The maximum number of redirects to follow for a read request.
    private static let redirectsMax = 3
    /// The remote's clock, whose time is used to sign requests.
    private var remoteClock: RemoteClock
    private var isStopped = false
    /// Whether a login has been tried since the last successful request.
    private var hasRenewed = false
    /// The failure reported for a rejected login, while a live session waits for a new login.
    private var refusal: SyncFailure?
    private var random: any RandomNumberGenerator & Sendable
    private var backoff: Backoff
    /// The times of recent requests, latest last.
    private var sentAt: [UInt64] = []
    /// The request to send next.
    var held: (request: RemoteRequest, pending: Pending)?

    var reading: Reading
    /// The pages that need not be requested yet.
    var fresh = RemoteFreshness()
    /// Whether the next pass also requests fresh pages.
    var refreshesAll: Bool
    /// The time at which the pass began; `readingTurn` is the time at which the feeds change.
    var readingBegan: UInt64 = 0
    var readingTurn: UInt64 = .max
    /// Whether a pass over the remote's pages is in progress.
    var isReading = false
    /// The end of the log when the pass began; intents after this position are newer than the pass.
    var readingPosition = LogPosition(rawValue: 0)
    /// The feeds that were read from beginning to end, each with the `readingPosition` of the pass
    /// that read it.
    var wholeFeeds: [String: LogPosition] = [:]
    /// The feeds that were read at least up to their known rows, each with the `readingPosition` of
    /// the pass that read it.
    var readFeeds: [String: LogPosition] = [:]
    var delivering = Delivering()
    /// Whether intents from before this session may be undelivered.
    var hasBacklog = true
    package var report = RemoteReport()
    /// The number of repeated passes, and the number of consecutive incomplete passes; the pauses
    /// grow with both numbers.
    private var quietReadings = 0
    private var lackingReadings = 0
    private var nextReading: UInt64 = 0
    private var patience = RemoteSession.patienceMax
    /// Whether a feed could not be read to its end.
    var hasGivenUp = false
    /// The targets of the idempotent deliveries that succeeded, by intent.
    var delivered: [EventID: Set<String>] = [:]

    /// The deliveries that, according to probes, had no effect on the remote; see `step`.
    var probedMissing: Set<String> = []

    /// The number of requests in each rate window that are reserved for deliveries: enough for one
    /// or two intents, or for three in a live session.
    private static let requestsKept = 2
    private static let requestsKeptLive = 6
    /// The maximum number of times that a one-time sync waits for a lane; `laneWaitMax` is the
    /// maximum length of a wait for a lane, in milliseconds.
    private static let patienceMax = 5
    private static let laneWaitMax: UInt64 = 15_000
    /// The interval, in milliseconds, at which a live session checks for a new login.
    private static let loginPause: UInt64 = 2_000

    /// Creates a session for an open store.
    ///
    /// - Parameters:
    ///   - runner: Serves the outboxes and the connector's lookups.
    ///   - outboxes: The outboxes for the kinds of intents that the connector delivers.
    ///   - connection: Provides the store's account on the remote, and the remote as it is now.
    ///   - clock: Measures leases.
    ///   - refreshesAll: Whether the first pass also requests fresh pages.
    ///
    /// Throws `SyncError` with `.unauthorized` if the user is not logged in and the remote requires
    /// a login, or if a logout everywhere has not finished, and with `.conditionFailed` if the store
    /// may belong to several accounts and the user is not logged in.
    package init(
        _ log: EventLog, _ remote: Remote, _ connector: any Connector, _ runner: ProjectionRunner,
        outboxes: [Outbox], logins: LoginFiles,
        connection: RemoteConnection, options: Options = Options(),
        clock: SteadyClock = .system, refreshesAll: Bool = false,
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
        self.refreshesAll = refreshesAll
        reading = Reading(connector.manifest.reading)
        remoteClock = RemoteClock(signsTime: connector.manifest.signsTime)
        let anonymous =
            connector.manifest.isOpen
            ? RemoteLogin(secrets: RemoteSecrets(), account: .anonymous) : nil
        guard let login = try logins.read(remote) ?? anonymous else {
            if let failure = try connection.refusal(of: nil, at: remote) {
                throw SyncError(failure)
            }
            throw SyncError(
                .unauthorized, "not logged in to \(remote.name)",
                hint: "run storectl login \(remote.name)")
        }
        if login.isEnding == true { throw SyncError(.unfinishedLogout(from: remote)) }
        self.login = login
        custody = try CustodyBook(log, clock)
        try custody.recordClock()
        row = try RemoteRow.named(remote.name, in: log)
        backoff = Backoff(longest: options.backoffMax)
    }

    // MARK: - Inputs

    package mutating func begin() throws -> Step {
        try beginReading()
        delivering.passOver(to: readingPosition)
        dropOwnWait()
        row.failures = 0
        return try next()
    }

    package mutating func answered(_ response: RemoteResponse) throws -> Step {
        let pending = pending
        self.pending = .nothing
        row.contactedAt = log.now()
        var response = response
        response.receivedAt = Int64(clamping: row.contactedAt)
        if let redirect = RemoteRedirect(response, to: sent, at: remote.url) {
            if pending.isRead, let request = redirect.request,
                redirects < RemoteSession.redirectsMax
            {
                redirects += 1
                if let ended = try endIfGone() { return ended }
                return try send(request, pending)
            }
            return try fail(redirect.failure, pending)
        }
        redirects = 0
        if remoteClock.correct(by: response, at: row.contactedAt) {
            return try sendAgain(pending)
        }
        do {
            switch pending {
            case .nothing: break
            case .login(let answers, _): try took(login: answers + [response])
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

    /// Handles the end of a wait, or a request by the user to end the wait early.
    package mutating func woken() throws -> Step {
        dropOwnWait()
        if options.isLive, isReadingOverdue { try beginReading() }
        return try next()
    }

    /// Ends a wait that the remote has not requested, because the user wants to sync now.
    private mutating func dropOwnWait() {
        if row.wait?.reason != .throttled, row.wait?.isAsked != true { row.wait = nil }
    }

    /// Ends the session if its login or its remote is gone; otherwise returns nil.
    package mutating func endIfGone() throws -> Step? {
        guard let failure = try gone() else { return nil }
        try logins.removeEnded()
        return try end(failure, isGone: true)
    }

    package mutating func stop() throws -> Step {
        isStopped = true
        return try next()
    }

    /// Ends the session during a request, without counting the interruption as a failure of the
    /// remote.
    ///
    /// - Parameter failure: The result of the request; if the request was never sent, the session
    ///   records that fact.
    package mutating func stop(cuttingOff failure: SyncFailure) throws -> Step {
        if case .delivery(let delivery, let intent) = pending {
            try failed(login.redacting(failure), delivery, of: intent)
        }
        pending = .nothing
        return try stop()
    }

    // MARK: - Next step

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
        if let wait = row.wait, wait.until > now { return try rest(wait) }
        if let held {
            self.held = nil
            return try send(held.request, held.pending)
        }
        guard let account = usableAccount else { return try logIn() }
        if try isDeliveryDue(), let (request, pending) = try nextDelivery(account) {
            return try send(request, pending)
        }
        // Choose the page only now, because an intent that must be checked first may have started
        // another pass.
        if let page = nextPage() {
            return try send(connector.request(for: page, account), .page(page))
        }
        return try settle()
    }

    /// Waits for the remote; a one-time sync ends instead if the wait is long.
    private mutating func rest(_ wait: SyncWait) throws -> Step {
        let now = now
        guard !options.isLive, wait.until > now, wait.until - now > options.waitMax else {
            return .wait(wait)
        }
        report.until = wait.until
        // The message was redacted before it was stored.
        return try end(SyncFailure(wait.reason, "\(own: wait.message)"))
    }

    /// Returns the reason why nothing may be sent: a logout on this device, which may not have
    /// finished, or a logout everywhere or the removal of the remote on any device.
    private mutating func gone() throws -> SyncFailure? {
        let head = try log.currentHead()
        if head != connectionSeenAt {
            connectionSeenAt = head
            let current = try connection.remote()
            isRemoved = current == nil
            if let current { try takeUpParts(of: current) }
        }
        if isRemoved {
            return SyncFailure(
                .unauthorized, "\(own: remote.name) was removed or has a new address",
                hint: "storectl remote list shows the current remotes")
        }
        if login.account?.isAnonymous == true { return nil }
        do {
            guard let stored = try logins.read(remote) else {
                return SyncFailure(
                    .unauthorized, "this device is logged out of \(own: remote.name)",
                    hint: "run storectl login \(remote.name)")
            }
            return stored.isEnding == true ? .unfinishedLogout(from: remote) : nil
        } catch is SyncError {
            // If the login file cannot be read, keep the current login.
            return nil
        }
    }

    /// Whether the user has deleted the login of this device; the next step then ends the session.
    ///
    /// A plain logout records no event, so the driver checks this during its waits.
    var isLoggedOut: Bool {
        login.account?.isAnonymous != true && !logins.exists(remote.name)
    }

    /// Applies a change to the remote's parts: new parts are read next, and removed parts are no
    /// longer read.
    private mutating func takeUpParts(of current: Remote) throws {
        guard current.parts != remote.parts, let new = connection.connector(current) else { return }
        (remote, connector) = (current, new)
        guard isReading, let account = login.account else { return try beginReading() }
        reading.change(to: connector.feeds(account, now: now))
    }

    /// The account; nil if its token has expired and no new login has been tried yet.
    private var usableAccount: RemoteAccount? {
        guard let account = login.account else { return nil }
        if let end = account.expiresAt, end <= now, !hasRenewed { return nil }
        return account
    }

    private mutating func logIn() throws -> Step {
        // The login may have been ended while the last request was in progress. A new token would
        // outlive a logout everywhere.
        if let ended = try endIfGone() { return ended }
        hasRenewed = true
        let step: LoginStep
        do throws(SyncFailure) {
            step = try connector.login(login.secrets, [])
        } catch {
            return try fail(error, .login([]))
        }
        switch step {
        case .send(let request, let account):
            return try send(request, .login([], as: account))
        case .done(let account, let observations):
            do {
                try keep(account, observations)
            } catch let failure as SyncFailure {
                return try end(failure)
            }
            return try next()
        }
    }

    private mutating func took(login answers: [RemoteResponse]) throws {
        switch try connector.login(login.secrets, answers) {
        case .send(let request, let account):
            held = (request, .login(answers, as: account))
        case .done(let account, let observations): try keep(account, observations)
        }
    }

    /// Switches to a new login written by another process; returns false if there is no new login.
    @discardableResult
    private mutating func takeUpLogin() -> Bool {
        // If the login file is missing or unreadable, keep the current login.
        guard let other = try? logins.read(remote), !other.isSame(as: login),
            other.isEnding != true
        else { return false }
        login = other
        (hasRenewed, refusal, report.wait) = (false, nil, nil)
        if row.wait?.reason == .unauthorized { row.wait = nil }
        if case .login = held?.pending { held = nil }
        return true
    }

    private mutating func keep(_ account: RemoteAccount, _ observations: [ProposedEvent]) throws {
        // Do not restore a login that was ended in the meantime; the session ends at its next step.
        guard try gone() == nil else { return }
        // Do not overwrite a login that was written in the meantime.
        if !takeUpLogin() {
            try account.check(
                against: try connection.account() ?? login.account?.user, at: remote,
                shown: connection.shown)
            login.account = account
            try logins.write(login, for: remote)
            if !observations.isEmpty { delivering.passOver(try log.record(observations)) }
        }
        if reading.isEmpty { try beginReading() }
    }

    /// Sends a request now, or as soon as the remote's rate limit allows it.
    private mutating func send(_ request: RemoteRequest, _ pending: Pending) throws -> Step {
        let manifest = connector.manifest
        let now = now
        sentAt.removeAll { $0 + manifest.rateWindow <= now }
        let kept = options.isLive ? RemoteSession.requestsKeptLive : RemoteSession.requestsKept
        let free = pending.isPage ? kept : 0
        let limit = max(1, manifest.rateCount - free)
        if let failure = try connection.refusal(of: login, at: remote) { return try end(failure) }
        if sentAt.count >= limit {
            let wait = SyncWait(
                reason: .throttled, message: "the remote's rate limit is reached",
                until: sentAt[sentAt.count - limit] + manifest.rateWindow)
            if pending.isPage { return .pause(wait) }
            held = (request, pending)
            return .wait(wait)
        }
        sent = request
        var account = login.account
        if case .login(_, let own) = pending { account = own }
        // Record the dispatch on disk before sending.
        if case .delivery(let delivery, let intent) = pending, delivery.safety != .natural {
            try record(.dispatched, delivery, of: intent)
        }
        sentAt.append(now)
        self.pending = pending
        return .send(authorized(request, as: account))
    }

    /// Sends the last request again after the remote has refused it.
    private mutating func sendAgain(_ pending: Pending) throws -> Step {
        if case .delivery(let delivery, let intent) = pending, delivery.safety != .natural {
            try record(.unsent, delivery, of: intent)
        }
        held = (sent, pending)
        return try next()
    }

    private mutating func authorized(
        _ request: RemoteRequest, as account: RemoteAccount?
    ) -> RemoteRequest {
        guard let account, !account.isAnonymous else { return request }
        var request = request
        connector.authorize(
            &request, account,
            RequestMoment(
                base: remote.url, now: remoteClock.time(at: now),
                nonce: .random(in: 0...(.max), using: &random)))
        return request
    }

    // MARK: - Failures

    /// Returns whether a failure affects the entire remote rather than only the request.
    private func concernsAll(_ failure: SyncFailure, _ pending: Pending) -> Bool {
        switch failure.code {
        case .unauthorized, .offline, .throttled: return true
        case .unavailable, .redirected:
            // A request that makes the remote fail must not block other requests, unless the remote
            // asks for a pause.
            if failure.retryAfter != nil { return true }
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
        if pending.isPage { try forgetInterruptedWalk(after: failure) }
        if case .page(let page) = pending, try leave(page, failure) { return try next() }
        // The login belongs to another account; retrying would not help.
        if case .login = pending, failure.code == .conditionFailed { return try end(failure) }
        guard concernsAll(failure, pending) else {
            switch pending {
            case .page(let page): try giveUp(page, failure)
            case .probe(let delivery, let intent): try postpone(failure, delivery, of: intent)
            default: break
            }
            return try next()
        }
        // A failed page remains the next page to read. An intent whose probe failed is tried again
        // first, so that later intents in the lane do not overtake that intent.
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
            reason: failure.code, message: failure.message, until: now + pause,
            isAsked: failure.retryAfter != nil)
        row.wait = wait
        try log.setSyncRows([row.row])
        guard options.failuresMax > 0, row.failures >= options.failuresMax else {
            return try rest(wait)
        }
        if case .page(let page) = pending, connector.manifest.reading.feedsStandAlone {
            try giveUp(page, failure)
        }
        return try end(failure)
    }

    /// Postpones a page whose request failed, or skips the page until the next pass if it keeps
    /// failing although other pages can be read.
    ///
    /// A linked list that cannot be read must not stop the deliveries and the other lists, even if
    /// the feeds of this remote do not stand alone.
    ///
    /// Returns false if the failure may affect the entire remote.
    private mutating func leave(_ page: RemotePage, _ failure: SyncFailure) throws -> Bool {
        let codes: [ErrorCode] = [.unavailable, .redirected]
        let isLead = reading.isAtLead && failure.retryAfter == nil && codes.contains(failure.code)
        let standsAlone =
            connector.manifest.reading.feedsStandAlone
            && (codes.contains(failure.code) || failure.code == .offline)
        guard isLead || standsAlone else { return false }
        if reading.failsAlone(isLead: isLead && !standsAlone) {
            try giveUp(page, failure)
            return true
        }
        guard row.failures == 0, reading.postpone() else { return false }
        row.failures += 1
        return true
    }

    /// Resets the number of failures after a response.
    private mutating func recover(after pending: Pending) {
        // A new login is known to work only after a request that uses it has succeeded.
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
            (isReading, refreshesAll) = (false, false)
            report.unread = try RemoteRow.leads(remote.name, in: log).count
            // Do not set `readAt` after giving up on a feed, because the feed may contain unread
            // data. Feeds that were skipped because they are fresh have already been read.
            if !hasGivenUp, reading.hasRead || row.readAt == 0 { row.readAt = now }
            lackingReadings = hasGivenUp || report.unread > 0 ? lackingReadings + 1 : 0
        }
        row.failures = 0
        row.wait = nil
        if isDone || row != before { try log.setSyncRows([row.row] + endedFailures(isDone)) }
        let soonest = delivering.soonest
        delivering.forgetWaits()
        guard options.isLive else {
            if patience > 0, let soonest, soonest.until <= now + RemoteSession.laneWaitMax {
                patience -= 1
                report.wait = soonest
                return .idle(until: max(soonest.until, now + 1))
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
        return .idle(until: min(nextReading, soonest?.until ?? .max))
    }

    /// Returns rows without values, which delete the failures stored before this pass when they are
    /// written; none if the pass is not completed.
    ///
    /// These failures belong to feeds that are no longer read: a feed that was read has no stored
    /// failure, and a feed that failed again has a newer failure.
    private func endedFailures(_ isDone: Bool) throws -> [SyncRow] {
        guard isDone else { return [] }
        return try RemoteRow.failedReadings(remote.name, in: log)
            .filter { $0.at < readingBegan }
            .map { RemoteRow.endedFailure(remote.name, $0.feed) }
    }

    /// The start of a live session's next pass, in milliseconds since 1970.
    ///
    /// The next pass starts at the earliest of these times:
    /// - the next change of the feeds
    /// - the earliest time at which a fresh feed expires
    /// - if any feed is not fresh or was not read to its end, the end of the pause that the manifest
    ///   specifies
    private var readAgainAt: UInt64 {
        let now = now
        let steps = connector.manifest.freshness
        func step(_ number: Int) -> UInt64 { now + steps[min(number, steps.count - 1)] }
        var next = readingTurn
        // Even if responses expire quickly, keep the minimum pause.
        if let end = reading.freshUntil { next = min(next, max(end, step(0))) }
        if lackingReadings > 0 {
            next = min(next, step(lackingReadings - 1))
        } else if !reading.isFresh {
            next = min(next, step(quietReadings))
        }
        return max(next, now + 1)
    }

    /// Whether a pass over a failing remote has lasted so long that the first pages must be read
    /// again.
    private var isReadingOverdue: Bool {
        guard connector.manifest.reading.feedsStandAlone, isReading else { return false }
        let steps = connector.manifest.freshness
        let end = max(reading.freshUntil ?? .max, readingBegan + (steps.first ?? 0))
        return now >= min(end, readingBegan + (steps.last ?? 0), readingTurn)
    }

    private mutating func end(_ failure: SyncFailure?, isGone: Bool = false) throws -> Step {
        try log.setSyncRows([row.row])
        try custody.recordClock()
        report.unread = try RemoteRow.leads(remote.name, in: log).count
        report.failure = failure.map { failure in
            let error = SyncError(failure.ofRemote.naming(remote))
            // If the login or the remote is gone, do not mention the path of the login file.
            guard error.code == .unauthorized, !isGone else { return error }
            return SyncError(
                .unauthorized, "\(error.message); the login is in \(logins.path(remote.name))",
                hint: error.hint)
        }
        try takeStock()
        return .end(failure)
    }

    // MARK: - Lanes

    /// Returns the wait of a lane, in milliseconds, after a number of consecutive failures.
    mutating func laneWait(_ failures: UInt32) -> UInt64 {
        var backoff = Backoff(longest: options.backoffMax)
        var wait: UInt64 = 0
        for _ in 0..<min(failures, 12) { wait = backoff.fail(retryAfter: nil, &random) }
        return wait
    }
}
