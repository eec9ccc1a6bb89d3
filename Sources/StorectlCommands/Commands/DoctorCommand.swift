internal import ArgumentParser
internal import Tapedeck

/// The command `storectl doctor`.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Diagnose problems with a store and suggest fixes.",
        discussion: """
            Exits with 3 if there is a problem; a warning does not change the exit code. To check the \
            stored bytes, use storectl verify.

            --rebuild-index drops the index and rebuilds it from the events, which are not \
            changed. --prune deletes projection files that belong to another version of this \
            program or to other values of --winner and --rule, unless a process has them open. \
            Deleted files are rebuilt when needed.

            EXAMPLE:
              storectl doctor
              storectl doctor --rebuild-index
              storectl doctor --prune --json
            """)

    @Flag(help: "Drop the index and rebuild it from the events.")
    var rebuildIndex = false

    @Flag(help: "Delete unused projection files, unless a process has them open.")
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

    /// Makes the requested repairs and returns a finding for each.
    private func repair(_ store: TapedeckStore) throws -> [Finding] {
        var done: [Finding] = []
        if rebuildIndex {
            try store.log.rebuildIndex()
            let events = try store.log.currentHead().rawValue
            done.append(.ok("index", "rebuilt from \(Figures.count(events, "event"))"))
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
