internal import Tapedeck

/// The report of an append.
struct AppendReport {
    /// A line that was refused.
    struct Refusal {
        let line: Int
        let code: ErrorCode
        let message: String
        /// A hint on how to fix the line; always nil after the first `refusalsDiagnosedMax`
        /// refusals.
        let hint: String?
    }

    /// The maximum number of refusals that are listed; the rest are only counted.
    static let refusalsListedMax = 10_000
    /// The maximum number of refusals that are printed to stderr.
    static let refusalsDiagnosedMax = 20

    private(set) var recorded = 0
    private(set) var first: (id: EventID, position: LogPosition)?
    private(set) var last: (id: EventID, position: LogPosition)?
    private(set) var refused: [Refusal] = []
    private(set) var refusedCount = 0

    mutating func add(_ appended: AppendedEvents) {
        recorded += appended.count
        if first == nil { first = (appended.firstID, appended.firstPosition) }
        last = (appended.lastID, appended.lastPosition)
    }

    mutating func refuse(line: Int, _ error: some CodedError) {
        refusedCount += 1
        guard refused.count < AppendReport.refusalsListedMax else { return }
        let isDiagnosed = refused.count < AppendReport.refusalsDiagnosedMax
        refused.append(
            Refusal(
                line: line, code: error.code, message: error.message,
                hint: isDiagnosed ? error.hint : nil))
    }

    /// The number of recorded events, and the first and last of these events.
    var recordedJSON: JSON {
        func place(_ event: (id: EventID, position: LogPosition)?) -> JSON {
            guard let event else { return .null }
            return ["id": .text(event.id.description), "position": .init(event.position.rawValue)]
        }
        return [
            "recorded": .init(recorded), "first": place(first), "last": place(last),
        ]
    }

    /// The recorded events and the refusals.
    var json: JSON {
        let refusals = refused.map { refusal -> JSON in
            [
                "line": .init(refusal.line), "code": .text(refusal.code.rawValue),
                "message": .text(refusal.message),
            ]
        }
        return recordedJSON.adding("refused", .list(refusals))
            .adding("refusedCount", .init(refusedCount))
    }

    func write(_ text: inout TextReport) {
        text.line("recorded \(Figures.count(recorded, "event"))")
        guard let first, let last else { return }
        text.line(
            first.position == last.position
                ? "\(first.id) at position \(first.position)"
                : "\(first.id) to \(last.id), positions \(first.position) to \(last.position)")
    }

    func diagnose() {
        for refusal in refused.prefix(AppendReport.refusalsDiagnosedMax) {
            let hint = refusal.hint.map { " (\($0))" } ?? ""
            StandardOutput.diagnose("refused: line \(refusal.line): \(refusal.message)\(hint)")
        }
        if refusedCount > AppendReport.refusalsDiagnosedMax {
            let more = refusedCount - AppendReport.refusalsDiagnosedMax
            StandardOutput.diagnose("refused: \(Figures.count(more, "more line")); see --json")
        }
    }
}
