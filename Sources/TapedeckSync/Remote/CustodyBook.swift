package import TapedeckLog
internal import TapedeckModel

/// Determines which device may currently deliver each intent of a store; see `Custody`.
///
/// Syncs and lists of pending intents use the same book, so they agree on which intents wait and
/// why.
package struct CustodyBook {
    private let log: EventLog
    private let clock: SteadyClock
    private var leases: LeaseClock

    @available(*, noasync)
    package init(_ log: EventLog, _ clock: SteadyClock = .system) throws(LogError) {
        self.log = log
        self.clock = clock
        leases = try LeaseClock(log, clock)
    }

    /// Records the offset between the clocks; leases can be measured only after it has been
    /// recorded.
    mutating func recordClock() throws(LogError) { try leases.record(log) }

    /// Returns whether this device may deliver an intent.
    func answer(for item: OutboxItem) throws -> Custody.Answer {
        // Ignore servers that have never responded, because they have not sequenced any events.
        let upstreams = try Upstream.all(in: log).filter { $0.cursor != nil }
        func sequenced(_ event: EventID) throws -> Custody.Sequenced? {
            // Receipts from a lost server remain valid. If there are several receipts, use the
            // earliest.
            try log.receipts(of: event).min { $0.receivedAt < $1.receivedAt }.map {
                Custody.Sequenced(
                    origin: event.origin, position: $0.serverPosition,
                    receivedAt: $0.receivedAt.milliseconds)
            }
        }
        // The response to a push can report the position of this device's claim before earlier
        // claims by other devices have been read. The claim stays open until all entries before it
        // have been read.
        func isRead(_ claim: EventID) throws -> Bool {
            let receipts = try log.receipts(of: claim)
            guard !receipts.isEmpty else { return false }
            return upstreams.allSatisfy { upstream in
                guard let cursor = upstream.cursor,
                    let receipt = receipts.first(where: { $0.lineage == cursor.lineage })
                else { return true }
                return receipt.serverPosition <= cursor.position
            }
        }
        let read = try item.claims.filter(isRead)
        return Custody.of(
            origin: item.event.origin, device: log.origin,
            age: leases.age(of: item.milliseconds, now: log.now()),
            intent: try sequenced(item.event), claims: try read.compactMap(sequenced),
            hasOpenClaim: item.claims.contains { $0.origin == log.origin && !read.contains($0) },
            hasServer: !upstreams.isEmpty,
            now: try ServerClock.now(clock, in: log))
    }

    /// Returns the reason why a delivery must wait, and the end of the wait; nil if this device may
    /// deliver the intent now.
    ///
    /// Idempotent deliveries need no claim.
    func wait(_ answer: Custody.Answer, _ safety: DeliverySafety) throws -> SyncWait? {
        switch answer {
        case .own, .taken: nil
        case .leased(let until):
            SyncWait(
                reason: .leased, message: "another device may be delivering it",
                until: try localTime(ofServer: until))
        case .unclaimed, .claim:
            safety == .natural
                ? nil
                : SyncWait(
                    reason: .unclaimed,
                    message: "waiting for the server to confirm which device delivers it", until: 0)
        }
    }

    /// Returns the remaining settling time, in milliseconds, during which a request that was
    /// already sent may still take effect; 0 if no dispatch is known.
    ///
    /// If a clock may have been changed since the dispatch, the settling time starts when the
    /// dispatch was first seen here; see `DispatchSight`. For a request sent by another device,
    /// whose clock may be wrong, the settling time starts when this device took over the intent;
    /// the request ended before that.
    func unsettled(
        _ target: String, of item: OutboxItem, at remote: Remote, _ answer: Custody.Answer,
        for settling: UInt64
    ) throws -> UInt64 {
        let part = item.part(target)
        let dispatch = part?.kind == .dispatched ? part : nil
        var passed: UInt64
        if case .taken(let since?) = answer, part?.origin != log.origin {
            guard let server = try ServerClock.now(clock, in: log) else { return settling }
            passed = server > since ? server - since : 0
        } else if let dispatch {
            passed = leases.age(of: dispatch.milliseconds, now: log.now()) ?? 0
        } else {
            return 0
        }
        if passed < settling, let dispatch {
            let row = RemoteRow.dispatch(remote.name, item.event, isDerived: item.isDerived, target)
            passed = try DispatchSight.passed(since: dispatch, atLeast: passed, row, clock, in: log)
        }
        return settling > passed ? settling - passed : 0
    }

    /// Converts a time on the server's clock to a time on the local clock.
    private func localTime(ofServer milliseconds: UInt64) throws -> UInt64 {
        let now = log.now()
        guard let server = try ServerClock.now(clock, in: log) else { return now }
        return milliseconds > server ? now + (milliseconds - server) : now
    }
}
