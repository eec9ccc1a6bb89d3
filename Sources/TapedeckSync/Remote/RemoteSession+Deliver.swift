internal import TapedeckLog
internal import TapedeckModel
internal import TapedeckProjections

extension RemoteSession {
    /// The progress of delivering: the outboxes are scanned repeatedly until a scan sends nothing.
    struct Delivering {
        /// The number of tables completed in this scan, two for each outbox; `after` is the position
        /// in the next table.
        fileprivate var outbox = 0
        fileprivate var after: [UInt8]?
        fileprivate var hasDone = false
        /// The lanes in which an earlier intent is waiting.
        fileprivate var blocked: Set<Tag> = []
        fileprivate var queue: [Intent] = []
        /// Whether a scan is under way.
        fileprivate(set) var isUnderWay = false
        /// The end of the log when the last scan began, advanced past events that the session
        /// itself has recorded since.
        private var seen = LogPosition.start
        /// The wait that ends first.
        private(set) var soonest: SyncWait?

        /// Begins a scan at the first outbox.
        mutating func begin(at head: LogPosition, now: UInt64) {
            let soonest = soonest.flatMap { $0.holds(at: now) ? $0 : nil }
            self = Delivering()
            (isUnderWay, seen, self.soonest) = (true, head, soonest)
        }

        /// Clears `soonest`; the next scan determines it again.
        mutating func forgetWaits() { soonest = nil }

        /// Returns whether there may be intents to deliver that the last scan did not see.
        func hasNews(at head: LogPosition, now: UInt64) -> Bool {
            head != seen || soonest.map { $0.until <= now } ?? false
        }

        /// Marks everything in the log as seen.
        mutating func passOver(to head: LogPosition) { seen = head }

        /// Marks the events of a page as seen, because the session itself has recorded them.
        mutating func passOver(_ recorded: EventLog.RecordedEvents) {
            if seen == recorded.before { seen = recorded.after }
        }

        /// Puts an intent first in the queue.
        mutating func again(_ intent: Intent) { queue.insert(intent, at: 0) }

        fileprivate mutating func waits(_ wait: SyncWait) {
            if let soonest, soonest.until <= wait.until { return }
            soonest = wait
        }
    }

    /// The number of rows of an outbox to read in one transaction.
    private static let rowsPerPass = 200

    /// Returns whether to look for intents to deliver before the next page is read.
    ///
    /// Changes that the user requests during a long pass over the remote's pages are delivered
    /// before the pass ends. Older intents wait until a short pass ends, because the pass may show
    /// that they have already taken effect.
    mutating func isDeliveryDue() throws -> Bool {
        if delivering.isUnderWay { return true }
        let head = try log.currentHead()
        let isOverdue = hasBacklog && reading.readCount >= RemoteSession.pagesBeforeBacklog
        guard nextPage() == nil || isOverdue || delivering.hasNews(at: head, now: now) else {
            return false
        }
        hasBacklog = false
        delivering.begin(at: head, now: now)
        return true
    }

    /// The number of pages after which reading is interrupted to deliver older intents.
    private static let pagesBeforeBacklog = 8

    /// Returns the next request of a delivery; nil if nothing can be delivered now.
    mutating func nextDelivery(
        _ account: RemoteAccount
    ) throws -> (RemoteRequest, Pending)? {
        while true {
            while !delivering.queue.isEmpty {
                let intent = delivering.queue.removeFirst()
                if delivering.blocked.contains(intent.key) { continue }
                if let request = try step(intent, account) {
                    delivering.hasDone = true
                    return request
                }
            }
            if try refill() { continue }
            guard delivering.hasDone else {
                delivering.isUnderWay = false
                return nil
            }
            delivering.begin(at: try log.currentHead(), now: now)
        }
    }

