internal import ArgumentParser
internal import Tapedeck
internal import TapedeckConnectors

/// The command `storectl outbox`.
struct OutboxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "List undelivered events and intents; retry or drop them.",
        discussion: """
            The outbox is derived from the log. An event is listed until every server has assigned \
            it a position. An intent is listed until its remote has confirmed it. Without a \
            subcommand, the list is printed.

            EXAMPLE:
              storectl outbox
              storectl outbox --limit 100 --json
              storectl outbox retry 0123456789abcdef0123456789abcdef-7
            """,
        subcommands: [
            OutboxListCommand.self, OutboxRetryCommand.self, OutboxDropCommand.self,
        ],
        defaultSubcommand: OutboxListCommand.self)
}

/// `storectl outbox list`, the default subcommand of `storectl outbox`.
struct OutboxListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List undelivered events and intents, with the reasons why they wait.",
        discussion: """
            Undelivered intents come first, then events that servers lack, oldest first.

            EXAMPLE:
              storectl outbox list
              storectl outbox list --limit 100 --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try QueryLimits.check(page.limit)
        let report = try options.withLogAndRemotes { log, remotes in
            try OutboxPage(log, remotes, limit: page.limit, cursor: page.cursor)
        }
        try options.print(report.json) {
            report.write(&$0)
            page.remark(next: report.next, &$0)
        }
    }
}

/// The command `storectl outbox retry`.
struct OutboxRetryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retry an intent that is waiting, was refused, or has an unknown outcome.",
        discussion: """
            The next sync sends the intent. If the outcome is unknown, check the remote first, \
            because the request may have taken effect and a retry would repeat it.

            EXAMPLE:
              storectl outbox retry 12
              storectl outbox retry 0123456789abcdef0123456789abcdef-7 --json
            """)

    @OptionGroup var event: EventArgument
    @OptionGroup var options: StoreOptions

    func run() throws {
        let delivery = try options.withRemotes { remotes in
            try remotes.retry(try remotes.intent(event))
        }
        try options.print(delivery.decision("queued")) { text in
            text.line("the next sync with \(delivery.remote) retries \(delivery.event.id)")
        }
    }
}

/// The command `storectl outbox drop`.
struct OutboxDropCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Stop delivering an intent; its event stays in the log.",
        discussion: """
            Asks for confirmation; without a terminal, --yes is required.

            EXAMPLE:
              storectl outbox drop 12
              storectl outbox drop 0123456789abcdef0123456789abcdef-7 --yes --json
            """)

    @OptionGroup var event: EventArgument
    @Flag(help: "Skip the confirmation.")
    var yes = false

    @OptionGroup var options: StoreOptions

    func run() throws {
        let delivery = try options.withRemotes { remotes in
            let id = try remotes.intent(event)
            if let first = try remotes.deliveries(of: id).first {
                try Consent.require(
                    yes,
                    would: "drop \(first.event.type) \(id), so that \(first.remote) never receives"
                        + " it",
                    hint: "storectl explain \(id) shows its state")
            }
            return try remotes.drop(id)
        }
        try options.print(delivery.decision("dropped")) { text in
            text.line(
                "dropped \(delivery.event.id): it will not be delivered to \(delivery.remote)")
        }
    }
}

extension StoreRemotes {
    /// Returns the id of the intent that the user identified by id or position.
    fileprivate func intent(_ argument: EventArgument) throws -> EventID {
        try argument.find(in: eventLog).id
    }
}

extension RemoteDelivery {
    fileprivate func decision(_ state: String) -> JSON {
        [
            "event": .text(event.id.description), "remote": .text(remote), "state": .text(state),
            "derived": .init(isDerived),
        ]
    }
}

/// A page of undelivered intents and events: remote by remote, then server by server.
private struct OutboxPage {
    private enum Item {
        case server(EventEnvelope, EventDelivery)
        case remote(RemoteDelivery)
    }

    /// The last printed item, as `<event id>@<server or remote>`; if a rule derived the intent from
    /// the event, the event id is followed by `+`.
    private struct Place {
        let event: EventID
        let isDerived: Bool
        let target: String

        init(_ item: Item) {
            switch item {
            case .server(let event, let delivery):
                (self.event, isDerived, target) = (event.id, false, delivery.server)
            case .remote(let delivery):
                event = delivery.event.id
                isDerived = delivery.isDerived
                target = delivery.remote
            }
        }

        init(cursor: String) throws {
            let parts = cursor.split(separator: "@", maxSplits: 1)
            isDerived = parts.first?.last == "+"
            guard parts.count == 2, let event = EventID(isDerived ? parts[0].dropLast() : parts[0])
            else {
                throw CommandError(
                    .usage, "--cursor: \"\(cursor.prefix(80))\" was not printed by storectl outbox",
                    hint: "omit --cursor to start at the beginning")
            }
            self.event = event
            target = String(parts[1])
        }

        var isServer: Bool { target.contains("://") }
        var text: String { "\(event)\(isDerived ? "+" : "")@\(target)" }
    }

    private var items: [Item] = []
    private(set) var next: String?

    init(_ log: EventLog, _ remotes: StoreRemotes?, limit: Int, cursor: String?) throws {
        let after = try cursor.map { try Place(cursor: $0) }
        // Read one item more than the page contains, to find out whether there is a next page.
        // Intents come first: the user can retry or drop them, and there may be many events.
        if let remotes, after?.isServer != true {
            try addRemotes(remotes, log, after, limit + 1)
        }
        if items.count <= limit {
            try addServers(log, after?.isServer == true ? after : nil, limit + 1)
        }
        guard items.count > limit else { return }
        items = Array(items.prefix(limit))
        next = items.last.map { Place($0).text }
    }

    private mutating func addServers(_ log: EventLog, _ after: Place?, _ limit: Int) throws {
        for server in try EventDelivery.servers(in: log) {
            if let after, server < after.target { continue }
            let wanted = limit - items.count
            guard wanted > 0 else { return }
            let events = try EventDelivery.undelivered(
                to: server, in: log, after: after?.target == server ? after?.event : nil,
                limit: wanted)
            for id in events {
                guard let event = try log.event(id),
                    let delivery = try EventDelivery.all(of: id, in: log)
                        .first(where: { $0.server == server })
                else { continue }
                items.append(.server(event, delivery))
            }
        }
    }

    /// Adds the remote deliveries that follow the item `after`.
    ///
    /// That delivery may have completed in the meantime. Its event stays in the log and still
    /// determines where the next page begins.
    private mutating func addRemotes(
        _ remotes: StoreRemotes, _ log: EventLog, _ after: Place?, _ limit: Int
    ) throws {
        for remote in try remotes.all() {
            if let after, remote.name < after.target { continue }
            var place: Order?
            if let after, after.target == remote.name, let event = try log.event(after.event) {
                place = Order(event, after.isDerived)
            }
            let wanted = limit - items.count
            guard wanted > 0 else { return }
            var found: [(order: Order, delivery: RemoteDelivery)] = []
            try remotes.outbox(of: remote) { delivery in
                let order = Order(delivery.event, delivery.isDerived)
                if let place, order <= place { return true }
                found.append((order, delivery))
                // Do not hold a long outbox in memory for one page.
                if found.count > 4 * wanted + OutboxPage.heldMax {
                    found.sort { $0.order < $1.order }
                    found.removeSubrange(wanted...)
                }
                return true
            }
            found.sort { $0.order < $1.order }
            items += found.prefix(wanted).map { .remote($0.delivery) }
        }
    }

    private static let heldMax = 1_000

    private struct Order: Comparable {
        let milliseconds: UInt64
        let event: String
        let isDerived: Bool

        init(_ event: EventEnvelope, _ isDerived: Bool) {
            milliseconds = event.stamp.milliseconds
            self.event = event.id.description
            self.isDerived = isDerived
        }

        static func < (left: Order, right: Order) -> Bool {
            (left.milliseconds, left.event, left.isDerived ? 1 : 0)
                < (right.milliseconds, right.event, right.isDerived ? 1 : 0)
        }
    }

    var json: JSON {
        ["items": .list(items.map(OutboxPage.json)), "next": .init(next)]
    }

    private static func json(_ item: Item) -> JSON {
        switch item {
        case .server(let event, let delivery):
            return json(event, isDerived: false, EventDeliveryText(delivery).outboxJSON)
        case .remote(let delivery):
            return json(
                delivery.event, isDerived: delivery.isDerived,
                RemoteDeliveryText(delivery).outboxJSON)
        }
    }

    private static func json(
        _ event: EventEnvelope, isDerived: Bool, _ delivery: JSON
    ) -> JSON {
        [
            "event": .text(event.id.description), "type": .text(event.type.name),
            "at": .text(TimeArgument.text(event.stamp)), "derived": .init(isDerived),
            "delivery": delivery,
        ]
    }

    func write(_ text: inout TextReport) {
        // In a narrow terminal, the id is shortened first; the position identifies the event, too.
        var table = TextTable([
            .number("position"), .text("type"), .text("to"), .state("state"), .long("event"),
        ])
        for item in items {
            switch item {
            case .server(let event, let delivery):
                table.add([
                    event.position.rawValue.description, event.type.name, delivery.server,
                    EventDeliveryText(delivery).line, event.id.description,
                ])
            case .remote(let delivery):
                table.add([
                    delivery.event.position.rawValue.description, delivery.event.type.name,
                    delivery.remote, RemoteDeliveryText(delivery).line,
                    delivery.event.id.description,
                ])
            }
        }
        text.table(table)
    }
}

extension EventDeliveryText {
    fileprivate var outboxJSON: JSON {
        [
            "server": .text(delivery.server), "remote": .null, "state": .text(state),
            "code": .init(code?.rawValue), "reason": .init(reason?.rawValue), "message": .null,
            "until": .init(until),
            "serverPosition": receipt.map { .init($0.serverPosition) } ?? .null,
            "receivedAt": .init(receipt.map { TimeArgument.text($0.receivedAt) }),
        ]
    }
}

extension RemoteDeliveryText {
    fileprivate var outboxJSON: JSON {
        [
            "server": .null, "remote": .text(delivery.remote), "state": .text(state),
            "code": .init(code?.rawValue), "reason": .init(reason?.rawValue),
            "message": .init(message), "until": .init(until), "serverPosition": .null,
            "receivedAt": .null,
        ]
    }
}
