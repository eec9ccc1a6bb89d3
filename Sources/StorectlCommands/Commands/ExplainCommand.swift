internal import ArgumentParser
internal import Tapedeck
internal import TapedeckConnectors

/// `storectl explain`.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Print what has become of one event, and why.",
        discussion: """
            Whether it counts and as of when, and for each server that the store has been synced \
            with: queued, waiting (why, until when), sequenced, or refused (why). Without a server \
            an event is local. For each remote that has to do with it: queued, sent (no answer came), \
            waiting, confirmed (as what), refused, unknown, dropped, or replaced by a later one.

            EXAMPLE:
              storectl explain 1
              storectl explain 0123456789abcdef0123456789abcdef-7 --json
            """)

    @OptionGroup var event: EventArgument
    @OptionGroup var options: StoreOptions

    func run() throws {
        let report = try options.withLogAndRemotes { log, remotes in
            try Explanation(try event.find(in: log), log, remotes)
        }
        try options.print(report.json) { report.write(&$0) }
    }
}

/// What has become of an event.
private struct Explanation {
    let event: EventEnvelope
    let effectiveStamp: Stamp
    let isRefused: Bool
    /// Whether its name has come to belong to another event.
    let hasLostName: Bool
    let deliveries: [EventDelivery]
    let fates: [RemoteFate]

    init(_ event: EventEnvelope, _ log: EventLog, _ remotes: StoreRemotes?) throws {
        self.event = event
        let standing = try log.standing(of: event)
        effectiveStamp = standing.effectiveStamp
        isRefused = standing.isRefused
        hasLostName = try log.event(event.id)?.position != event.position
        deliveries = hasLostName ? [] : try EventDelivery.all(of: event.id, in: log)
        fates = hasLostName ? [] : try RemoteFate.all(of: event, log, remotes)
    }

    private var state: String {
        if hasLostName { return "reissued" }
        let names = deliveries.map { EventDeliveryText($0).state }
        for name in ["refused", "waiting", "queued", "sequenced"] where names.contains(name) {
            return name
        }
        return "local"
    }

    var json: JSON {
        [
            "event": .text(event.id.description), "position": .init(event.position.rawValue),
            "type": .text(event.type.name), "state": .text(state),
            "at": .text(TimeArgument.text(event.stamp)),
            "effectiveAt": .text(TimeArgument.text(effectiveStamp)),
            "counts": .init(!isRefused),
            "reissuedFrom": .init(event.reissuedFrom?.description),
            "servers": .list(deliveries.map { EventDeliveryText($0).json }),
            "remotes": .list(fates.map(\.json)),
        ]
    }

    func write(_ text: inout TextReport) {
        var fields: [(name: String, value: String)] = [
            ("event", event.id.description), ("type", event.type.name), ("state", state),
            ("at", TimeArgument.text(event.stamp)),
        ]
        if effectiveStamp != event.stamp {
            fields.append(("counts as of", TimeArgument.text(effectiveStamp)))
        }
        if hasLostName {
            fields.append(
                ("because", "two histories of its origin met; it was written anew as another"))
        } else if isRefused, state == "refused" {
            fields.append(("because", "a server refused it: it counts nowhere"))
        } else if isRefused {
            fields.append(("because", "another event says the same; that one counts"))
        }
        if let former = event.reissuedFrom {
            fields.append(("first known as", former.description))
        }
        for delivery in deliveries {
            fields.append((delivery.server, EventDeliveryText(delivery).line))
        }
        for fate in fates { fields.append((fate.remote ?? fate.system, fate.line)) }
        text.fields(fields)
    }
}

/// An event's way to a server, in words.
struct EventDeliveryText {
    let delivery: EventDelivery

    init(_ delivery: EventDelivery) { self.delivery = delivery }

    var state: String {
        switch delivery.state {
        case .queued: "queued"
        case .waiting: "waiting"
        case .sequenced: "sequenced"
        case .refused: "refused"
        }
    }

    var line: String {
        switch delivery.state {
        case .queued: return "queued: the next sync offers it"
        case .waiting(let reason, let until):
            let end = until.map { " until " + TimeArgument.text(Int64($0)) } ?? ""
            return "waiting\(end): \(reason)"
        case .sequenced(let receipt):
            return "sequenced as \(receipt.serverPosition) at"
                + " \(TimeArgument.text(receipt.receivedAt))"
        case .refused(let code, let receipt):
            return "refused as \(receipt.serverPosition): \(code)"
        }
    }

    var code: ErrorCode? { if case .refused(let code, _) = delivery.state { code } else { nil } }

    var reason: ErrorCode? {
        if case .waiting(let reason, _) = delivery.state { reason } else { nil }
    }

    var until: String? {
        guard case .waiting(_, let until) = delivery.state else { return nil }
        return until.map { TimeArgument.text(Int64($0)) }
    }

    var receipt: Receipt? {
        switch delivery.state {
        case .sequenced(let receipt), .refused(_, let receipt): receipt
        case .queued, .waiting: nil
        }
    }

    var json: JSON {
        [
            "server": .text(delivery.server), "state": .text(state),
            "code": .init(code?.rawValue), "reason": .init(reason?.rawValue),
            "until": .init(until),
            "serverPosition": receipt.map { .init($0.serverPosition) } ?? .null,
            "receivedAt": .init(receipt.map { TimeArgument.text($0.receivedAt) }),
        ]
    }
}