    /// Reads more intents from the outboxes; returns false if there are none.
    private mutating func refill() throws -> Bool {
        let (limit, now) = (RemoteSession.rowsPerPass, now)
        // Each outbox is read twice: another account's later intents do not replace this account's.
        while delivering.outbox <= 2 * outboxes.count {
            let (number, after) = (delivering.outbox, delivering.after)
            let connector = connector
            var last: [UInt8]?
            if number == 2 * outboxes.count {
                let found = try runner.read(connector.lookups.map(\.name)) {
                    try connector.derived($0, after: after, limit: limit)
                }
                last = found.count < limit ? nil : found.last?.row
                delivering.queue = try found.compactMap { found in
                    try log.event(found.event).map {
                        Intent($0, key: found.key, isDerived: true)
                    }
                }
            } else {
                let (outbox, isSuperseded) = (outboxes[number / 2], number % 2 == 1)
                let rows =
                    try isSuperseded && !connection.signIns().hasSeveral
                    ? []
                    : runner.read([outbox.name]) {
                        try OutboxRow.page(
                            of: outbox, $0, isSuperseded: isSuperseded, after: after, limit: limit)
                    }
                last = rows.count < limit ? nil : rows.last?.row
                delivering.queue = try rows.compactMap { row in
                    // Skip derived intents, which the connector lists itself.
                    guard !row.item.isDerived, row.item.end == nil,
                        let event = try log.event(row.item.event),
                        !outbox.isExpired(row.item, of: event.type, at: now)
                    else { return nil }
                    return Intent(event, key: row.key)
                }
            }
            delivering.after = last
            if last == nil { delivering.outbox += 1 }
            if !delivering.queue.isEmpty { return true }
        }
        return false
    }

    /// Returns the outbox's data for an intent; nil if the intent has ended.
    func standing(of intent: Intent) throws -> Outbox.Standing? {
        // Read them first, because reads must not be nested.
        let signIns = try connection.signIns()
        let (account, device) = (login.account, log.origin)
        let standing = try runner.standing(of: intent, in: outboxes) { later in
            guard let account, !account.isAnonymous else { return false }
            return signIns.isOthers(later, than: account.user, on: device)
        }
        guard let standing, standing.item.end == nil else { return nil }
        return signIns.isPending(standing.item) ? standing : nil
    }

    /// Performs the steps of an intent that need no network; returns the intent's next request, or
    /// nil if there is none.
    private mutating func step(
        _ intent: Intent, _ account: RemoteAccount
    ) throws -> (RemoteRequest, Pending)? {
        guard let item = try standing(of: intent)?.item else { return nil }
        let signIns = try connection.signIns()
        // Later intents of the lane may belong to the account of this login.
        if !account.isAnonymous,
            signIns.isOthers(intent.event.id, than: account.user, on: log.origin)
        {
            return nil
        }
        let later = LaterIntents(
            log: log, runner: runner, connector: connector, outboxes: outboxes,
            signIns: signIns, speaker: account.isAnonymous ? nil : account.user)
        if try later.replace(intent) { return nil }
        if let wait = try RemoteRow.lane(remote.name, intent.key.text, in: log),
            wait.wait.until > now
        {
            delivering.waits(wait.wait)
            delivering.blocked.insert(intent.key)
            return nil
        }
        let connector = connector
        let plan = try runner.read(connector.lookups.map(\.name)) {
            try connector.plan(intent, $0, account)
        }
        switch plan {
        case .foreign: return nil
        case .waiting: return nil
        case .satisfied(let evidence):
            // A derived intent ends when its source changes, so recording a confirmation would be
            // redundant.
            guard !intent.isDerived else { return nil }
            return try step(evidence, of: intent, item)
        case .refused(let code, let message):
            try refuse(intent, target: "", code, message)
            return nil
        case .deliver(let deliveries): return try step(deliveries, of: intent, item)
        }
    }

    /// Returns the next request of an intent's deliveries; nil if they have ended or their lane is
    /// waiting.
    private mutating func step(
        _ deliveries: [Delivery], of intent: Intent, _ item: OutboxItem
    ) throws -> (RemoteRequest, Pending)? {
        for delivery in deliveries {
            if let step = try step(delivery, of: intent, item) { return step }
            if delivering.blocked.contains(intent.key) { return nil }
        }
        // All parts of the intent have ended. If the intent has only one part, it has ended too, so
        // `standing` may be nil.
        if let item = try standing(of: intent)?.item { try conclude(item, of: intent) }
        return nil
    }

    /// Confirms an intent if the evidence suffices; otherwise returns its next request, or nil if
    /// the remote has to be read first.
    private mutating func step(
        _ evidence: Evidence, of intent: Intent, _ item: OutboxItem
    ) throws -> (RemoteRequest, Pending)? {
        let suffices: Bool
        switch evidence {
        case .final: suffices = true
        case .sent(let code, let message):
            // Another device may have sent the request without being able to report it.
            guard try !item.parts.isEmpty || custody.answer(for: item) != .own else {
                try refuse(intent, target: "", code, message)
                return nil
            }
            suffices = true
        case .feed(let feed):
            if reading.next == nil, intent.event.position > readingPosition { try beginReading() }
            suffices = isRead(feed, since: intent)
        case .wholeFeed(let feed, let otherwise):
            suffices = wholeFeeds[feed].map { $0 >= intent.event.position } ?? false
            guard suffices || reading.next != nil else {
                return try step(otherwise, of: intent, item)
            }
        }
        if suffices {
            try record(.confirmed, nil, of: intent)
        } else {
            block(intent)
        }
        return nil
    }

