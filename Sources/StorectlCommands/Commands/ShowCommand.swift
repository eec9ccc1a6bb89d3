internal import ArgumentParser
internal import Tapedeck

/// The command `storectl show`.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one event in full.",
        discussion: """
            EXAMPLE:
              storectl show 1
              storectl show 0123456789abcdef0123456789abcdef-7 --json
            """)

    @OptionGroup var event: EventArgument
    @OptionGroup var options: StoreOptions

    func run() throws {
        let report = try options.withLog(isReading: true) { log in
            let event = try event.find(in: log)
            return ShownEvent(event: event, receipts: try log.receipts(of: event.id))
        }
        try options.print(report.json) { text in text.fields(report.fields) }
    }
}

/// An event and its receipts.
private struct ShownEvent {
    let event: EventEnvelope
    let receipts: [Receipt]

    var json: JSON {
        var document = EventReport(event).json
        let more: [(String, JSON)] = [
            ("schemaVersion", .init(Int(event.schemaVersion))),
            ("stamp", .text(event.stamp.description)),
            ("origin", .text(event.id.origin.description)),
            ("sequence", .init(event.id.sequence)),
            ("causation", .init(event.causation?.description)),
            ("correlation", .init(event.correlation?.description)),
            ("reissuedFrom", .init(event.reissuedFrom?.description)),
            ("fact", fact),
            ("payloadBytes", .init(event.payload.count)),
            ("receipts", .list(receipts.map(ShownEvent.json))),
        ]
        for (name, value) in more { document = document.adding(name, value) }
        return document
    }

    private var fact: JSON {
        guard let fact = event.fact else { return .null }
        return [
            "entity": .text(fact.entity.high.paddedHex + fact.entity.low.paddedHex),
            "content": .text(fact.content.high.paddedHex + fact.content.low.paddedHex),
            "version": .init(fact.version),
            "observedAt": .init(fact.observedAt.map(TimeArgument.text)),
        ]
    }

    private static func json(_ receipt: Receipt) -> JSON {
        let refusal: ErrorCode? =
            if case .refused(let code) = receipt.outcome { code } else { nil }
        return [
            "lineage": .text(receipt.lineage.description),
            "serverPosition": .init(receipt.serverPosition),
            "receivedAt": .text(TimeArgument.text(receipt.receivedAt)),
            "refused": .init(refusal?.rawValue),
        ]
    }

    var fields: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = [
            ("id", event.id.description), ("position", event.position.description),
            ("type", "\(event.type.name), version \(event.schemaVersion)"),
            ("at", TimeArgument.text(event.stamp)),
            ("tags", event.tags.map(\.text).joined(separator: " ")),
            ("payload", EventReport(event).payloadText),
        ]
        if let fact = event.fact {
            fields.append(("remote version", String(fact.version)))
            fields.append(("observed at", fact.observedAt.map(TimeArgument.text) ?? "unknown"))
        }
        if let id = event.causation { fields.append(("caused by", id.description)) }
        if let id = event.correlation { fields.append(("belongs to", id.description)) }
        if let id = event.reissuedFrom { fields.append(("original id", id.description)) }
        for receipt in receipts {
            let outcome = receipt.outcome.isRefused ? "refused" : "accepted"
            fields.append(
                (
                    "receipt",
                    "\(outcome) by \(receipt.lineage) at position \(receipt.serverPosition)"
                ))
        }
        return fields
    }
}
