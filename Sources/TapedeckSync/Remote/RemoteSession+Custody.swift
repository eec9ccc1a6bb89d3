internal import TapedeckLog
internal import TapedeckModel

extension RemoteSession {
    /// How many milliseconds of a time are left since a dispatch.
    ///
    /// Where clocks may have moved since, it counts from when this session has first met it.
    mutating func unsettled(_ part: OutboxItem.Part, for settling: UInt64) -> UInt64 {
        let steady = clock.read().milliseconds
        let name = "\(part.origin) \(part.milliseconds) \(part.target)"
        let met = dispatchesMet[name] ?? steady
        dispatchesMet[name] = met
        let age = leases.age(of: part.milliseconds, now: now) ?? 0
        let passed = max(age, steady - met)
        return settling > passed ? settling - passed : 0
    }

    /// When, by the day's clock here, the server's shows a time.
    func localTime(ofServer milliseconds: UInt64) throws -> UInt64 {
        guard let server = try ServerClock.now(clock, in: log) else { return now }
        return milliseconds > server ? now + (milliseconds - server) : now
    }

    /// Who may deliver an intent.
    func custody(of item: OutboxItem) throws -> Custody.Answer {
        // One that never answered has sequenced nothing.
        let upstreams = try Upstream.all(in: log).filter { $0.cursor != nil }
        func sequenced(_ event: EventID) throws -> Custody.Sequenced? {
            // A lost server's receipts count on: of several the one with the least time.
            try log.receipts(of: event).min { $0.receivedAt < $1.receivedAt }.map {
                Custody.Sequenced(
                    origin: event.origin, position: $0.serverPosition,
                    receivedAt: $0.receivedAt.milliseconds)
            }
        }
        // The answer to a push tells of an own claim before others' are read that came before it: until all
        // up to it has been read, it is open.
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
