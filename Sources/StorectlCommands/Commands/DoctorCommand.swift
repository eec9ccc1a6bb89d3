internal import ArgumentParser
internal import Tapedeck

/// `storectl doctor`.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what is wrong around a store, and say what to do.",
        discussion: """
            A problem makes the exit code 3; a warning does not. Whether the stored bytes are \
            intact is checked by storectl verify.

            --rebuild-index drops the index and makes it anew from the events, which are not \
            touched. --prune removes projections that another version of this program, or another \
            choice of query --winner and --rule, has left and that no process has open; whoever \
            needs them builds them again.

            EXAMPLE:
              storectl doctor
              storectl doctor --rebuild-index
              storectl doctor --prune --json
            """)

    @Flag(help: "Make the index anew from the events: for one that is damaged.")
    var rebuildIndex = false

    @Flag(help: "Remove projections that this program does not use and nobody has open.")
    var prune = false

    @OptionGroup var options: StoreOptions

    func run() throws {
        let directory = try options.directory()
        let findings = try options.withStore { store in
            let done = try repair(store)
            return try done + Examination(store: store, directory: directory).findings()
        }
        let problems = findings.filter { $0.level == .problem }
        let failure = problems.first.map { first in
            CommandError(
                .checkFailed,
                problems.count == 1
                    ? first.message : "\(problems.count) problems; the first: \(first.message)",
                hint: first.hint)
        }
        try options.print(json(findings, failure)) { text in
            for finding in findings {
                let line = "\(finding.level.rawValue): \(finding.check): \(finding.message)"
                text.line(VisibleText.line(line))
                if let hint = finding.hint { text.line("  \(VisibleText.line(hint))") }
            }
        }
        if let failure { throw ReportedFailure(.checkFailed, failure) }
    }

    /// Does what was asked for, and says what that was.
    private func repair(_ store: TapedeckStore) throws -> [Finding] {
        var done: [Finding] = []
        if rebuildIndex {
            try store.log.rebuildIndex()
            let events = try store.log.currentHead().rawValue
            done.append(.ok("index", "made anew of \(Figures.count(events, "event"))"))
        }
        if prune {
            let removed = try store.projections.pruneViews()
            let bytes = removed.reduce(0) { $0 + $1.bytes }
            done.append(
                .ok(
                    "views files",
                    "\(Figures.count(removed.count, "file")) removed, \(Figures.bytes(bytes))"))
        }
        return done
    }

    private func json(_ findings: [Finding], _ failure: CommandError?) -> JSON {
        let document: JSON = [
            "healthy": .init(failure == nil),
            "findings": .list(
                findings.map {
                    [
                        "check": .text($0.check), "level": .text($0.level.rawValue),
                        "message": .text($0.message), "hint": .init($0.hint),
                    ]
                }),
        ]
        return failure.map { document.adding("error", $0.json) } ?? document
    }
}
