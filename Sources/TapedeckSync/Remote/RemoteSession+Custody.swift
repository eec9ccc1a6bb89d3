internal import TapedeckLog
internal import TapedeckModel

extension RemoteSession {
    /// Returns how much of a settling time remains after a dispatch, in milliseconds.
    ///
    /// If a clock may have been set since the dispatch, the settling time starts when this session
    /// first saw the dispatch.
    mutating func unsettled(_ part: OutboxItem.Part, for settling: UInt64) -> UInt64 {
        let steady = clock.read().milliseconds
        let name = "\(part.origin) \(part.milliseconds) \(part.target)"
        let met = dispatchesMet[name] ?? steady
        dispatchesMet[name] = met
        let age = leases.age(of: part.milliseconds, now: now) ?? 0
        let passed = max(age, steady - met)
        return settling > passed ? settling - passed : 0
    }

    /// Converts a time on the server's clock to a time on the local clock.
    func localTime(ofServer milliseconds: UInt64) throws -> UInt64 {
        guard let server = try ServerClock.now(clock, in: log) else { return now }
        return milliseconds > server ? now + (milliseconds - server) : now
    }

    /// Returns whether this device may deliver an intent.
    func custody(of item: OutboxItem) throws -> Custody.Answer {
        // A server that has never responded has not sequenced any events.
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
        // The response to a push can sequence a claim by this device before earlier claims by other
        // devices have been read. The claim stays open until all entries before the claim have been
        // read.
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
            age: leases.age(of: item.milliseconds, now: now),
            intent: try sequenced(item.event), claims: try read.compactMap(sequenced),
            hasOpenClaim: item.claims.contains { $0.origin == log.origin && !read.contains($0) },
            hasServer: !upstreams.isEmpty,
            now: try ServerClock.now(clock, in: log))
    }
}
