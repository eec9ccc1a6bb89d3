internal import ArgumentParser
internal import Tapedeck

/// `storectl outbox`.
struct OutboxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "Print what has not been delivered, and why.",
        discussion: """
            The outbox is no queue of its own: it is read from the log. An event is in it until \
            the server has given it a position.

            EXAMPLE:
              storectl outbox
              storectl outbox --limit 100 --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let report = try options.withLog(isReading: true) { log in
            try OutboxPage(log, limit: page.limit, cursor: page.cursor)
        }
        try options.print(report.json) { report.write(&$0) }
    }
}

/// A page of what waits, server by server.
private struct OutboxPage {
    private struct Item {
        let server: String
        let event: EventEnvelope
        let delivery: EventDelivery
    }

    private var items: [Item] = []
    private var next: String?

    /// - Parameter cursor: `<event id>@<server>`, the last one that was printed.
    init(_ log: EventLog, limit: Int, cursor: String?) throws {
        var after: (event: EventID, server: String)?
        if let cursor {
            let parts = cursor.split(separator: "@", maxSplits: 1)
            guard parts.count == 2, let event = EventID(parts[0]) else {
                throw CommandError(
                    .usage, "--cursor: \"\(cursor.prefix(80))\" is not one that outbox printed",
                    hint: "leave it out to begin at the beginning")
            }
            after = (event, String(parts[1]))
        }
        for status in try SyncStatus.all(in: log) {
            if let after, status.server < after.server { continue }
            let wanted = limit + 1 - items.count
            guard wanted > 0 else { break }
            let events = try EventDelivery.undelivered(
                to: status.server, in: log,
                after: after?.server == status.server ? after?.event : nil, limit: wanted)
            for id in events {
                guard let event = try log.event(id),
                    let delivery = try EventDelivery.all(of: id, in: log)
                        .first(where: { $0.server == status.server })
                else { continue }
                items.append(Item(server: status.server, event: event, delivery: delivery))
            }
        }
        guard items.count > limit else { return }
        items = Array(items.prefix(limit))
        next = items.last.map { "\($0.event.id)@\($0.server)" }
    }

    var json: JSON {
        [
            "items": .list(
                items.map { item in
                    JSON.object([
                        ("event", .text(item.event.id.description)),
                        ("type", .text(item.event.type.name)),
                        ("at", .text(TimeArgument.text(item.event.stamp))),
                        ("delivery", EventDeliveryText(item.delivery).json),
                    ])
                }),
            "next": .init(next),
        ]
    }

    func write(_ text: inout TextReport) {
        var table = TextTable([.text("event"), .text("type"), .text("to"), .text("state")])
        for item in items {
            table.add([
                item.event.id.description, item.event.type.name, item.server,
                EventDeliveryText(item.delivery).line,
            ])
        }
        text.table(table)
        if let next { text.remark("there is more: --cursor '\(next)'") }
    }
}
