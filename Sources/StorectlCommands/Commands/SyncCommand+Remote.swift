internal import Foundation
internal import Synchronization
internal import Tapedeck
internal import TapedeckConnectors

extension SyncCommand {
    /// Syncs with the remote whose name is `target`.
    func syncRemote() async throws {
        guard !target.contains(where: { ":/.".contains($0) }) else {
            throw CommandError(
                .usage,
                "\"\(HTTPAddress.shown(target))\" is neither a remote's name nor a server's URL",
                hint: target.contains("@")
                    ? "for a server, give its URL without a user name or password"
                    : "for a server, run \(command(for: "http://\(target)"))")
        }
        guard tokenFile == nil else {
            throw CommandError(
                .usage, "--token-file is for servers, but \(target.prefix(80)) is a remote",
                hint: "to log in to a remote, run storectl login \(ShellWord.quoted(target))")
        }
        let store = try options.openStore()
        defer { store.close() }
        let remotes = StoreRemotes(store)
        if let preview = try prepare(store, remotes) {
            return try report(SyncOutcome(preview), isPreview: true)
        }
        let printer = RemotePrinter(remotes, target, isLive: watch, isJSON: options.json)
        let (name, isLive, refreshesAll) = (target, watch, refresh)
        let syncing = Task {
            try await remotes.sync(name, isLive: isLive, refreshesAll: refreshesAll) {
                printer.update($0)
            }
        }
        let interruption = Interruption.cancelling(syncing)
        defer { interruption.cancel() }
        let done = try await syncing.value
        printer.finish()
        if !watch, Interruption.isRequested {
            throw Interrupted(
                message: "pushed \(Figures.count(done.pushed, "intent")),"
                    + " pulled \(Figures.count(done.pulled, "fact"))")
        }
        try report(SyncOutcome(done), isPreview: false)
    }

    /// Returns this command with another target, in the order of the documented syntax.
    private func command(for target: String) -> String {
        var words = ["storectl", "sync", target]
        if watch { words.append("--watch") }
        if dryRun { words.append("--dry-run") }
        if let tokenFile { words += ["--token-file", tokenFile] }
        if let store = options.store { words += ["--store", store] }
        if options.json { words.append("--json") }
        return words.map { ShellWord.quoted($0) }.joined(separator: " ")
    }

    /// Performs the checks that need no network, and records the chosen lists; with `--dry-run`,
    /// returns a preview of the sync.
    private func prepare(
        _ store: TapedeckStore, _ remotes: StoreRemotes
    ) throws -> RemoteReport? {
        // A store that cannot be synced cannot add a missing remote either.
        try store.log.checkHasNoSamples()
        _ = try remotes.named(target)
        if !list.isEmpty || !unlist.isEmpty {
            try remotes.changeLists(of: target, adding: list, removing: unlist)
        }
        return dryRun ? try remotes.preview(target) : nil
    }
}

extension Interruption {
    /// Cancels the sync when the first signal arrives.
    fileprivate static func cancelling(_ task: Task<RemoteReport, any Error>) -> Task<Void, Never> {
        remember()
        return Task {
            while !Task.isCancelled, !isRequested {
                try? await Task.sleep(for: .milliseconds(50))
            }
            if isRequested { task.cancel() }
        }
    }
}

/// Shows the progress of a sync with a remote.
///
/// The numbers of pulled and pushed items are shown while the sync runs. A live sync also prints a
/// line whenever it has nothing left to do or has to wait.
private final class RemotePrinter: Sendable {
    private let remotes: StoreRemotes
    private let name: String
    private let isLive: Bool
    private let lines: LiveLines
    private let meter = ProgressMeter("steps")
    private let notice = WaitNotice()
    /// The time of the last notice that the remote's rate limit slows down the sync.
    private let paceAnnounced = Mutex<ContinuousClock.Instant?>(nil)

    /// The shortest time between two lines of a live sync that report progress.
    private static let progressInterval = Duration.seconds(5)

    init(_ remotes: StoreRemotes, _ name: String, isLive: Bool, isJSON: Bool) {
        self.remotes = remotes
        self.name = name
        self.isLive = isLive
        lines = LiveLines(isJSON: isJSON)
    }

    func update(_ report: RemoteReport) {
        let (pushed, pulled) = (UInt64(report.pushed), UInt64(report.pulled))
        meter.update("pulled \(pulled), pushed \(pushed)", done: pulled + pushed, total: nil)
        if report.isPaced { announcePace(pushed: pushed, pulled: pulled) }
        guard isLive else {
            if let wait = report.wait {
                notice.announce(wait.reason, wait.message, until: wait.until)
            }
            return
        }
        if let wait = report.wait {
            lines.say(waitingFor: wait.reason, wait.message, until: wait.until)
        } else if report.isSettled {
            settled(report)
        }
    }

    /// Prints a notice if the remote's rate limit slows down the sync; a live sync repeats the
    /// notice with its progress, other syncs print it once.
    private func announcePace(pushed: UInt64, pulled: UInt64) {
        let now = ContinuousClock.now
        let isDue = paceAnnounced.withLock { last in
            if let last, !isLive || now - last < RemotePrinter.progressInterval { return false }
            last = now
            return true
        }
        guard isDue else { return }
        let text = "waiting between pages: throttled: the remote's rate limit"
        guard isLive else { return StandardOutput.diagnose(text) }
        lines.say(
            "pushed \(pushed), pulled \(pulled) so far; \(text)",
            [
                "state": "reading", "reason": "throttled", "pushed": .init(pushed),
                "pulled": .init(pulled),
            ])
    }

    /// Prints a line when there is nothing left to do for now; the outbox determines whether
    /// everything has been delivered.
    private func settled(_ report: RemoteReport) {
        var (undelivered, ended) = (0, 0)
        do {
            try remotes.outbox(of: try remotes.named(name)) { delivery in
                if delivery.isOver { ended += 1 } else { undelivered += 1 }
                return true
            }
        } catch {
            // The sync reads the outbox, too, and reports errors in it.
            return
        }
        let isAllDone = undelivered == 0 && ended == 0
        let counts = "pushed \(report.pushed), pulled \(report.pulled)"
        lines.say(
            isAllDone
                ? "up to date: \(counts)"
                : "\(counts); \(undelivered) not delivered, \(ended) refused or unknown",
            [
                "state": .text(isAllDone ? "upToDate" : "behind"), "pushed": .init(report.pushed),
                "pulled": .init(report.pulled), "undelivered": .init(undelivered),
                "ended": .init(ended),
            ])
    }

    func finish() { meter.finish() }
}
