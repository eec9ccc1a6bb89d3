internal import ArgumentParser
internal import Tapedeck
internal import TapedeckConnectors

/// The command `storectl explain`.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain what happened to an event, or how a key got its state.",
        discussion: """
            For an event, the report shows the time from which the event counts, its state on each \
            server and remote, and its role in each key that it affects. On a server, an event is \
            queued, waiting, sequenced or refused. On a remote, an event is queued, sent, waiting, \
            confirmed, refused, unknown, dropped, replaced, untold (the remote does not support \
            the action), or expired (it was never sent and is too old now).

            For a key of a projection, such as a video in watch-later, the report shows the rule, \
            the state, and the key's events with their roles. Without a deciding event, the state \
            would be different. A supporting event has the same effect as another event. A lost \
            event has no effect on this key, and a refused event has no effect on any key.

            EXAMPLE:
              storectl explain 1
              storectl explain 0123456789abcdef0123456789abcdef-7 --json
              storectl explain watch-later youtube:aqz-KE-bpKQ
              storectl explain shows 118 --as-of 2019-07-11 --without 12
            """)

    @Argument(
        help: ArgumentHelp(
            "An event's id or position, or a projection's name followed by KEY.",
            valueName: "event|projection"),
        completion: .list(ShippedProjections.names))
    var subject: String

    @Argument(
        help: ArgumentHelp(
            "The key: a video's key or URL, a tag's name, or a complete tag.",
            valueName: "key"))
    var key: String?

    @Option(
        help: ArgumentHelp("Ignore this event; may be repeated.", valueName: "event"))
    var without: [String] = []

    @Option(
        help: ArgumentHelp(
            "The number of the key's most recent events to examine (default: "
                + "\(KeyExplanation.eventsDefault), at most \(KeyExplanation.eventsMax)).",
            valueName: "n"))
    var events: Int?

    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: QueryOptions

    func validate() throws {
        guard key == nil else { return }
        guard without.isEmpty, events == nil, options.asOf == nil else {
            throw ValidationError(
                "--without, --events and --as-of require a PROJECTION and a KEY")
        }
        guard EventArgument.isOne(subject) else {
            throw ValidationError(
                "\"\(subject.prefix(80))\" is neither an event's id nor a position; a projection "
                    + "also needs a KEY, as in storectl explain watch-later VIDEO")
        }
    }

    func run() throws {
        if let key { return try explain(subject, key) }
        let report = try options.store.withLogAndRemotes { log, remotes in
            let runner = ProjectionRunner(
                log, projections: ShippedProjections.all(parameters.projections))
            defer { runner.close() }
            return try Explanation(
                try EventArgument.find(subject, in: log), log, remotes, runner)
        }
        try options.print(report.json) { report.write(&$0) }
    }

    private func explain(_ name: String, _ key: String) throws {
        let point = try options.asOf.map { try HistoryPoint($0, "--as-of") }
        let projections = ShippedProjections.all(parameters.projections)
        guard let projection = projections.first(where: { $0.name == name }) else {
            throw CommandError(
                .notFound, "there is no projection \(name)",
                hint: "the projections are "
                    + ShippedProjections.names.sorted().joined(separator: ", "))
        }
        let tag = try ExplainCommand.tag(key, of: projection)
        let told = try options.store.withLog(isReading: true) { log in
            let runner = ProjectionRunner(log, projections: [projection])
            defer { runner.close() }
            return try runner.explain(
                name, key: tag, asOf: point,
                without: without.map { try EventArgument.find($0, in: log).id },
                events: events ?? KeyExplanation.eventsDefault)
        }
        guard told.state != nil || !told.events.isEmpty else {
            throw CommandError(
                .notFound, "no event affects \(tag) in \(name)",
                hint: "storectl log --tag \(ShellWord.quoted(tag.description)) prints the events"
                    + " with this tag")
        }
        let report = KeyReport(told)
        try options.print(report.json) { report.write(&$0) }
    }

    /// Returns the key for an argument: a complete tag, a tag's name, or a video's key or URL.
    private static func tag(_ text: String, of projection: any Projection) throws -> Tag {
        let kind = projection.tagKind
        if text.hasPrefix(kind + "/") { return try Tag(text) }
        return kind == "video" ? try VideoKey(text).tag : try Tag(kind, text)
    }
}

/// An event's deliveries and the keys that it affects, as `storectl explain` prints them.
private struct Explanation {
    let event: EventEnvelope
    let effectiveStamp: Stamp
    let isRefused: Bool
    /// Whether the event's id now belongs to another event.
    let hasLostName: Bool
    let deliveries: [EventDelivery]
    /// The refusal because of which the event has no effect.
    let refusal: EventRefusal?
    let fates: [RemoteFate]
    /// The keys that the event affects.
    let parts: [EventPart]

