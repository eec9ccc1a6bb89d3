internal import Tapedeck
internal import TapedeckConnectors

/// The state of a store's sync with a remote, as text.
struct RemoteStatusText {
    let status: RemoteStatus

    init(_ status: RemoteStatus) { self.status = status }

    /// The first state that applies; states that require action by the user come first.
    var state: String {
        if status.needsLogin, !status.hasLogin { return "loggedOut" }
        if status.reason != nil { return "waiting" }
        if status.ended > 0 { return "ended" }
        if status.readAt == nil { return "never" }
        return status.undelivered > 0 ? "behind" : "upToDate"
    }

    var json: JSON {
        [
            "name": .text(status.remote.name), "system": .text(status.remote.system),
            "url": .text(status.remote.url),
            "schedules": status.remote.schedules, "lists": status.remote.lists,
            "state": .text(state),
            "loggedIn": .init(status.hasLogin),
            "contactedAt": .init(RemoteStatusText.time(status.contactedAt)),
            "readAt": .init(RemoteStatusText.time(status.readAt)),
            "undelivered": .init(status.undelivered), "ended": .init(status.ended),
            "reason": .init(status.reason?.rawValue), "message": .init(status.message),
            "until": .init(RemoteStatusText.time(status.until)),
        ]
    }

    var line: String {
        var parts: [String] = []
        switch state {
        case "loggedOut":
            let conflict = status.reason == .conditionFailed ? status.message : nil
            parts.append("not logged in" + (conflict.map { "; \($0)" } ?? ""))
        case "waiting":
            let end = RemoteStatusText.time(status.until).map { " until \($0)" } ?? ""
            let reason = status.reason?.rawValue ?? ""
            parts.append("waiting\(end): \(reason), \(status.message ?? "")")
        case "never": parts.append("never read")
        case "upToDate": break
        default: parts.append("read \(RemoteStatusText.time(status.readAt) ?? "never")")
        }
        if status.undelivered > 0 {
            parts.append("\(Figures.count(status.undelivered, "intent")) not delivered")
        }
        if status.ended > 0 {
            parts.append(
                "\(Figures.count(status.ended, "intent")) refused or unknown:"
                    + " see " + PrintedCommand.completed("storectl outbox"))
        }
        if parts.isEmpty {
            parts.append("up to date as of \(RemoteStatusText.time(status.readAt) ?? "never")")
        }
        return parts.joined(separator: "; ")
    }

    private static func time(_ milliseconds: UInt64?) -> String? {
        milliseconds.map { TimeArgument.text(Int64(clamping: $0)) }
    }
}

extension Remote {
    /// The schedules that are read from TVmaze; empty for other systems.
    var schedules: JSON { parts(if: Connectors.hasSchedules(system)) }
    /// The lists that the user has chosen; empty if the remote's lists cannot be chosen.
    ///
    /// After a change of address, a remote may still have lists that were chosen for the old
    /// address; they are left out.
    var lists: JSON { parts(if: Connectors.hasLists(system, url: url)) }

    private func parts(if isTheirKind: Bool) -> JSON {
        .list(isTheirKind ? parts.map { .text($0) } : [])
    }
}
