package import TapedeckLog
public import TapedeckModel
package import TapedeckProjections

/// A pending change for a remote, with its state; both are read from the log, without the network.
public struct RemoteDelivery: Sendable {
    /// The progress of an intent.
    public enum State: Hashable, Sendable {
        /// The next sync will deliver the intent.
        case queued
        /// A request was sent, but its outcome is unknown; the next sync will check the outcome.
        case sent
        /// Delivery is blocked; `until` is the time at which delivery continues, in milliseconds
        /// since 1970, or nil if that time is unknown.
        case waiting(reason: ErrorCode, message: String, until: UInt64?)
        /// The remote has refused the intent.
        case refused(ErrorCode, String)
        /// It is unknown whether the request took effect.
        case unknown(String)
    }

    /// The name of the remote.
    public var remote: String
    /// The event that is the intent, or from which the intent is derived.
    public var event: EventEnvelope
    /// Whether the intent is derived by a rule.
    public var isDerived: Bool
    /// The progress of the intent.
    public var state: State

    /// Whether the intent waits for the user to act.
    public var isOver: Bool {
        switch state {
        case .refused, .unknown: true
        default: false
        }
    }
}

/// The pending intents for one remote; see `RemoteDelivery`.
package struct RemoteOutbox {
    package let remote: Remote
    package let connector: any Connector
    private let outboxes: [Outbox]
    private let log: EventLog
    private let runner: ProjectionRunner
    private let row: RemoteRow
    private let account: RemoteAccount
    /// The reason why nothing may be sent; nil if there is none.
    private let refusal: SyncFailure?
    private let signIns: SignIns
    /// The account whose changes may be sent; nil if the remote is read without an account, or
    /// before the first login.
    private let speaker: String?
    private let network: NetworkState
    private let custody: CustodyBook

    /// Opens the outbox of a remote in an open store.
    ///
    /// - Parameters:
    ///   - login: The login; nil if the user is not logged in.
    ///   - connection: Provides the store's account on the remote.
    ///   - custody: The custody book of the sync that lists the outbox; nil outside of a sync.
    @available(*, noasync)
    package init(
        _ log: EventLog, _ remote: Remote, _ connector: any Connector, _ runner: ProjectionRunner,
        outboxes: [Outbox], login: RemoteLogin?, connection: RemoteConnection,
        custody: CustodyBook? = nil
    ) throws {
        self.log = log
        self.remote = remote
        self.connector = connector
        self.runner = runner
        self.outboxes = outboxes.filter { connector.manifest.intentKinds.contains($0.tagKind) }
        account = login?.account ?? .anonymous
        refusal = try connection.refusal(of: login, at: remote)
        if let user = login?.account?.user {
            speaker = account.isAnonymous ? nil : user
        } else {
            speaker = refusal == nil ? try connection.account() : nil
        }
        signIns = try connection.signIns()
        row = try RemoteRow.named(remote.name, in: log)
        network = try .current(in: log)
        if let custody {
            self.custody = custody
        } else {
            self.custody = try CustodyBook(log)
        }
    }

    /// Calls `body` with each item, oldest first within each kind, until `body` returns false.
    ///
    /// If an intent delays the later intents of its key (its lane), these wait for the same reason.
    @available(*, noasync)
    package func forEach(_ body: (RemoteDelivery, OutboxItem, Tag) throws -> Bool) throws {
        var lanes: [Tag: RemoteDelivery.State] = [:]
        func state(of intent: Intent, _ item: OutboxItem) throws -> RemoteDelivery.State? {
            guard let (state, delaysLane) = try standing(of: intent, item) else { return nil }
            if delaysLane { lanes[intent.key] = lanes[intent.key] ?? state }
            return state == .queued ? lanes[intent.key] ?? .queued : state
        }
        // Another account's later intents do not replace those of the store's account.
        let hasOthers = speaker != nil && signIns.hasSeveral
        for outbox in outboxes {
            for isSuperseded in hasOthers ? [false, true] : [false] {
                guard try forEach(of: outbox, isSuperseded: isSuperseded, body, state) else {
                    return
                }
            }
        }
        try forEachDerived(body, state)
    }

    /// Calls `body` with the items of an outbox; returns false if `body` does.
    private func forEach(
        of outbox: Outbox, isSuperseded: Bool,
        _ body: (RemoteDelivery, OutboxItem, Tag) throws -> Bool,
        _ state: (Intent, OutboxItem) throws -> RemoteDelivery.State?
    ) throws -> Bool {
        var after: [UInt8]?
        while true {
            let rows = try runner.read([outbox.name]) {
                try OutboxRow.page(
                    of: outbox, $0, isSuperseded: isSuperseded, after: after,
                    limit: RemoteOutbox.pageCount)
            }
            for row in rows {
                guard signIns.isPending(row.item), let event = try log.event(row.item.event),
                    !outbox.isExpired(row.item, of: event.type, at: log.now())
                else { continue }
                let intent = Intent(event, key: row.key, isDerived: row.item.isDerived)
                if isSuperseded, try !isRevived(intent) { continue }
                guard let state = try state(intent, row.item) else { continue }
                let delivery = RemoteDelivery(
                    remote: remote.name, event: event, isDerived: intent.isDerived, state: state)
                guard try body(delivery, row.item, row.key) else { return false }
            }
            guard rows.count == RemoteOutbox.pageCount else { return true }
            after = rows.last?.row
        }
    }

    /// Returns whether a superseded intent belongs to the store's account and all later ones to
    /// other accounts.
    private func isRevived(_ intent: Intent) throws -> Bool {
        guard let speaker, !isOthers(intent.event.id, than: speaker) else { return false }
        return try runner.standing(of: intent, in: outboxes) {
            isOthers($0, than: speaker)
        } != nil
    }

    private func isOthers(_ change: EventID, than speaker: String) -> Bool {
        signIns.isOthers(change, than: speaker, on: log.origin)
    }

    /// Returns whether a later intent replaces an intent of a type that is not a register.
    @available(*, noasync)
    package func isReplaced(_ intent: Intent) throws -> Bool {
        try LaterIntents(
            log: log, runner: runner, connector: connector, outboxes: outboxes, signIns: signIns,
            speaker: speaker
        ).replace(intent)
    }

    private static let pageCount = 200

    private func forEachDerived(
        _ body: (RemoteDelivery, OutboxItem, Tag) throws -> Bool,
        _ state: (Intent, OutboxItem) throws -> RemoteDelivery.State?
    ) throws {
        var after: [UInt8]?
        while true {
            let connector = connector
            let found = try runner.read(connector.lookups.map(\.name)) {
                try connector.derived($0, after: after, limit: RemoteOutbox.pageCount)
            }
            for derived in found {
                guard let event = try log.event(derived.event) else { continue }
                let intent = Intent(event, key: derived.key, isDerived: true)
                // Skip an event that is itself a pending intent, because it is already listed.
                guard try runner.standing(of: Intent(event, key: derived.key), in: outboxes) == nil,
                    let item = try openItem(of: intent),
                    let state = try state(intent, item)
                else { continue }
                let delivery = RemoteDelivery(
                    remote: remote.name, event: intent.event, isDerived: true, state: state)
                guard try body(delivery, item, intent.key) else { return }
            }
            guard found.count == RemoteOutbox.pageCount else { return }
            after = found.last?.row
        }
    }

    /// Returns the item of a derived intent that has no row yet; nil if the intent has a row or has
    /// ended.
    private func openItem(of intent: Intent) throws -> OutboxItem? {
        guard let standing = try runner.standing(of: intent, in: outboxes), !standing.isListed
        else { return nil }
        return standing.item
    }

    /// Returns the state of an intent regardless of the earlier intents in its lane, and whether it
    /// delays the later ones; nil if the intent concerns another remote or a later intent replaces
    /// it.
    private func standing(
        of intent: Intent, _ item: OutboxItem
    ) throws -> (state: RemoteDelivery.State, delaysLane: Bool)? {
        let connector = connector
        let account = account
        let plan = try runner.read(connector.lookups.map(\.name)) {
            try connector.plan(intent, $0, account)
        }
        if case .foreign = plan { return nil }
        if let end = item.anyEnd {
            return end.kind == .unknown
                ? (.unknown(end.message), false)
                : (.refused(ErrorCode(rawValue: end.code), end.message), false)
        }
        if try isReplaced(intent) { return nil }
        let isSent = item.parts.contains { $0.kind == .dispatched }
        func waiting(_ code: ErrorCode, _ message: String) -> RemoteDelivery.State {
            .waiting(
                reason: code,
                message: isSent
                    ? message + "; a request was already sent and may have taken effect" : message,
                until: nil)
        }
        if let refusal { return (waiting(refusal.code, refusal.message), false) }
        if let speaker,
            let failure = signIns.refusal(
                of: intent.event.id, from: speaker, at: remote, on: log.origin)
        {
            return (waiting(failure.code, failure.message), false)
        }
        if account.isAnonymous, !connector.manifest.isOpen {
            return (waiting(.unauthorized, "not logged in"), false)
        }
        // After the end of a wait, the next sync delivers the intent.
        let now = log.now()
        if let wait = network.wait() ?? row.wait, wait.holds(at: now) {
            return (.waiting(wait), false)
        }
        if case .waiting(let code, let message) = plan {
            return (.waiting(reason: code, message: message, until: nil), false)
        }
        if let wait = try RemoteRow.lane(remote.name, intent.key.text, in: log)?.wait,
            network.upholds(wait), wait.holds(at: now)
        {
            return (.waiting(wait), true)
        }
        let delivery = plan.deliveries.first { delivery in
            item.part(delivery.target).map { $0.kind != .confirmed } ?? true
        }
        if let delivery,
            let wait = try custody.wait(try custody.answer(for: item), delivery.safety)
        {
            return (.waiting(wait), true)
        }
        return (isSent ? .sent : .queued, false)
    }

    /// Records the user's request to retry or drop an item.
    @available(*, noasync)
    package func record(
        _ kind: OutcomeRecorded.Kind, _ delivery: RemoteDelivery, key: Tag
    ) throws {
        let intent = Intent(delivery.event, key: key, isDerived: delivery.isDerived)
        let outcome = OutcomeRecorded(kind, of: intent, at: remote)
        try log.record(
            [try ProposedEvent(outcome, beside: intent)],
            rows: [RemoteRow.lane(remote.name, key.text, nil)])
    }
}