    /// Returns whether a feed was read in a pass that began after the intent was recorded.
    private func isRead(_ feed: String, since intent: Intent) -> Bool {
        readFeeds[feed].map { $0 >= intent.event.position } ?? false
    }

    /// Ends an intent whose parts have all ended; its outcome is the worst outcome of the parts.
    private func conclude(_ item: OutboxItem, of intent: Intent) throws {
        if let refused = item.parts.first(where: { $0.kind == .refused }) {
            try refuse(intent, target: "", ErrorCode(rawValue: refused.code), refused.message)
        } else if let unknown = item.parts.first(where: { $0.kind == .unknown }) {
            try record(
                .unknown, nil, of: intent, code: .unknownOutcome, message: unknown.message)
        } else if !intent.isDerived {
            try record(.confirmed, nil, of: intent)
        }
    }

    /// Returns the next request of a delivery; nil if it has ended or its lane is waiting.
    private mutating func step(
        _ delivery: Delivery, of intent: Intent, _ item: OutboxItem
    ) throws -> (RemoteRequest, Pending)? {
        let part = item.part(delivery.target)
        if let part, part.kind == .confirmed || part.isEnd { return nil }
        let answer = try custody.answer(for: item)
        let name = RemoteSession.name(of: delivery, intent)
        if let wait = try custody.wait(answer, delivery.safety) {
            // Custody restricts changes, not probes. A probe may show that the request of this
            // device took effect; otherwise the probe proves nothing, because another device may be
            // delivering the intent.
            if part?.kind == .dispatched, part?.origin == log.origin, let probe = delivery.probe,
                probedMissing.insert(name).inserted
            {
                return (probe, .probe(delivery, intent))
            }
            if answer == .claim { try claim(intent) }
            block(intent, wait)
            return nil
        }
        if delivery.safety == .natural {
            // The request is idempotent, so no claim is needed. A request that the remote accepts
            // without effect is not repeated until the next sync.
            guard delivered[intent.event.id]?.contains(delivery.target) != true else {
                block(intent)
                return nil
            }
            return try request(delivery, intent)
        }
        // This device may have sent the request before a crash, the previous holder of the intent
        // may have sent it without being able to report it, or another program may have made the
        // change.
        let isShown = delivery.shownBy.map { isRead($0, since: intent) } ?? false
        // No probe can check this intent, but the user has checked the remote before retrying it.
        let isRetried = delivery.safety == .once && part == nil && item.retries > 0
        let isTaken =
            answer.isTaken && !isRetried
            && !probedMissing.contains(RemoteSession.name(of: answer, name))
        let isDoubtful =
            part?.kind == .dispatched || isTaken
            || delivery.isAskedFirst && part == nil && !isShown
        guard isDoubtful else { return try request(delivery, intent) }
        guard delivery.safety == .probe, let probe = delivery.probe else {
            try record(
                .unknown, delivery, of: intent, code: .unknownOutcome,
                message: "the request may have taken effect; this cannot be checked")
            return nil
        }
        guard try isSettled(delivery, of: intent, item, answer) else { return nil }
        return (probe, .probe(delivery, intent))
    }

    /// Returns whether a request can no longer take effect; otherwise, its lane waits.
    private mutating func isSettled(
        _ delivery: Delivery, of intent: Intent, _ item: OutboxItem, _ answer: Custody.Answer
    ) throws -> Bool {
        let rest = try custody.unsettled(
            delivery.target, of: item, at: remote, answer, for: connector.manifest.settling)
        guard rest > 0 else { return true }
        block(
            intent,
            SyncWait(
                reason: .unconfirmed, message: "a request may still take effect",
                until: now + rest))
        return false
    }

    /// Returns the request of a delivery; nil if it has to wait for an unmetered network.
    private mutating func request(
        _ delivery: Delivery, _ intent: Intent
    ) throws -> (RemoteRequest, Pending)? {
        guard network != .metered || !delivery.request.hasFiles else {
            try waitForNetwork(intent)
            return nil
        }
        return (delivery.request, .delivery(delivery, intent))
    }