    init(
        _ event: EventEnvelope, _ log: EventLog, _ remotes: StoreRemotes?,
        _ runner: ProjectionRunner
    ) throws {
        self.event = event
        let standing = try log.standing(of: event)
        effectiveStamp = standing.effectiveStamp
        isRefused = standing.isRefused
        hasLostName = try log.event(event.id)?.position != event.position
        deliveries = hasLostName ? [] : try EventDelivery.all(of: event.id, in: log)
        refusal = hasLostName ? nil : try EventRefusal.find(of: event.id, in: log)
        fates = hasLostName ? [] : try RemoteFate.all(of: event, log, remotes)
        parts = hasLostName ? [] : try runner.parts(of: event.id)
    }

    private var state: String {
        if hasLostName { return "reissued" }
        if refusal != nil { return "refused" }
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
            "refusal": refusal.map { EventRefusalText($0).json } ?? .null,
            "reissuedFrom": .init(event.reissuedFrom?.description),
            "servers": .list(deliveries.map { EventDeliveryText($0).json }),
            "remotes": .list(fates.map(\.json)),
            "keys": .list(
                parts.map {
                    [
                        "projection": .text($0.projection), "key": .text($0.key),
                        "role": .init($0.role?.rawValue),
                    ]
                }),
        ]
    }

    func write(_ text: inout TextReport) {
        var fields: [(name: String, value: String)] = [
            ("event", event.id.description), ("type", event.type.name),
            // Remotes have their own lines, so "local" could be misread as "not delivered".
            hasLostName
                ? ("state", state) : ("servers", deliveries.isEmpty ? "none known" : state),
            ("at", TimeArgument.text(event.stamp)),
        ]
        if effectiveStamp != event.stamp {
            fields.append(("counts from", TimeArgument.text(effectiveStamp)))
        }
        if hasLostName {
            fields.append(
                ("because", "its origin has two histories, so it was recorded again with a new id"))
        } else if let refusal {
            fields.append(("because", EventRefusalText(refusal).line))
        } else if isRefused {
            fields.append(("because", "it duplicates another event, which is used instead"))
        } else if state == "refused" {
            fields.append(("counts", "yes, because an earlier receipt accepts it"))
        }
        if let former = event.reissuedFrom {
            fields.append(("original id", former.description))
        }
        for delivery in deliveries {
            fields.append((delivery.server, EventDeliveryText(delivery).line))
        }
        for fate in fates { fields.append((fate.remote ?? fate.system, fate.line)) }
        text.fields(fields)
        guard !parts.isEmpty else { return }
        var table = TextTable([.text("projection"), .long("key"), .text("role")])
        for part in parts {
            table.add([part.projection, part.key, part.role?.rawValue ?? "not examined"])
        }
        text.line()
        text.table(table)
        text.remark(
            PrintedCommand.completed(
                "storectl explain PROJECTION KEY shows the rule and the other events"))
    }
}

/// The refusal of an event, as text.
private struct EventRefusalText {
    let refusal: EventRefusal

    init(_ refusal: EventRefusal) { self.refusal = refusal }

    private var server: String? {
        switch refusal.source {
        case .server(let name), .earlierLineage(of: let name): name
        case .unknown: nil
        }
    }

    var line: String {
        let who =
            switch refusal.source {
            case .server(let name): name
            case .earlierLineage(of: let name): "an earlier lineage of \(name)"
            case .unknown: "a server or lineage that this store does not know"
            }
        return "\(who) refused it (\(refusal.code)), so it has no effect"
    }

    var json: JSON {
        [
            "server": .init(server), "lineage": .text(refusal.receipt.lineage.description),
            "code": .text(refusal.code.rawValue),
            "serverPosition": .init(refusal.receipt.serverPosition),
            "receivedAt": .text(TimeArgument.text(refusal.receipt.receivedAt)),
        ]
    }
}

/// The state of an event's delivery to a server, as text.
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
        case .queued: return "queued: the next sync sends it"
        case .waiting(let reason, let until):
            let end = until.map { " until " + TimeArgument.text(Int64($0)) } ?? ""
            return "waiting\(end): \(reason)"
        case .sequenced(let receipt):
            return "sequenced at server position \(receipt.serverPosition), received"
                + " \(TimeArgument.text(receipt.receivedAt))"
        case .refused(let code, let receipt):
            return "refused at server position \(receipt.serverPosition): \(code)"
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
