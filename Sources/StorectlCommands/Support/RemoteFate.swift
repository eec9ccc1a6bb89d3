internal import Tapedeck
internal import TapedeckConnectors

/// The state of one intent on one remote, taken from the outbox or the recorded outcomes.
struct RemoteFate {
    /// An outcome or a claim that is recorded in the log.
    struct Outcome {
        let event: EventEnvelope
        let kind: String
        let target: String
        let remoteID: String?
        let code: String?
        let message: String?
    }

    let system: String
    /// The remote's name; nil if the connection was removed.
    let remote: String?
    let isDerived: Bool
    let delivery: RemoteDelivery?
    let outcomes: [Outcome]
    /// The state of an intent that has neither a delivery nor outcomes.
    var finding: Finding?

    /// The state of an event on a remote whose outbox does not contain the event.
    enum Finding {
        /// The remote does not support the event's action.
        case untold
        /// The event became too old before it was sent.
        case expired
        /// A later intent superseded the event.
        case replaced
        /// The remote already shows the effect of the intent that was derived from the event.
        case shown
    }

    /// Returns the states of an event on all remotes that it concerns.
    static func all(
        of event: EventEnvelope, _ log: EventLog, _ remotes: StoreRemotes?
    ) throws -> [RemoteFate] {
        guard let remotes else { return [] }
        let systems = Dictionary(
            try remotes.all().map { ($0.system, $0.name) }, uniquingKeysWith: { first, _ in first })
        var places: [Place] = []
        var outcomes: [Place: [Outcome]] = [:]
        var deliveries: [Place: RemoteDelivery] = [:]
        for (place, outcome) in try recorded(of: event, in: log) {
            if outcomes[place] == nil { places.append(place) }
            outcomes[place, default: []].append(outcome)
        }
        let open = try remotes.deliveries(of: event.id)
        for delivery in open {
            guard let system = systems.first(where: { $0.value == delivery.remote })?.key else {
                continue
            }
            let place = Place(system: system, isDerived: delivery.isDerived)
            if outcomes[place] == nil { places.append(place) }
            deliveries[place] = delivery
        }
        var found: [(Remote, Finding)] = []
        for (remotes, finding) in [
            (try remotes.unsupported(for: event, besides: open), Finding.untold),
            (try remotes.expired(event, besides: open), .expired),
            (try remotes.superseding(event, besides: open), .replaced),
            (try remotes.showing(whatFollowsFrom: event, besides: open), .shown),
        ] {
            found += remotes.filter { remote in
                !places.contains {
                    $0.system == remote.system && $0.isDerived == (finding == .shown)
                }
            }.map { ($0, finding) }
        }
        return places.map { place in
            RemoteFate(
                system: place.system, remote: systems[place.system], isDerived: place.isDerived,
                delivery: deliveries[place], outcomes: outcomes[place] ?? [])
        }
            + found.map { remote, finding in
                RemoteFate(
                    system: remote.system, remote: remote.name, isDerived: finding == .shown,
                    delivery: nil, outcomes: [], finding: finding)
            }
    }

    private struct Place: Hashable {
        let system: String
        let isDerived: Bool
    }

    /// The number of events to read at a time.
    private static let pageCount = 500

    /// Returns the outcomes of an intent: the events that have the intent's first tag and name the
    /// intent as their cause.
    private static func recorded(
        of event: EventEnvelope, in log: EventLog
    ) throws -> [(Place, Outcome)] {
        guard let tag = event.tags.first else { return [] }
        var found: [(EventEnvelope, Place, Outcome)] = []
        for type in [OutcomeRecorded.eventType, IntentClaimed.eventType] {
            var position = LogPosition.start
            while true {
                let page = try log.events(
                    after: position, limit: pageCount, type: type, tag: tag)
                for recorded in page where recorded.causation == event.id {
                    guard let (place, outcome) = try? read(recorded) else { continue }
                    found.append((recorded, place, outcome))
                }
                guard page.count == pageCount, let last = page.last else { break }
                position = last.position
            }
        }
        // Order the outcomes by the time at which they happened, regardless of which device
        // recorded them.
        return found.sorted { $0.0.stamp < $1.0.stamp }.map { ($0.1, $0.2) }
    }

