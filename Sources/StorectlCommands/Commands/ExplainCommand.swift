internal import ArgumentParser
internal import Tapedeck

/// `storectl explain`.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Print what has become of one event, and why.",
        discussion: """
            Whether it counts and as of when, and for each server that the store has been synced \
            with: queued, waiting (why, until when), sequenced, or refused (why). Without a server \
            an event is local.

            EXAMPLE:
              storectl explain 1
              storectl explain 0123456789abcdef0123456789abcdef-7 --json
            """)

    @Argument(
        help: ArgumentHelp(
            "The event's id, <32 hex digits>-<sequence>, or its position.", valueName: "event"))
    var event: String

    @OptionGroup var options: StoreOptions

    func run() throws {
        let report = try options.withLog(isReading: true) { log in
            try Explanation(try EventArgument.find(event, in: log), log)
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

    init(_ event: EventEnvelope, _ log: EventLog) throws {
        self.event = event
        let standing = try log.standing(of: event)
        effectiveStamp = standing.effectiveStamp
        isRefused = standing.isRefused
        hasLostName = try log.event(event.id)?.position != event.position
        deliveries = hasLostName ? [] : try EventDelivery.all(of: event.id, in: log)
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
        } else if isRefused {
            fields.append(("because", "a server refused it: it counts nowhere"))
        }
        if let former = event.reissuedFrom {
            fields.append(("first known as", former.description))
        }
        for delivery in deliveries {
            fields.append((delivery.server, EventDeliveryText(delivery).line))
        }
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

    var json: JSON {
        var (code, reason, until, receipt): (ErrorCode?, ErrorCode?, UInt64?, Receipt?)
        switch delivery.state {
        case .queued: break
        case .waiting(let why, let end): (reason, until) = (why, end)
        case .sequenced(let held): receipt = held
        case .refused(let why, let held): (code, receipt) = (why, held)
        }
        return [
            "server": .text(delivery.server), "state": .text(state),
            "code": .init(code?.rawValue), "reason": .init(reason?.rawValue),
            "until": .init(until.map { TimeArgument.text(Int64($0)) }),
            "serverPosition": receipt.map { .init($0.serverPosition) } ?? .null,
            "receivedAt": .init(receipt.map { TimeArgument.text($0.receivedAt) }),
        ]
    }
}