    /// While the network is metered, parks a lane whose next request uploads files.
    private mutating func waitForNetwork(_ intent: Intent) throws {
        let held = try RemoteRow.lane(remote.name, intent.key.text, in: log)
        if held?.wait.reason != .metered {
            let wait = SyncWait(
                reason: .metered, message: "the files are waiting for an unmetered network",
                until: 0)
            try log.setSyncRows([
                RemoteRow.lane(
                    remote.name, intent.key.text,
                    LaneWait(failures: held?.failures ?? 0, wait: wait))
            ])
        }
        // Sessions poll for network changes.
        guard options.isLive else { return block(intent) }
        block(
            intent,
            SyncWait(
                reason: .metered, message: "files wait for an unmetered network",
                until: now + NetworkState.pause))
    }

    private mutating func block(_ intent: Intent, _ wait: SyncWait? = nil) {
        delivering.blocked.insert(intent.key)
        if let wait, wait.until > 0 { delivering.waits(wait) }
    }

    private static func name(of delivery: Delivery, _ intent: Intent) -> String {
        "\(intent.event.id) \(delivery.target)"
    }

    /// Returns the name under which probes of a delivery are remembered.
    ///
    /// The name is different each time this device takes over the intent, because probes made
    /// before the takeover prove nothing after it.
    private static func name(of answer: Custody.Answer, _ delivery: String) -> String {
        if case .taken(let since) = answer { "\(delivery) \(since ?? 0)" } else { delivery }
    }

    // MARK: - Responses

    mutating func took(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent
    ) throws {
        guard let account = login.account else { return }
        let confirmation = try connector.confirm(response, delivery, of: intent, account)
        guard confirmation.isDone || delivery.safety != .probe else {
            // The dispatch stays open until a probe shows the change. The remote has responded, so it
            // may show the change already.
            guard let probe = delivery.probe else { return block(intent) }
            held = (probe, .probe(delivery, intent))
            return
        }
        try confirmed(confirmation, delivery, of: intent)
    }

    mutating func took(
        probe response: RemoteResponse, _ delivery: Delivery, of intent: Intent
    ) throws {
        guard let account = login.account, let standing = try standing(of: intent) else { return }
        let (item, taken) = (standing.item, standing.taken)
        let answer = try custody.answer(for: item)
        let dispatch = item.part(delivery.target).flatMap { $0.kind == .dispatched ? $0 : nil }
        let others = answer.isTaken ? delivery.baselineOfOthers : nil
        let baseline = dispatch?.baseline ?? others ?? delivery.baseline
        func find(besides taken: Set<String>) throws -> ProbeResult {
            let found = try connector.find(
                response, delivery, of: intent, baseline: baseline, taken: taken, account)
            // Without a baseline, an equal object may be older than the intent.
            guard dispatch == nil, others != nil, case .found(let confirmation) = found,
                !taken.contains(confirmation.remoteID), try isOlder(confirmation, than: intent)
            else { return found }
            return try find(besides: taken.union([confirmation.remoteID]))
        }
        switch try find(besides: taken) {
        case .found(let confirmation): try confirmed(confirmation, delivery, of: intent)
        case .missing:
            let name = RemoteSession.name(of: delivery, intent)
            guard try custody.wait(answer, delivery.safety) == nil else {
                probedMissing.insert(name)
                return delivering.again(intent)
            }
            guard try isSettled(delivery, of: intent, item, answer) else { return }
            if let settling = delivery.settling,
                try custody.unsettled(
                    delivery.target, of: item, at: remote, answer, for: settling) > 0
            {
                return try postpone(
                    SyncFailure(.unconfirmed, "the remote does not show the change yet"), delivery,
                    of: intent)
            }
            try record(.unsent, delivery, of: intent)
            probedMissing.insert(RemoteSession.name(of: answer, name))
            delivering.again(intent)
        case .ask(let request):
            var delivery = delivery
            delivery.probe = request
            held = (request, .probe(delivery, intent))
        }
    }

    /// The maximum time, in milliseconds, by which the clocks of two devices may differ.
    private static let clockSkewMax: UInt64 = 86_400_000

    /// Returns whether the objects in a confirmation were observed before the intent was recorded.
    private func isOlder(_ confirmation: Confirmation, than intent: Intent) throws -> Bool {
        let entities = confirmation.observations.compactMap { $0.fact?.entity }
        let end = intent.event.stamp.milliseconds
        return try !entities.isEmpty
            && entities.allSatisfy { entity in
                guard let seen = try log.firstSeen(entity) else { return false }
                return seen.stamp.milliseconds + RemoteSession.clockSkewMax < end
            }
    }