    private static func read(_ event: EventEnvelope) throws -> (Place, Outcome) {
        func text(_ text: String) -> String? { text.isEmpty ? nil : text }
        if event.type == IntentClaimed.eventType {
            let claim = try event.decode(IntentClaimed.self)
            return (
                Place(system: claim.system, isDerived: claim.isDerived),
                Outcome(
                    event: event, kind: "claimed", target: "", remoteID: nil, code: nil,
                    message: nil)
            )
        }
        let outcome = try event.decode(OutcomeRecorded.self)
        return (
            Place(system: outcome.system, isDerived: outcome.isDerived),
            Outcome(
                event: event, kind: name(of: outcome.kind), target: outcome.target,
                remoteID: text(outcome.remoteID), code: text(outcome.code),
                message: text(outcome.message))
        )
    }

    private static func name(of kind: OutcomeRecorded.Kind) -> String {
        switch kind {
        case .dispatched: "dispatched"
        case .confirmed: "confirmed"
        case .refused: "refused"
        case .unknown: "unknown"
        case .unsent: "unsent"
        case .retried: "retried"
        case .dropped: "dropped"
        case .unspecified, .UNRECOGNIZED: "unspecified"
        }
    }

    // MARK: - Text

    /// The outcome that confirmed the entire intent, or dropped it at the user's request.
    ///
    /// An intent that one device delivers while another drops it has both; the remote has carried
    /// it out.
    private var end: Outcome? {
        outcomes.last { $0.kind == "confirmed" && $0.target.isEmpty }
            ?? outcomes.last { $0.kind == "dropped" }
    }

    /// The state of the intent: `untold`, `expired`, `confirmed`, `dropped`, the state in the
    /// outbox, or `replaced` if a later intent superseded the event.
    var state: String {
        switch finding {
        case .untold: return "untold"
        case .expired: return "expired"
        case .replaced: return "replaced"
        case .shown: return "confirmed"
        case nil: break
        }
        if let delivery { return RemoteDeliveryText(delivery).state }
        if let end { return end.kind }
        if remote != nil { return "replaced" }
        switch outcomes.last?.kind {
        case "dispatched": return "sent"
        case "refused": return "refused"
        case "unknown": return "unknown"
        default: return "queued"
        }
    }

    /// The remote's id for the object that the intent created.
    var remoteID: String? { outcomes.last { $0.remoteID != nil }?.remoteID }

    var line: String {
        let text: String
        let time = end.map { " at \(TimeArgument.text($0.event.stamp))" } ?? ""
        switch state {
        case "confirmed": text = "confirmed" + (remoteID.map { " as \($0)" } ?? "") + time
        case "dropped": text = "dropped\(time): it will not be delivered"
        case "untold": text = "not sent: \(system) does not support this action"
        case "expired": text = "not sent: it was too old"
        case "replaced": text = "replaced by a later intent"
        default:
            guard let delivery else { return "\(state); the connection was removed" }
            return RemoteDeliveryText(delivery).line
        }
        return isDerived ? text + " (automatic)" : text
    }

    var json: JSON {
        let text = delivery.map { RemoteDeliveryText($0) }
        let last = delivery == nil && end == nil ? outcomes.last : nil
        return [
            "remote": .init(remote), "system": .text(system), "derived": .init(isDerived),
            "state": .text(state), "remoteId": .init(remoteID),
            "reason": .init(text?.reason?.rawValue),
            "code": .init(text?.code?.rawValue ?? last?.code),
            "message": .init(text?.message ?? last?.message), "until": .init(text?.until),
            "outcomes": .list(
                outcomes.map {
                    [
                        "event": .text($0.event.id.description), "kind": .text($0.kind),
                        "at": .text(TimeArgument.text($0.event.stamp)),
                        "target": .text($0.target), "remoteId": .init($0.remoteID),
                        "code": .init($0.code), "message": .init($0.message),
                    ]
                }),
        ]
    }
}
