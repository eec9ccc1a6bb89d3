internal import ArgumentParser
internal import Foundation
internal import Synchronization
internal import Tapedeck
internal import TapedeckConnectors

/// The command `storectl sync`.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Sync a store with a server or a remote.",
        discussion: """
            A target that contains :// is a sync server. The command pushes the events that the \
            server lacks and pulls the events that this store lacks; it needs a token, which \
            storectl serve and storectl token create write to a file. Any other target is the name \
            of a remote (see storectl remote). The command reads new data from the remote and \
            sends it your pending changes. A sync can be interrupted at any point and repeated. \
            --watch stays connected and follows changes on both sides until it is interrupted.

            With --list LIST, this sync and all later syncs, on all of your devices, read a list \
            of the remote. LIST is roll/ID, dashboard/ID, or following for the rolls that you \
            follow. Only Shelby's v1 API has such lists; see query lists and query list.

            EXAMPLE:
              storectl sync http://127.0.0.1:8737 --token-file token
              storectl sync http://127.0.0.1:8737 --token-file token --watch
              storectl sync http://127.0.0.1:8737 --token-file token --dry-run --json
              storectl sync home
              storectl sync home --dry-run
              storectl sync tv --refresh
              storectl sync home --list following --list roll/50bd0dfe0d61ec6cbf000001
              storectl sync home --unlist following
            """)

    @Argument(
        help: "The server's URL, or the name of a remote.", completion: RemoteNames.completion)
    var target: String

    @Flag(help: "Stay connected and receive changes as they happen.")
    var watch = false

    @Flag(help: "Report what a sync would do, without doing it; remotes are not contacted.")
    var dryRun = false

    @Flag(help: "Read a remote's pages even if they are still fresh according to Cache-Control.")
    var refresh = false

    @Option(
        help: ArgumentHelp(
            "From now on, read this list of a remote on all devices; may be repeated.",
            valueName: "list"))
    var list: [String] = []

    @Option(
        help: ArgumentHelp(
            "Stop reading this list of a remote on all devices; may be repeated.",
            valueName: "list"))
    var unlist: [String] = []

    @Option(
        help: ArgumentHelp(
            "The file that contains the server's token (default: $TAPEDECK_TOKEN_FILE).",
            valueName: "path"), completion: .file())
    var tokenFile: String?

    @OptionGroup var options: StoreOptions

    func validate() throws {
        if watch, dryRun { throw ValidationError("--watch and --dry-run cannot be combined") }
        let forRemotes = [
            ("--refresh", refresh), ("--list", !list.isEmpty), ("--unlist", !unlist.isEmpty),
        ]
        for (option, isGiven) in forRemotes where isGiven && target.contains("://") {
            throw ValidationError(
                "\(option) is for remotes, but \(HTTPAddress.shown(target)) is a server")
        }
        if dryRun, !list.isEmpty || !unlist.isEmpty {
            throw ValidationError("--dry-run cannot be combined with --list or --unlist")
        }
    }

    func run() async throws {
        guard target.contains("://") else { return try await syncRemote() }
        let log = try EventLog(opening: try options.directory())
        defer { log.close() }
        let token = try token(for: log)
        let engine = try SyncEngine(
            log, server: target,
            options: SyncEngine.Options(
                isLive: watch, failuresMax: watch ? 0 : 3,
                // A user who is watching expects a retry soon after the server is available again.
                backoffMax: watch ? 4_000 : 30_000)
        ) { token.current }
        if dryRun { return try await preview(engine, token) }
        let interruption = Interruption.stopping(engine)
        defer { interruption.cancel() }
        let printer = SyncPrinter(isLive: watch, isJSON: options.json, token)
        let logins = EndedLogins(log)
        let done = try await engine.run { progress in
            printer.update(progress)
            if progress.isSettled { logins.remove(afterPulling: progress.pulled) }
        }
        printer.finish()
        logins.remove(afterPulling: done.pulled)
        if !watch, Interruption.isRequested {
            throw Interrupted(
                message: "pushed \(Figures.count(done.pushed, "event")),"
                    + " pulled \(Figures.count(done.pulled, "event"))")
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

    /// Returns the token; a store that cannot be synced is refused first, because no token helps.
    private func token(for log: EventLog) throws -> TokenSource {
        try log.checkHasNoSamples()
        let named = tokenFile ?? ProcessInfo.processInfo.environment["TAPEDECK_TOKEN_FILE"]
        guard let named, !named.isEmpty else {
            throw CommandError(
                .usage, "a sync with a server needs --token-file or TAPEDECK_TOKEN_FILE",
                hint: "storectl serve prints the path of its token file")
        }
        return try TokenSource(named)
    }

    /// Prints the outcome; throws if the sync failed or is incomplete.
    func report(_ done: SyncOutcome, isPreview: Bool) throws {
        try options.print(done.json) { done.write(&$0, isPreview: isPreview) }
        if let hint = done.hint { StandardOutput.diagnose("hint: \(hint)") }
        if let error = done.error { throw ReportedFailure(error.code.exit, error) }
        if !done.isComplete { throw ReportedFailure(.someRefused) }
    }
}

extension Interruption {
    /// Stops an engine cleanly at the first signal.
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

/// Deletes this device's logins at remotes that the pulled events have ended.
///
/// A failure does not end the sync: an ended login is never used, and the next login, logout or
/// sync with a remote deletes it.
private final class EndedLogins: Sendable {
    private let log: EventLog
    /// The number of pulled events at the last check; nil before the first check.
    private let checked = Mutex<UInt64?>(nil)

    init(_ log: EventLog) { self.log = log }

    func remove(afterPulling pulled: UInt64) {
        checked.withLock { checked in
            guard checked != pulled, StoreRemotes.hasLogins(in: log) else { return }
            let runner = ProjectionRunner(log, projections: ShippedProjections.all())
            defer { runner.close() }
            try? StoreRemotes(log, runner).removeEndedLogins()
            checked = pulled
        }
    }
}

/// Shows the progress of a sync with a server.
///
/// A progress bar is shown while there is a backlog. A live sync also prints a line whenever
/// everything is delivered or the sync has to wait.
private final class SyncPrinter: Sendable {
    private let isLive: Bool
    private let lines: LiveLines
    private let meter = ProgressMeter("events")
    private let token: TokenSource
    private let notice = WaitNotice()

    init(isLive: Bool, isJSON: Bool, _ token: TokenSource) {
        self.isLive = isLive
        self.token = token
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
        guard isLive else {
            if let wait = progress.wait {
                notice.announce(wait.reason, wait.message, until: wait.until)
            }
            return
        }
        if progress.isSettled {
            lines.say(
                "up to date: pushed \(progress.pushed), pulled \(progress.pulled)",
                [
                    "state": "upToDate", "pushed": .init(progress.pushed),
                    "pulled": .init(progress.pulled),
                ], repeatsJSON: true)
        } else if let wait = progress.wait {
            // The time of the next attempt does not matter until the token has been replaced.
            let isRefused = wait.reason == .unauthorized
            lines.say(
                waitingFor: wait.reason,
                isRefused ? "\(wait.message); write a valid token to \(token.path)" : wait.message,
                until: isRefused ? 0 : wait.until, repeatsJSON: true)
        }
    }

    func finish() { meter.finish() }
}