extension RemoteDelivery.State {
    fileprivate static func waiting(_ wait: SyncWait) -> Self {
        .waiting(
            reason: wait.reason, message: wait.message, until: wait.until > 0 ? wait.until : nil)
    }
}

extension RemoteSession {
    /// Lists the pending intents at the end of a sync.
    mutating func takeStock() throws {
        let outbox = try RemoteOutbox(
            log, remote, connector, runner, outboxes: outboxes, login: storedLogin(),
            connection: connection, custody: custody)
        var report = report
        var refusals = try ReportedRefusals(by: remote, in: log)
        // Dispatches that another device or the user has ended need not be measured any longer.
        var sights = Set(
            try log.syncRows(prefix: RemoteRow.sightPrefix(remote.name)).map(\.name))
        try outbox.forEach { delivery, item, _ in
            let event = delivery.event.id
            for part in item.parts where part.kind == .dispatched {
                sights.remove(
                    RemoteRow.dispatch(remote.name, event, isDerived: item.isDerived, part.target))
            }
            switch delivery.state {
            case .refused(let code, let message):
                refusals.add(item, code, message, to: &report)
            case .unknown(let message):
                report.addWaiting(event, .unknownOutcome, message, until: nil)
            case .waiting(let reason, let message, let until):
                report.addWaiting(event, reason, message, until: until)
            case .sent:
                report.addWaiting(
                    event, .unconfirmed, "the remote never responded to the request", until: nil)
            case .queued:
                if let failure = report.failure {
                    report.addWaiting(event, failure.code, failure.message, until: nil)
                } else {
                    report.addWaiting(
                        event, .unconfirmed, "not confirmed yet; the next sync continues",
                        until: nil)
                }
            }
            return true
        }
        let rows = refusals.new + sights.union(refusals.ended).map { SyncRow($0, nil) }
        if !rows.isEmpty { try log.setSyncRows(rows) }
        self.report = report
    }

