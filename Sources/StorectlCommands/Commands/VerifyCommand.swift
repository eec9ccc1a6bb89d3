internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// The command `storectl verify`.
///
/// The check runs in a child process, which may crash when it reads a damaged page. The parent
/// process then reports the crash.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check every page, event, hash chain, index entry and receipt of a store.",
        discussion: """
            Exits with 6 if anything is damaged. To check projections, use storectl replay --verify.

            EXAMPLE:
              storectl verify
              storectl verify --json
            """)

    @Flag(help: "Run the check in this process, which may crash if a file is damaged.")
    var inProcess = false

    @OptionGroup var options: StoreOptions

    private static let hint = "restore a backup: storectl restore FILE"
    private static let pollMicroseconds: UInt32 = 5_000

    func run() throws {
        if inProcess { try check() } else { try runChild() }
    }

    private static func hint(for report: VerifyReport) -> String {
        report.problems.allSatisfy { $0.kind == .index }
            ? "the events are intact; storectl doctor --rebuild-index rebuilds the index" : hint
    }

    private func check() throws {
        let directory = try options.directory()
        CrashGuard.install(directory, isJSON: options.json, hint: VerifyCommand.hint)
        let meter = ProgressMeter("events")
        defer { meter.finish() }
        let start = ContinuousClock.now
        let report = try StoreOptions.trying(isReading: true) { logOptions in
            try EventLog.verify(directory, options: logOptions) {
                meter.update($0.phase.rawValue, done: $0.done, total: $0.total)
            }
        }
        meter.finish()
        let seconds = (ContinuousClock.now - start).inSeconds
        let damage = report.problems.first.map { problem in
            CommandError(
                .damaged,
                "the store in \(directory) has \(Figures.count(report.problemCount, "problem"));"
                    + " the first: \(VerifyCommand.text(problem))",
                hint: VerifyCommand.hint(for: report))
        }
        try options.print(VerifyCommand.json(report, seconds: seconds, damage)) {
            VerifyCommand.write(report, seconds: seconds, &$0)
        }
        if let damage { throw ReportedFailure(.damaged, damage) }
    }

    private static func json(
        _ report: VerifyReport, seconds: Double, _ damage: CommandError?
    ) -> JSON {
        let document: JSON = [
            "intact": .init(report.isIntact), "seconds": .init(seconds: seconds),
            "pages": .init(report.pages), "events": .init(report.events),
            "compacted": .init(report.compacted),
            "origins": .init(report.origins), "lookups": .init(report.lookups),
            "indexed": .init(report.indexed), "entries": .init(report.entries),
            "receipts": .init(report.receipts), "overrides": .init(report.overrides),
            "problems": .list(
                report.problems.map {
                    [
                        "kind": .text($0.kind.rawValue),
                        "position": $0.position.map { .init($0) } ?? .null, "key": .init($0.key),
                        "what": .text($0.what),
                    ]
                }),
            "problemCount": .init(report.problemCount),
        ]
        return damage.map { document.adding("error", $0.json) } ?? document
    }

    private static func write(_ report: VerifyReport, seconds: Double, _ text: inout TextReport) {
        text.line(
            (report.isIntact ? "intact" : "damaged")
                + ": \(Figures.count(report.events, "event")) from"
                + " \(Figures.count(report.origins, "origin")),"
                + " \(Figures.count(report.pages, "page")),"
                + " \(Figures.grouped(report.entries)) index entries,"
                + " \(Figures.count(report.receipts, "receipt")) in \(Figures.seconds(seconds))")
        if report.compacted > 0 {
            text.line("\(Figures.count(report.compacted, "event")) removed by compaction")
        }
        for problem in report.problems { text.line(VerifyCommand.text(problem)) }
        let unlisted = Int(clamping: report.problemCount) - report.problems.count
        if unlisted > 0 { text.line("and \(Figures.count(unlisted, "more problem"))") }
    }

    private static func text(_ problem: VerifyReport.Problem) -> String {
        let place = problem.position.map { " \($0)" } ?? ""
        let key = problem.key.map { " (\($0))" } ?? ""
        return VisibleText.line("\(problem.kind.rawValue)\(place)\(key): \(problem.what)")
    }

    // MARK: - The child process

    private func runChild() throws {
        let directory = try options.directory()
        let child = Process()
        child.executableURL = try VerifyCommand.ownExecutable()
        child.arguments =
            ["verify", "--in-process", "--store", directory] + (options.json ? ["--json"] : [])
        // After a crash, the parent process prints its own report.
        child.environment = ProcessInfo.processInfo.environment.merging(
            ["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        // The parent process forwards interrupt signals to the child process.
        Interruption.remember()
        do {
            try child.run()
        } catch {
            throw CommandError(
                .internalError, "the check cannot be started",
                hint: "storectl verify --in-process runs the check without a child process",
                cause: error)
        }
        while child.isRunning {
            if Interruption.isRequested { kill(child.processIdentifier, Interruption.number) }
            usleep(VerifyCommand.pollMicroseconds)
        }
        if Interruption.isRequested { throw Interrupted(message: "the check did not finish") }
        guard child.terminationReason == .uncaughtSignal else {
            guard child.terminationStatus == 0 else {
                throw ReportedFailure(ExitClass(rawValue: child.terminationStatus) ?? .internal)
            }
            return
        }
        let signal = child.terminationStatus
        guard [SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE].contains(signal) else {
            throw CommandError(.internalError, "signal \(signal) ended the check")
        }
        throw CommandError(
            .damaged,
            "the check of the store in \(directory) crashed (signal \(signal)): one of its files is"
                + " damaged", hint: VerifyCommand.hint)
    }

    private static func ownExecutable() throws -> URL {
        #if os(Linux)
            return URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        #else
            guard let url = Bundle.main.executableURL else {
                throw CommandError(.internalError, "this program cannot find its own executable")
            }
            return url
        #endif
    }
}
