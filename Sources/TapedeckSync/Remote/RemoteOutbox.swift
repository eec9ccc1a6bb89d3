package import TapedeckLog
public import TapedeckModel
package import TapedeckProjections

/// What is wanted of a remote and not done, and why: told from the log alone, without the network.
public struct RemoteDelivery: Sendable {
    /// How far an intent is.
    public enum State: Hashable, Sendable {
        /// The next sync sends it.
        case queued
        /// A request left and its outcome is not known; the next sync asks.
        case sent
        /// Something is in the way, until a time in Unix milliseconds where one is known.
        case waiting(reason: ErrorCode, message: String, until: UInt64?)
        /// The remote will not do it.
        case refused(ErrorCode, String)
        /// It cannot be told whether it was done.
        case unknown(String)
    }

    /// The remote's name.
    public var remote: String
    /// The intent's event, or the one from which it follows.
    public var event: EventEnvelope
    /// Whether it follows from a rule.
    public var isDerived: Bool
    /// How far it is.
    public var state: State

    /// Whether nobody will do anything about it but the user.
    public var isOver: Bool {
        switch state {
        case .refused, .unknown: true
        default: false
        }
    }
}

/// What waits for one remote; see `RemoteDelivery`.
package struct RemoteOutbox {
    package let remote: Remote
    package let connector: any Connector
    private let outboxes: [Outbox]
    private let log: EventLog
    private let runner: ProjectionRunner
    private let row: RemoteRow
    private let account: RemoteAccount
    private let network: NetworkState

    /// Looks at a remote's outbox in an open store; `account` where somebody has logged in.
    @available(*, noasync)
    package init(
        _ log: EventLog, _ remote: Remote, _ connector: any Connector, _ runner: ProjectionRunner,
        outboxes: [Outbox], account: RemoteAccount?
    ) throws(LogError) {
        self.log = log
        self.remote = remote
        self.connector = connector
        self.runner = runner
        self.outboxes = outboxes.filter { connector.manifest.intentKinds.contains($0.tagKind) }
        self.account = account ?? .anonymous
        row = try RemoteRow.named(remote.name, in: log)
        network = try .current(in: log)
    }

    /// Calls `body` with each item, the oldest of each kind first, until it returns false.
    @available(*, noasync)
    package func forEach(_ body: (RemoteDelivery, OutboxItem, Tag) throws -> Bool) throws {
        for outbox in outboxes {
            var after: [UInt8]?
            while true {
                let rows = try runner.read([outbox.name]) {
                    try OutboxRow.page(of: outbox, $0, after: after, limit: RemoteOutbox.pageCount)
                }
                for row in rows {
                    guard let event = try log.event(row.item.event) else { continue }
                    let intent = Intent(event, key: row.key, isDerived: row.item.isDerived)
                    guard let state = try state(of: intent, row.item) else { continue }
                    let delivery = RemoteDelivery(
                        remote: remote.name, event: event, isDerived: intent.isDerived,
                        state: state)
                    guard try body(delivery, row.item, row.key) else { return }
                }
                guard rows.count == RemoteOutbox.pageCount else { break }
                after = rows.last?.row
            }
        }
        try forEachDerived(body)
    }

    private static let pageCount = 200

    private func forEachDerived(
        _ body: (RemoteDelivery, OutboxItem, Tag) throws -> Bool
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
                // What is wanted itself and has not ended is listed already.
                guard try runner.standing(of: Intent(event, key: derived.key), in: outboxes) == nil,
                    let item = try openItem(of: intent),
                    let state = try state(of: intent, item)
                else { continue }
                let delivery = RemoteDelivery(
                    remote: remote.name, event: intent.event, isDerived: true, state: state)
                guard try body(delivery, item, intent.key) else { return }
            }
            guard found.count == RemoteOutbox.pageCount else { return }
            after = found.last?.row
        }
    }

    /// The item of a derived intent that has no row of its own yet.
    private func openItem(of intent: Intent) throws -> OutboxItem? {
        guard let standing = try runner.standing(of: intent, in: outboxes), !standing.isListed
        else { return nil }
        return standing.item
    }

    /// How far an intent is; nil where it concerns another remote, or nothing is left to do.
    private func state(of intent: Intent, _ item: OutboxItem) throws -> RemoteDelivery.State? {
        let connector = connector
        let account = account
        let plan = try runner.read(connector.lookups.map(\.name)) {
            try connector.plan(intent, $0, account)
        }
        if case .foreign = plan { return nil }
        if let end = item.end ?? item.parts.first(where: \.isEnd) {
            return end.kind == .unknown
                ? .unknown(end.message)
                : .refused(ErrorCode(rawValue: end.code), end.message)
        }
        if account.isAnonymous, !connector.manifest.isOpen {
            return .waiting(
                reason: .unauthorized, message: "nobody has logged in", until: nil)
        }
        if let wait = network.wait() ?? row.wait {
            return .waiting(
                reason: wait.reason, message: wait.message,
                until: wait.until > 0 ? wait.until : nil)
        }
        if case .waiting(let code, let message) = plan {
            return .waiting(reason: code, message: message, until: nil)
        }
        if let wait = try RemoteRow.lane(remote.name, intent.key.text, in: log)?.wait,
            network.upholds(wait)
        {
            return .waiting(
                reason: wait.reason, message: wait.message,
                until: wait.until > 0 ? wait.until : nil)
        }
        return item.parts.contains { $0.kind == .dispatched } ? .sent : .queued
    }

    /// Records that the user wants an item tried again, or no longer.
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

extension RemoteSession {
    /// Lists what is left when a sync ends.
    mutating func takeStock() throws {
        let outbox = try RemoteOutbox(
            log, remote, connector, runner, outboxes: outboxes, account: login.account)
        var report = report
        try outbox.forEach { delivery, _, _ in
            let event = delivery.event.id
            switch delivery.state {
            case .refused(let code, let message):
                report.refused.append((event, code, message))
                return true
            case .unknown(let message):
                report.addWaiting(event, .unknownOutcome, message, until: nil)
            case .waiting(let reason, let message, let until):
                report.addWaiting(event, reason, message, until: until)
            case .sent: report.addWaiting(event, .unconfirmed, "its answer never came", until: nil)
            case .queued:
                if let failure = report.failure {
                    report.addWaiting(event, failure.code, failure.message, until: nil)
                } else if unclaimed.contains(event) {
                    report.addWaiting(
                        event, .unclaimed, "the server is to say first whose it is to deliver",
                        until: nil)
                } else {
                    report.addWaiting(
                        event, .leased, "another device may be delivering it",
                        until: leased[event])
                }
            }
            return true
        }
        self.report = report
    }
}

extension RemoteReport {
    /// Counts an intent that has not been delivered, and lists the first of them.
    package mutating func addWaiting(
        _ event: EventID, _ reason: ErrorCode, _ message: String, until: UInt64?
    ) {
        waitingCount += 1
        guard waiting.count < RemoteReport.waitingCountMax else { return }
        waiting.append(Waiting(event: event, reason: reason, message: message, until: until))
    }
}