    private mutating func confirmed(
        _ confirmation: Confirmation, _ delivery: Delivery, of intent: Intent
    ) throws {
        var events = confirmation.observations
        if delivery.safety == .natural {
            delivered[intent.event.id, default: []].insert(delivery.target)
        }
        // Record no outcome for an idempotent delivery of a part or a derived intent; the
        // observations are sufficient.
        if delivery.safety != .natural || delivery.target.isEmpty && !intent.isDerived {
            var outcome = OutcomeRecorded(
                .confirmed, of: intent, at: remote, target: delivery.target)
            outcome.register = register(of: intent, delivery)
            outcome.remoteID = confirmation.remoteID
            outcome.remoteVersion = confirmation.remoteVersion
            events.append(try ProposedEvent(outcome, beside: intent))
        }
        try log.record(
            events,
            rows: [
                RemoteRow.lane(remote.name, intent.key.text, nil),
                endedSight(intent, delivery.target), row.row,
            ])
        report.pushed += 1
        // Continue with the other parts of the intent, then complete it.
        if !delivery.target.isEmpty { delivering.queue.insert(intent, at: 0) }
    }

    /// Handles the failure of a delivery.
    mutating func failed(
        _ failure: SyncFailure, _ delivery: Delivery, of intent: Intent
    ) throws {
        switch failure.code {
        case .offline, .unauthorized, .throttled:
            // If the request was rejected or never sent, record this result. Otherwise the dispatch
            // stays open and must be probed.
            let isUnsent = failure.isUnsent || failure.code != .offline
            if isUnsent, delivery.safety != .natural { try record(.unsent, delivery, of: intent) }
            delivering.queue.insert(intent, at: 0)
        case .unavailable, .redirected, .internalError:
            if failure.isUnsent, delivery.safety != .natural {
                try record(.unsent, delivery, of: intent)
            }
            try postpone(failure, delivery, of: intent)
        default:
            try refuse(intent, target: delivery.target, failure.code, failure.message)
            if !delivery.target.isEmpty { delivering.queue.insert(intent, at: 0) }
        }
    }

    /// Makes a lane wait while other lanes continue.
    mutating func postpone(
        _ failure: SyncFailure, _ delivery: Delivery, of intent: Intent
    ) throws {
        let held = try RemoteRow.lane(remote.name, intent.key.text, in: log)
        let failures = (held?.failures ?? 0) + 1
        let pause = max(laneWait(failures), failure.retryAfter ?? 0)
        let wait = SyncWait(
            reason: failure.code, message: failure.message, until: now + pause,
            isAsked: failure.retryAfter != nil)
        try log.setSyncRows([
            RemoteRow.lane(
                remote.name, intent.key.text, LaneWait(failures: failures, wait: wait))
        ])
        delivering.blocked.insert(intent.key)
        delivering.waits(wait)
    }

    private func refuse(
        _ intent: Intent, target: String, _ code: ErrorCode, _ message: String
    ) throws {
        let outcome = OutcomeRecorded(
            .refused, of: intent, at: remote, target: target, code: code, message: message)
        try log.record(
            [try ProposedEvent(outcome, beside: intent)], rows: [endedSight(intent, target)])
    }

    private func claim(_ intent: Intent) throws {
        var claim = IntentClaimed()
        claim.system = remote.system
        claim.intent = intent.event.id.description
        claim.isDerived = intent.isDerived
        try log.record([try ProposedEvent(claim, beside: intent)])
    }

    /// Records the outcome of a delivery, or of the entire intent.
    func record(
        _ kind: OutcomeRecorded.Kind, _ delivery: Delivery?, of intent: Intent,
        code: ErrorCode? = nil, message: String = ""
    ) throws {
        var outcome = OutcomeRecorded(
            kind, of: intent, at: remote, target: delivery?.target ?? "", code: code,
            message: message)
        if kind == .dispatched { outcome.baseline = delivery?.baseline ?? "" }
        if [.dispatched, .confirmed].contains(kind) {
            outcome.register = register(of: intent, delivery)
        }
        try log.record(
            [try ProposedEvent(outcome, beside: intent)],
            rows: [endedSight(intent, outcome.target)])
    }

    /// Returns a row without a value; writing the row deletes the first sight of a part's last
    /// dispatch.
    private func endedSight(_ intent: Intent, _ target: String) -> SyncRow {
        let name = RemoteRow.dispatch(
            remote.name, intent.event.id, isDerived: intent.isDerived, target)
        return SyncRow(name, nil)
    }

    /// Returns the register that a request for an intent may have changed; empty if the intent has
    /// no register, or if this session has sent no request for the intent.
    private func register(of intent: Intent, _ delivery: Delivery?) -> String {
        let type = intent.event.type
        guard !intent.isDerived, outboxes.contains(where: { $0.replaces(type) }) else { return "" }
        return delivery != nil || delivered[intent.event.id] != nil ? type.name : ""
    }
}