    /// Returns the login that the next sync would use; nil if the user has logged out meanwhile.
    private func storedLogin() throws -> RemoteLogin? {
        if login.account?.isAnonymous == true { return login }
        do {
            return try logins.read(remote)
        } catch is SyncError {
            return login
        }
    }
}

extension RemoteOutbox {
    /// Returns a report of what a sync would send, without the network; nothing is recorded.
    @available(*, noasync)
    package func preview() throws -> RemoteReport {
        var report = RemoteReport()
        var refusals = try ReportedRefusals(by: remote, in: log)
        try forEach { delivery, item, _ in
            let event = delivery.event.id
            switch delivery.state {
            // If a request received no response, a sync checks its outcome and repeats it if needed.
            case .queued, .sent: report.pushed += 1
            case .refused(let code, let message): refusals.add(item, code, message, to: &report)
            case .waiting(let reason, let message, let until):
                report.addWaiting(event, reason, message, until: until)
            case .unknown(let message):
                report.addWaiting(event, .unknownOutcome, message, until: nil)
            }
            return true
        }
        return report
    }
}

/// The refusals of a remote that earlier syncs have reported; each refusal is reported only once.
private struct ReportedRefusals {
    private let remote: String
    /// The rows of earlier syncs, without those of the added refusals.
    private var known: [String: [UInt8]] = [:]
    /// The rows that mark the added refusals as reported, without those of earlier syncs.
    private(set) var new: [SyncRow] = []

    init(by remote: Remote, in log: EventLog) throws {
        self.remote = remote.name
        for row in try log.syncRows(prefix: RemoteRow.reportedPrefix(remote.name)) {
            known[row.name] = row.value
        }
    }

    /// The names of the rows whose refusals were not added, because the outbox no longer contains
    /// them.
    var ended: [String] { Array(known.keys) }

    /// Counts a refusal if an earlier sync has reported it; otherwise, adds it to the report's list.
    mutating func add(
        _ item: OutboxItem, _ code: ErrorCode, _ message: String, to report: inout RemoteReport
    ) {
        guard let end = item.anyEnd else { return }
        let row = RemoteRow.reported(remote, item.event, end)
        if known.removeValue(forKey: row.name) == row.value {
            report.refusedBefore += 1
        } else {
            new.append(row)
            report.refused.append((item.event, code, message))
        }
    }
}

extension RemoteReport {
    /// Counts a pending intent, and adds it to the list unless the list is full.
    package mutating func addWaiting(
        _ event: EventID, _ reason: ErrorCode, _ message: String, until: UInt64?
    ) {
        waitingCount += 1
        guard waiting.count < RemoteReport.waitingCountMax else { return }
        waiting.append(Waiting(event: event, reason: reason, message: message, until: until))
    }
}
