internal import Tapedeck

/// The outcome of a sync with a server or a remote.
struct SyncOutcome {
    private struct Refusal {
        let event: EventID
        let code: ErrorCode
        let message: String?
    }

    private struct Waiting {
        let event: EventID
        let reason: ErrorCode
        let message: String?
        let until: UInt64?
    }

    private let pushed: UInt64
    private let pulled: UInt64
    private let refused: [Refusal]
    /// The number of refused items that an earlier sync has already reported.
    private let refusedBefore: Int
    private let waiting: [Waiting]
    private let waitingCount: UInt64
    private let renewedOrigins: Int
    private let healed: UInt64
    /// The parts of a remote's responses that could not be read; empty for a server, whose
    /// responses are either read completely or rejected.
    private let unreadable: [String]
    /// The features that are not available on the remote.
    private let missing: [String]
    /// The number of a remote's pages that were skipped because they are fresh, and the earliest
    /// time at which one of them expires.
    private let fresh: Int
    private let freshUntil: UInt64?
    /// The number of a remote's pages that are left for the next sync.
    private let unread: Int
    private let isRemote: Bool
    let error: CommandError?
    /// The time from which a remote accepts requests again, if it requested a long wait.
    private let until: UInt64?

    /// Creates the outcome of a sync with a server.
    init(_ report: SyncReport, _ token: TokenSource) {
        pushed = report.pushed
        pulled = report.pulled
        refused = report.refused.map { Refusal(event: $0.event, code: $0.code, message: nil) }
        refusedBefore = 0
        waiting = report.waiting.map {
            Waiting(event: $0.event, reason: $0.reason, message: nil, until: $0.until)
        }
        waitingCount = report.waitingCount
        renewedOrigins = report.renewedOrigins
        healed = report.healed
        (unreadable, missing) = ([], [])
        (fresh, freshUntil, unread) = (0, nil, 0)
        isRemote = false
        error = report.failure.map { SyncOutcome.naming(token, in: CommandError($0)) }
        until = report.until
    }

    /// Adds the path of the token's file to an error if the server rejected the token.
    static func naming(_ token: TokenSource, in error: CommandError) -> CommandError {
        guard error.code == .unauthorized else { return error }
        return error.adding("the token was read from \(token.path)")
    }

    init(_ report: RemoteReport) {
        pushed = UInt64(report.pushed)
        pulled = UInt64(report.pulled)
        refused = report.refused.map {
            Refusal(event: $0.event, code: $0.code, message: $0.message)
        }
        refusedBefore = report.refusedBefore
        waiting = report.waiting.map {
            Waiting(
                event: $0.event, reason: $0.reason, message: $0.message.isEmpty ? nil : $0.message,
                until: $0.until)
        }
        waitingCount = UInt64(report.waitingCount)
        renewedOrigins = 0
        healed = 0
        (unreadable, missing) = (report.unreadable, report.missing)
        (fresh, freshUntil, unread) = (report.fresh, report.freshUntil, report.unread)
        isRemote = true
        error = report.failure.map { CommandError($0) }
        until = report.until
    }

    /// The nouns for the pushed and pulled items.
    private var units: (pushed: String, pulled: String) {
        isRemote ? ("intent", "fact") : ("event", "event")
    }

    /// Whether nothing was refused, unreadable, or left waiting.
    var isComplete: Bool { refused.isEmpty && waitingCount == 0 && unreadable.isEmpty }

    /// The maximum number of unreadable parts that are listed.
    private static let unreadableListedMax = 1_000

    /// A hint for intents whose objects the remote lacks; nil if there are none.
    var hint: String? {
        guard waiting.contains(where: { $0.reason == .notThere }) else { return nil }
        return PrintedCommand.completed(
            "an intent is delivered once a sync finds its object on the remote;"
                + " to give up, use storectl outbox drop EVENT")
    }

    /// The maximum number of waiting events that a text report lists with their reasons.
    private static let waitingListedMax = 20

    var json: JSON {
        let document: JSON = [
            "pushed": .init(pushed), "pulled": .init(pulled),
            "refused": .list(
                refused.map {
                    [
                        "event": .text($0.event.description), "code": .text($0.code.rawValue),
                        "message": .init($0.message),
                    ]
                }),
            "refusedBefore": .init(refusedBefore),
            "waiting": .list(
                waiting.map {
                    [
                        "event": .text($0.event.description), "reason": .text($0.reason.rawValue),
                        "message": .init($0.message),
                        "until": .init($0.until.map { TimeArgument.text(Int64(clamping: $0)) }),
                    ]
                }),
            "waitingCount": .init(waitingCount), "renewedOrigins": .init(renewedOrigins),
            "healed": .init(healed),
            "unreadable": .list(
                unreadable.prefix(SyncOutcome.unreadableListedMax).map { .text($0) }),
            "missing": .list(missing.map { .text($0) }),
            "fresh": .init(fresh),
            "freshUntil": .init(freshUntil.map { TimeArgument.text(Int64(clamping: $0)) }),
            "unread": .init(unread),
            "until": .init(until.map { TimeArgument.text(Int64(clamping: $0)) }),
        ]
        return error.map { document.adding("error", $0.json) } ?? document
    }

    func write(_ text: inout TextReport, isPreview: Bool) {
        let verb = isPreview ? "would have " : ""
        text.line(
            "\(verb)pushed \(Figures.count(pushed, units.pushed))"
                + (isPreview && isRemote
                    ? "; the remote was not asked for new facts"
                    : ", pulled \(Figures.count(pulled, units.pulled))"))
        if renewedOrigins > 0 {
            text.line(
                "this store was restored to an earlier state, so it now writes under a new origin")
        }
        if healed > 0 {
            text.line(
                "two histories of one origin met; recorded \(Figures.count(healed, "event")) again")
        }
        for refusal in refused {
            let why = refusal.message.map { ", \($0)" } ?? ""
            text.line(VisibleText.line("refused \(refusal.event): \(refusal.code)\(why)"))
        }
        if refusedBefore > 0 {
            text.line(
                "\(Figures.count(UInt64(refusedBefore), units.pushed)) refused earlier; "
                    + PrintedCommand.completed("storectl outbox lists the reasons"))
        }
        if waitingCount > 0 {
            let reasons = Set(waiting.map(\.reason.rawValue)).sorted().joined(separator: ", ")
            text.line("\(Figures.count(waitingCount, units.pushed)) waiting: \(reasons)")
            let lacking = waiting.filter { $0.reason == .notThere }
            for item in lacking.prefix(SyncOutcome.waitingListedMax) {
                let why = item.message.map { ", \($0)" } ?? ""
                text.line(
                    VisibleText.line("waiting \(item.event): \(item.reason.rawValue)\(why)"))
            }
            if lacking.count > SyncOutcome.waitingListedMax {
                text.line(PrintedCommand.completed("storectl outbox lists the rest"))
            }
        }
        if let freshUntil {
            text.line(
                "skipped \(Figures.count(fresh, "fresh page")); the first expires at"
                    + " \(TimeArgument.text(Int64(clamping: freshUntil))); --refresh reads them anyway"
            )
        }
        if unread > 0 { text.line("\(Figures.count(unread, "page")) left for the next sync") }
        for part in unreadable.prefix(SyncOutcome.unreadableListedMax) {
            text.line(VisibleText.line("could not read \(part)"))
        }
        if let until {
            text.line(
                "the remote accepts requests again at \(TimeArgument.text(Int64(clamping: until)))")
        }
        for part in missing { text.line(VisibleText.line("not available on the remote: \(part)")) }
    }
}
