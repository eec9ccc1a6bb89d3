internal import Tapedeck

/// What a sync did, with a server or with a remote: one document for both.
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
    private let waiting: [Waiting]
    private let waitingCount: UInt64
    private let renewedOrigins: Int
    private let healed: UInt64
    /// Parts of a remote's answers that could not be read; a server's are read or fail as a whole.
    private let unreadable: [String]
    /// What a remote does not have; it goes without.
    private let missing: [String]
    /// Pages of a remote that were not asked for, and until when the first of these is fresh.
    private let fresh: Int
    private let freshUntil: UInt64?
    /// Pages of a remote that are left to the next sync.
    private let unread: Int
    /// What the two sides exchange: events, or intents and facts.
    private let units: (pushed: String, pulled: String)
    let error: CommandError?

    /// What a sync with a server did, with a token.
    init(_ report: SyncReport, _ token: TokenSource) {
        pushed = report.pushed
        pulled = report.pulled
        refused = report.refused.map { Refusal(event: $0.event, code: $0.code, message: nil) }
        waiting = report.waiting.map {
            Waiting(event: $0.event, reason: $0.reason, message: nil, until: $0.until)
        }
        waitingCount = report.waitingCount
        renewedOrigins = report.renewedOrigins
        healed = report.healed
        (unreadable, missing) = ([], [])
        (fresh, freshUntil, unread) = (0, nil, 0)
        units = ("event", "event")
        error = report.failure.map { SyncOutcome.naming(token, in: CommandError($0)) }
    }

    /// An error that tells where the token stands, where that was refused.
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
        units = ("intent", "fact")
        error = report.failure.map { CommandError($0) }
    }

    /// Whether nothing is left over.
    var isComplete: Bool { refused.isEmpty && waitingCount == 0 && unreadable.isEmpty }

    /// The most parts of answers that are listed.
    private static let unreadableListedMax = 1_000

    /// What to do about what a remote lacks.
    var hint: String? {
        guard waiting.contains(where: { $0.reason == .notThere }) else { return nil }
        return "what a remote lacks is delivered once a reading shows it there;"
            + " storectl outbox drop EVENT gives it up"
    }

    /// The most events that a report in words lists with what is in their way.
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
        ]
        return error.map { document.adding("error", $0.json) } ?? document
    }

    func write(_ text: inout TextReport, isPreview: Bool) {
        let verb = isPreview ? "would have " : ""
        text.line(
            "\(verb)pushed \(Figures.count(pushed, units.pushed)),"
                + " pulled \(Figures.count(pulled, units.pulled))")
        if renewedOrigins > 0 {
            text.line("this store had been put back to an earlier state: it writes as a new origin")
        }
        if healed > 0 {
            text.line(
                "two histories of one origin met: \(Figures.count(healed, "event")) written anew")
        }
        for refusal in refused {
            let why = refusal.message.map { ", \($0)" } ?? ""
            text.line(VisibleText.line("refused \(refusal.event): \(refusal.code)\(why)"))
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
                text.line("storectl outbox lists the others")
            }
        }
        if let freshUntil {
            text.line(
                "\(Figures.count(fresh, "page")) not asked for, as what was read is fresh until"
                    + " \(TimeArgument.text(Int64(clamping: freshUntil))); --refresh asks all the same"
            )
        }
        if unread > 0 { text.line("\(Figures.count(unread, "page")) left to the next sync") }
        for part in unreadable.prefix(SyncOutcome.unreadableListedMax) {
            text.line(VisibleText.line("could not read \(part)"))
        }
        for part in missing { text.line(VisibleText.line("goes without \(part)")) }
    }
}
