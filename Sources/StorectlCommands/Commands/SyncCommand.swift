internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// `storectl sync`.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Reconcile a store with a server or a remote.",
        discussion: """
            A target with :// is a server: pushes what it lacks and pulls what this store lacks. \
            Another one is the name of a remote (storectl remote): reads what it has and delivers \
            what is wanted of it. It can be cut off at any point and done again. --watch stays \
            connected and follows changes on both sides until it is interrupted.

            EXAMPLE:
              storectl sync http://127.0.0.1:8737 --token-file token
              storectl sync http://127.0.0.1:8737 --token-file token --watch
              storectl sync http://127.0.0.1:8737 --token-file token --dry-run --json
              storectl sync home
              storectl sync home --dry-run
              storectl sync tv --refresh
            """)

    @Argument(help: "The server's address, or the name of a remote.")
    var target: String

    @Flag(help: "Stay connected and receive changes as they happen.")
    var watch = false

    @Flag(help: "Say what there is to do, without doing it; a remote is not even asked.")
    var dryRun = false

    @Flag(help: "Ask a remote also for what is fresh, by what it said when it was asked before.")
    var refresh = false

    @Option(
        help: ArgumentHelp(
            "The file that holds a server's token; else TAPEDECK_TOKEN_FILE names it.",
            valueName: "path"), completion: .file())
    var tokenFile: String?

    @OptionGroup var options: StoreOptions

    func validate() throws {
        if watch, dryRun { throw ValidationError("--watch and --dry-run exclude each other") }
        if refresh, target.contains("://") {
            throw ValidationError("--refresh is for a remote, and \(target.prefix(80)) is a server")
        }
    }

    func run() async throws {
        guard target.contains("://") else { return try await syncRemote() }
        let log = try EventLog(opening: try options.directory())
        defer { log.close() }
        try DemoStore.refuse(log)
        let token = try token()
        let engine = try SyncEngine(
            log, server: target,
            options: SyncEngine.Options(
                isLive: watch, failuresMax: watch ? 0 : 3,
                // Somebody is looking: a server that is back is noticed soon.
                backoffMax: watch ? 4_000 : 30_000)
        ) { token.current }
        if dryRun { return try await preview(engine, token) }
        let interruption = Interruption.stopping(engine)
        defer { interruption.cancel() }
        let printer = SyncPrinter(isLive: watch, isJSON: options.json)
        let done = try await engine.run { printer.update($0) }
        printer.finish()
        if !watch, Interruption.isRequested {
            throw Interrupted(
                message: "pushed \(Figures.count(done.pushed, "event")),"
                    + " pulled \(Figures.count(done.pulled, "event")), and then it was to end")
        }
        try report(SyncOutcome(done, token), isPreview: false)
    }

    private func preview(_ engine: SyncEngine, _ token: TokenSource) async throws {
        do {
            try report(SyncOutcome(try await engine.preview(), token), isPreview: true)
        } catch let error as SyncError {
            throw SyncOutcome.naming(token, in: CommandError(error))
        }
    }

    private func token() throws -> TokenSource {
        let named = tokenFile ?? ProcessInfo.processInfo.environment["TAPEDECK_TOKEN_FILE"]
        guard let named, !named.isEmpty else {
            throw CommandError(
                .unauthorized, "no token was given",
                hint:
                    "--token-file names the file that holds it; storectl serve prints where that is"
            )
        }
        return try TokenSource(named)
    }

    /// Prints what came of it and ends the command with its code.
    func report(_ done: SyncOutcome, isPreview: Bool) throws {
        try options.print(done.json) { done.write(&$0, isPreview: isPreview) }
        if let hint = done.hint { StandardOutput.diagnose("hint: \(hint)") }
        if let error = done.error { throw ReportedFailure(error.code.exit, error) }
        if !done.isComplete { throw ReportedFailure(.someRefused) }
    }
}

extension Interruption {
    /// Ends an engine in an orderly way at the first signal.
    fileprivate static func stopping(_ engine: SyncEngine) -> Task<Void, Never> {
        remember()
        return Task {
            while !Task.isCancelled, !isRequested {
                try? await Task.sleep(for: .milliseconds(50))
            }
            engine.stop()
        }
    }
}

/// Says how a sync goes: a bar for a backlog, and in a live one a line each time all is done.
private final class SyncPrinter: Sendable {
    private let isLive: Bool
    private let lines: LiveLines
    private let meter = ProgressMeter("events")

    init(isLive: Bool, isJSON: Bool) {
        self.isLive = isLive
        lines = LiveLines(isJSON: isJSON)
    }

    func update(_ progress: SyncProgress) {
        if progress.toPush > 0 {
            meter.update(
                "pushing", done: progress.pushed, total: progress.pushed + progress.toPush)
        } else if progress.toPull > 0 {
            meter.update(
                "pulling", done: progress.pulled, total: progress.pulled + progress.toPull)
        }
        guard isLive else { return }
        if progress.isSettled {
            lines.say(
                "up to date: pushed \(progress.pushed), pulled \(progress.pulled)",
                [
                    "state": "upToDate", "pushed": .init(progress.pushed),
                    "pulled": .init(progress.pulled),
                ], repeatsJSON: true)
        } else if let wait = progress.wait {
            lines.say(
                waitingFor: wait.reason, wait.message, until: wait.until, repeatsJSON: true)
        }
    }

    func finish() { meter.finish() }
}
