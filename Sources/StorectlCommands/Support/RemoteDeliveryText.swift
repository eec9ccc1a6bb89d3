internal import Tapedeck

/// The state of an intent's delivery to a remote, as text.
struct RemoteDeliveryText {
    let delivery: RemoteDelivery

    init(_ delivery: RemoteDelivery) { self.delivery = delivery }

    var state: String {
        switch delivery.state {
        case .queued: "queued"
        case .sent: "sent"
        case .waiting: "waiting"
        case .refused: "refused"
        case .unknown: "unknown"
        }
    }

    var line: String {
        let text: String
        switch delivery.state {
        case .queued: text = "queued: the next sync sends it"
        case .sent: text = "sent, but no response arrived: the next sync checks the outcome"
        case .waiting(let reason, let message, let until):
            let end = until.map { " until " + TimeArgument.text(Int64(clamping: $0)) } ?? ""
            text = "waiting\(end): \(reason), \(message)"
        case .refused(let code, let message): text = "refused: \(code), \(message)"
        case .unknown(let message):
            text = "unknown: \(message.isEmpty ? "it may or may not have taken effect" : message)"
        }
        return delivery.isDerived ? text + " (automatic)" : text
    }

    var reason: ErrorCode? {
        if case .waiting(let reason, _, _) = delivery.state { reason } else { nil }
    }

    var code: ErrorCode? {
        switch delivery.state {
        case .refused(let code, _): code
        case .unknown: .unknownOutcome
        default: nil
        }
    }

    var message: String? {
        switch delivery.state {
        case .waiting(_, let message, _), .refused(_, let message), .unknown(let message):
            message.isEmpty ? nil : message
        default: nil
        }
    }

    var until: String? {
        guard case .waiting(_, _, let until) = delivery.state else { return nil }
        return until.map { TimeArgument.text(Int64(clamping: $0)) }
    }
}
