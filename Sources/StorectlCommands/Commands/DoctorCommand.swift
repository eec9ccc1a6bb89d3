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

            EXAMPLE:
              storectl doctor
              storectl doctor --json
            """)

    @OptionGroup var options: StoreOptions

    func run() throws {
        let directory = try options.directory()
        let findings = try options.withStore { store in
            try Examination(store: store, directory: directory).findings()
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
                text.line(TextTable.printable(line))
                if let hint = finding.hint { text.line("  \(TextTable.printable(hint))") }
            }
        }
        if let failure { throw ReportedFailure(.checkFailed, failure) }
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
