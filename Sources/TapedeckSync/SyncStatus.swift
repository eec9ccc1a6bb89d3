public import TapedeckLog
public import TapedeckModel
internal import TapedeckSyncProtocol

/// How a store stands with a server, told from the log alone, without the network.
public struct SyncStatus: Sendable {
    /// What can be said.
    public enum State: String, Sendable {
        /// The server has never answered.
        case never
        /// Everything that this store holds has been delivered, and nothing is waited for.
        case upToDate
        /// Events have not been delivered, and nothing is known to be in the way.
        case behind
        /// Something is in the way; `reason` says what.
        case waiting
    }

    /// The server's address.
    public var server: String
    /// What can be said.
    public var state: State
    /// Events of this store that the server has not taken.
    public var undelivered: UInt64
    /// When the server answered last, in Unix milliseconds; nil for never.
    public var contactedAt: UInt64?
    /// Why the last attempt came to nothing.
    public var reason: ErrorCode?
    /// The same for people.
    public var message: String?
    /// When it is tried again, in Unix milliseconds; nil where that takes another `sync`.
    public var until: UInt64?

    /// Every server that a store has been synced with, by address.
    ///
    /// Costs a few look-ups for each origin. Throws `LogError`: `.damaged`, `.closed`.
    @available(*, noasync)
    public static func all(in log: EventLog) throws(LogError) -> [SyncStatus] {
        var found: [SyncStatus] = []
        let offline = try NetworkState.current(in: log).wait()
        for upstream in try Upstream.all(in: log) {
            let undelivered = try upstream.undelivered(in: log).reduce(0) { $0 + $1.count }
            let wait = offline ?? upstream.wait
            let state: State =
                if wait != nil {
                    .waiting
                } else if upstream.cursor == nil {
                    .never
                } else {
                    undelivered == 0 ? .upToDate : .behind
                }
            let until = wait?.until ?? 0
            found.append(
                SyncStatus(
                    server: upstream.name, state: state, undelivered: undelivered,
                    contactedAt: upstream.contactedAt > 0 ? upstream.contactedAt : nil,
                    reason: wait?.reason, message: wait?.message,
                    until: until > 0 ? until : nil))
        }
        return found
    }

    /// The address by which a store remembers a server; nil where it has not heard of it.
    @available(*, noasync)
    public static func name(of server: String, in log: EventLog) throws(LogError) -> String? {
        let names = try Upstream.all(in: log).map(\.name)
        return [server, HTTPAddress.name(server)].first(where: names.contains)
    }

    /// Forgets a server: nothing waits for it any more.
    ///
    /// What it said of events stays, and a sync with it begins anew.
    ///
    /// - Returns: false where the store has not heard of it.
    ///
    /// Throws `LogError`: `.readOnly`, `.diskFull`, `.closed`.
    @available(*, noasync)
    public static func forget(server: String, in log: EventLog) throws(LogError) -> Bool {
        guard let known = try name(of: server, in: log) else { return false }
        try log.setSyncRows([SyncRow(Upstream.prefix + known, nil)])
        return true
    }
}

/// What has become of one event on its way to a server.
public struct EventDelivery: Sendable {
    /// How far it is.
    public enum State: Hashable, Sendable {
        /// The server has not taken it; the next sync offers it.
        case queued
        /// As before, and something is in the way until a time in Unix milliseconds; nil where the next
        /// attempt takes another `sync`.
        case waiting(reason: ErrorCode, until: UInt64?)
        /// The server has given it a position and a time.
        case sequenced(Receipt)
        /// The server has given it a position, and it counts nowhere.
        case refused(ErrorCode, Receipt)
    }

    /// The server's address.
    public var server: String
    /// How far it is.
    public var state: State

    /// An event's way to every server that it is to be delivered to; empty where there is none.
    ///
    /// See `servers`.
    /// Throws `LogError`: `.damaged`, `.closed`.
    @available(*, noasync)
    public static func all(of event: EventID, in log: EventLog) throws(LogError) -> [EventDelivery]
    {
        let receipts = try log.receipts(of: event)
        let offline = try NetworkState.current(in: log).wait()
        return try Upstream.counted(in: log).map { upstream in
            let receipt = receipts.first { $0.lineage == upstream.cursor?.lineage }
            return EventDelivery(
                server: upstream.name, state: state(offline ?? upstream.wait, receipt))
        }
    }

    private static func state(_ wait: SyncWait?, _ receipt: Receipt?) -> State {
        guard let receipt else {
            guard let wait else { return .queued }
            return .waiting(reason: wait.reason, until: wait.until > 0 ? wait.until : nil)
        }
        return switch receipt.outcome {
        case .accepted: .sequenced(receipt)
        case .refused(let code): .refused(code, receipt)
        }
    }

    /// The addresses of the servers that events are to be delivered to.
    ///
    /// One that has never answered, as one that was mistyped, counts only where none has.
    @available(*, noasync)
    public static func servers(in log: EventLog) throws(LogError) -> [String] {
        try Upstream.counted(in: log).map(\.name)
    }

    /// The events that a server has not taken, in the order of their origins and sequences.
    ///
    /// - Parameters:
    ///   - after: the last event already seen.
    ///   - limit: at most so many.
    @available(*, noasync)
    public static func undelivered(
        to server: String, in log: EventLog, after: EventID? = nil, limit: Int
    ) throws(LogError) -> [EventID] {
        var found: [EventID] = []
        let upstream = try Upstream.named(server, in: log)
        for (origin, from, count) in try upstream.undelivered(in: log).sorted(by: {
            $0.origin < $1.origin
        }) {
            var next = from + 1
            if let after {
                if origin < after.origin { continue }
                if origin == after.origin { next = max(next, after.sequence + 1) }
            }
            while next <= from + count, found.count < limit {
                found.append(EventID(origin: origin, sequence: next))
                next += 1
            }
        }
        return found
    }
}

extension Upstream {
    /// The events that the server has not taken: behind which one of each origin, and how many.
    ///
    /// A server takes an origin's events in order, so those that have its receipt come first.
    @available(*, noasync)
    func undelivered(
        in log: EventLog
    ) throws(LogError) -> [(origin: OriginID, from: UInt64, count: UInt64)] {
        var found: [(origin: OriginID, from: UInt64, count: UInt64)] = []
        for row in try log.origins() where row.lastSequence > 0 {
            var delivered: UInt64 = 0
            var above = row.lastSequence + 1
            // The last one first: mostly all are delivered.
            var probe = row.lastSequence
            while delivered + 1 < above {
                if try isDelivered(EventID(origin: row.origin, sequence: probe), in: log) {
                    delivered = probe
                } else {
                    above = probe
                }
                probe = delivered + (above - delivered) / 2
            }
            if delivered < row.lastSequence {
                found.append((row.origin, delivered, row.lastSequence - delivered))
            }
        }
        return found
    }

    @available(*, noasync)
    private func isDelivered(_ event: EventID, in log: EventLog) throws(LogError) -> Bool {
        guard let lineage = cursor?.lineage else { return false }
        return try log.receipts(of: event).contains { $0.lineage == lineage }
    }
}
