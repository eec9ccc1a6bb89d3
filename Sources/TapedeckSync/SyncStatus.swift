public import TapedeckLog
public import TapedeckModel
internal import TapedeckSyncProtocol

/// The state of a store's sync with a server, read from the log without the network.
public struct SyncStatus: Sendable {
    /// The overall state.
    public enum State: String, Sendable {
        /// The server has never responded.
        case never
        /// Everything has been delivered and nothing is pending.
        case upToDate
        /// Some events are undelivered, and no obstacle is known.
        case behind
        /// Delivery is blocked; see `reason`.
        case waiting
    }

    /// The address of the server.
    public var server: String
    /// The overall state.
    public var state: State
    /// The number of events in this store that wait for the server.
    ///
    /// No events wait for a server that has never responded if another server has responded.
    public var undelivered: UInt64
    /// The time of the server's last response, in milliseconds since 1970; nil if there was none.
    public var contactedAt: UInt64?
    /// The reason why the last attempt failed, as a code.
    public var reason: ErrorCode?
    /// The reason why the last attempt failed, as a message.
    public var message: String?
    /// The time of the next retry, in milliseconds since 1970; nil if a retry requires another
    /// `sync`.
    public var until: UInt64?

    /// Returns the status of every server that the store has contacted, ordered by address.
    ///
    /// The cost is a few lookups per origin. Throws `LogError`: `.damaged`, `.closed`.
    @available(*, noasync)
    public static func all(in log: EventLog) throws(LogError) -> [SyncStatus] {
        var found: [SyncStatus] = []
        let offline = try NetworkState.current(in: log).wait()
        for upstream in try Upstream.all(in: log) {
            let undelivered =
                try upstream.isCounted(in: log)
                ? upstream.undelivered(in: log).reduce(0) { $0 + $1.count } : 0
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

    /// Returns the address under which a store remembers a server; nil if the server is unknown.
    @available(*, noasync)
    public static func name(of server: String, in log: EventLog) throws(LogError) -> String? {
        let names = try Upstream.all(in: log).map(\.name)
        return [server, HTTPAddress.name(server)].first(where: names.contains)
    }

    /// Forgets a server, so that no event waits for it.
    ///
    /// The server's receipts for events are kept. A later sync with the server starts from scratch.
    ///
    /// - Returns: False if the server is unknown.
    ///
    /// Throws `LogError`: `.readOnly`, `.diskFull`, `.closed`.
    @available(*, noasync)
    public static func forget(server: String, in log: EventLog) throws(LogError) -> Bool {
        guard let known = try name(of: server, in: log) else { return false }
        try log.setSyncRows([SyncRow(Upstream.prefix + known, nil)])
        return true
    }
}

/// The delivery of one event to a server.
public struct EventDelivery: Sendable {
    /// The progress of a delivery.
    public enum State: Hashable, Sendable {
        /// The server does not have the event; the next sync pushes it.
        case queued
        /// Like `queued`, but blocked until a time in milliseconds since 1970; nil if a retry
        /// requires another `sync`.
        case waiting(reason: ErrorCode, until: UInt64?)
        /// The server has given the event a position and a time.
        case sequenced(Receipt)
        /// The server has given the event a position but refused it.
        case refused(ErrorCode, Receipt)
    }

    /// The address of the server.
    public var server: String
    /// The progress of the delivery.
    public var state: State

    /// Returns the delivery of an event to each server in `servers`; empty if there are no servers.
    ///
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

    /// Returns the addresses of the servers to which events are delivered.
    ///
    /// A server that has never responded, perhaps because its address was mistyped, is included
    /// only if no server has responded.
    @available(*, noasync)
    public static func servers(in log: EventLog) throws(LogError) -> [String] {
        try Upstream.counted(in: log).map(\.name)
    }

    /// Returns the events that a server does not have, ordered by origin and sequence number.
    ///
    /// - Parameters:
    ///   - after: The last event of the previous page; nil for the first page.
    ///   - limit: The maximum number of events.
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
                if origin == after.origin {
                    guard after.sequence < from + count else { continue }
                    next = max(next, after.sequence + 1)
                }
            }
            while next <= from + count, found.count < limit {
                found.append(EventID(origin: origin, sequence: next))
                next += 1
            }
        }
        return found
    }
}

/// The refusal because of which an event has no effect.
///
/// An event's earliest receipt decides whether the event is refused. That receipt may be from an
/// earlier lineage of a server, or from a server that this store does not sync with, so
/// `EventDelivery` does not always show it.
public struct EventRefusal: Sendable {
    /// The server that refused an event.
    public enum Source: Hashable, Sendable {
        /// The server with this address, in its current lineage.
        case server(String)
        /// The server with this address, in an earlier lineage.
        case earlierLineage(of: String)
        /// A server or lineage that this store does not know.
        case unknown
    }

    /// The server that refused the event.
    public var source: Source
    /// The reason for the refusal.
    public var code: ErrorCode
    /// The deciding receipt.
    public var receipt: Receipt

    /// Returns the refusal of an event; nil if no server refused the event, or if an earlier
    /// receipt accepts it.
    ///
    /// Throws `LogError`: `.damaged`, `.closed`.
    @available(*, noasync)
    public static func find(of event: EventID, in log: EventLog) throws(LogError) -> EventRefusal? {
        guard let receipt = Receipt.deciding(try log.receipts(of: event)),
            case .refused(let code) = receipt.outcome
        else { return nil }
        let lineage = receipt.lineage
        let servers = try Upstream.all(in: log)
        let source: Source =
            if let server = servers.first(where: { $0.cursor?.lineage == lineage }) {
                .server(server.name)
            } else if let server = servers.first(where: { $0.formerLineages.contains(lineage) }) {
                .earlierLineage(of: server.name)
            } else {
                .unknown
            }
        return EventRefusal(source: source, code: code, receipt: receipt)
    }
}

extension Upstream {
    /// Returns the events that the server does not have: for each origin, the sequence number of
    /// the last delivered event and the number of later events.
    ///
    /// A server stores the events of an origin in order, so the delivered events come first.
    @available(*, noasync)
    func undelivered(
        in log: EventLog
    ) throws(LogError) -> [(origin: OriginID, from: UInt64, count: UInt64)] {
        var found: [(origin: OriginID, from: UInt64, count: UInt64)] = []
        for row in try log.origins() where row.lastSequence > 0 {
            var delivered: UInt64 = 0
            var above = row.lastSequence + 1
            // Check the last event first, because usually all events have been delivered.
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
