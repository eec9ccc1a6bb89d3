import Foundation
import TapedeckTesting
import Testing

/// Rounds of syncs in which the network and the processes fail.
///
///     three stores ──▶ FaultProxy ──▶ server
///          └─────────▶ FaultProxy ──▶ remote (Shelby's simulator, with a journal)
///
/// The server, the remote and each sync are processes. Each round appends events for the other
/// stores and intents for the remote, syncs some stores with the server and the remote at the same
/// time, and kills some processes; some stores also run `sync --watch`. The seed determines the
/// actions and the plans of the proxies. The operating system determines how far each process gets
/// before the next action.
///
/// At the end, all stores must reach the same state by themselves; `SyncHistory` and
/// `RemoteHistory` check the result.
final class SyncRounds {
    /// The other side of a sync.
    enum Target: String, CaseIterable {
        case server, remote
    }

    /// A running `storectl sync`.
    private struct Sync {
        let store: Int
        let target: Target
        let process: RunningStorectl

        var name: String { "store \(store)'s sync with the \(target)" }
    }

    private var random: SeededGenerator
    let server: ServeProcess
    let remote: ShelbyProcess
    let stores: [Storectl]
    private let proxies: (server: FaultProxy, remote: FaultProxy)
    private var watches: [Sync] = []
    private var syncs: [Sync] = []
    private(set) var history = SyncHistory()
    private var wanted: RemoteHistory
    private var kills: [String: Int] = [:]
    /// One line for each action, with its time in Unix milliseconds.
    private(set) var trace: [String] = []

    init(_ given: SeededGenerator) throws {
        random = given
        server = try ServeProcess()
        remote = try ShelbyProcess(seed: Int(given.seed % 1_000))
        proxies = (
            try FaultProxy(to: server.port, SeededGenerator(seed: given.seed &+ 1)),
            try FaultProxy(to: remote.port, SeededGenerator(seed: given.seed &+ 2))
        )
        stores = try (0..<3).map { _ in try Storectl.empty() }
        // One store adds the remote, and the other stores receive it by syncing; each store logs in
        // separately.
        try stores[0].succeed("remote", "add", "home", "shelby", proxies.remote.url)
        try Storectl.settle(stores, server)
        for store in stores {
            try store.succeed("login", "home", "--token-file", remote.tokenFile)
            try store.succeed("sync", "home")
        }
        wanted = RemoteHistory(videos: try stores[0].videos().map(\.key).sorted())
        try Storectl.settle(stores, server)
    }

    deinit {
        proxies.server.stop()
        proxies.remote.stop()
    }

    var summary: String {
        get throws {
            let killed = kills.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            return """
                \(history.acknowledged.count) events, \(try wanted.summary(remote)); \
                killed: \(killed.joined(separator: ", ")); \
                connections to the server: \(proxies.server.summary); \
                to the remote: \(proxies.remote.summary)
                """
        }
    }

    private func note(_ what: String) {
        let milliseconds = Int(Date().timeIntervalSince1970 * 1_000)
        trace.append("\(milliseconds) \(what)")
    }

    private func pause(_ most: Int) { usleep(UInt32(random.below(most)) * 1_000) }

    // MARK: - One round

    func round() throws {
        for (name, proxy) in [("server", proxies.server), ("remote", proxies.remote)] {
            let percent = [0, 30, 60, 90][random.below(4)]
            note("round: \(percent) % of connections to the \(name) fail")
            proxy.setFaulty(percent: percent)
        }
        for index in stores.indices where random.oneIn(2) { try append(index) }
        for index in stores.indices where random.oneIn(2) { try want(index) }
        try changeWatches()
        for index in stores.indices {
            for target in Target.allCases where !random.oneIn(3) { try begin(index, target) }
        }
        for _ in 0..<2 + random.below(4) {
            pause(500)
            switch random.below(7) {
            case 0: try restart(.server)
            case 1: try restart(.remote)
            case 2, 3: try killSync()
            case 4: try append(random.below(stores.count))
            default: try want(random.below(stores.count))
            }
        }
        let end = Date(timeIntervalSinceNow: 1.5)
        for sync in syncs {
            let rest = max(0, Int(end.timeIntervalSinceNow * 1_000))
            if sync.process.ends(withinMilliseconds: rest) {
                try check(try sync.process.wait(), sync)
            } else {
                note("\(sync.name) is killed because it takes too long")
                try kill(sync)
            }
        }
        syncs = []
    }

    private func append(_ index: Int) throws {
        // Usually append a few events, but sometimes enough for the network to fail while they are
        // sent.
        let count = random.oneIn(12) ? 700 : 1 + random.below(40)
        note("store \(index) gets \(count) events")
        try history.append(count, to: stores[index])
    }

    private func want(_ index: Int) throws {
        let isSyncing = (syncs + watches).contains { $0.store == index && $0.target == .remote }
        let device = RemoteHistory.Device(store: stores[index], isSyncing: isSyncing)
        let intents = try wanted.want(on: device, &random)
        for intent in intents { note("store \(index) records the intent \(intent)") }
    }

    private func start(_ index: Int, _ target: Target, _ arguments: String...) throws -> Sync {
        let what =
            switch target {
            case .server: [proxies.server.url, "--token-file", server.tokenFile]
            case .remote: ["home"]
            }
        let process = try stores[index].start(["sync"] + what + ["--json"] + arguments)
        return Sync(store: index, target: target, process: process)
    }

    private func begin(_ index: Int, _ target: Target) throws {
        // Only one process of a store may sync with a remote at a time.
        let isTaken = watches.contains { $0.store == index && $0.target == .remote }
        guard target == .server || !isTaken else { return }
        note("store \(index) syncs with the \(target)")
        syncs.append(try start(index, target))
    }

    private func changeWatches() throws {
        let index = random.below(stores.count)
        let target = random.oneIn(3) ? Target.remote : .server
        if let place = watches.firstIndex(where: { $0.store == index && $0.target == target }) {
            let watch = watches.remove(at: place)
            note("\(watch.name), a watch, is killed")
            try kill(watch)
        } else {
            note("store \(index) watches the \(target)")
            watches.append(try start(index, target, "--watch"))
        }
    }

    // MARK: - Kills

    private func killSync() throws {
        guard !syncs.isEmpty else { return }
        let sync = syncs.remove(at: random.below(syncs.count))
        note("\(sync.name) is killed")
        try kill(sync)
    }

    private func kill(_ sync: Sync) throws {
        sync.process.send(SIGKILL)
        let run = try sync.process.wait()
        guard run.exit == -SIGKILL else { return try check(run, sync) }
        kills["syncs with the \(sync.target)", default: 0] += 1
    }

    private func restart(_ target: Target) throws {
        note("the \(target) is killed")
        switch target {
        case .server: try server.kill()
        case .remote: try remote.kill()
        }
        kills[target.rawValue, default: 0] += 1
        pause(400)
        switch target {
        case .server: try server.start()
        case .remote: try remote.start()
        }
        note("the \(target) runs again")
    }

    // MARK: - The end

    /// Checks that a sync succeeded or could not reach the other side; the sync must not have been
    /// killed.
    private func check(_ run: Storectl.Run, _ sync: Sync) throws {
        let last = run.stdout.split(separator: "\n").last.map(String.init) ?? ""
        switch run.exit {
        case 0: break
        case 2 where sync.target == .remote:
            let report = try OrderedJSON(parsing: last)
            #expect(report["refused"]?.list == [], "\(sync.name): \(run.stdout)")
            #expect(report["unreadable"]?.list == [], "\(sync.name): \(run.stdout)")
        case 7:
            let code = try OrderedJSON(parsing: last)["error"]?["code"]?.text
            #expect(["offline", "unavailable"].contains(code), "\(sync.name): \(run.stderr)")
        default: Issue.record("\(sync.name): \(run.exit) \(run.stderr)")
        }
    }

    /// Ends the faults and checks that the stores reach the same state and nothing is lost.
    func finish() throws {
        proxies.server.calm()
        proxies.remote.calm()
        note("all faults have ended")
        for watch in watches { try end(watch) }
        watches = []
        try settle()
        try history.check(stores)
        try wanted.check(remote, stores)
        try checkSecrets()
    }

    private func end(_ watch: Sync) throws {
        watch.process.send(SIGTERM)
        let run = try watch.process.wait()
        if run.exit != -SIGTERM { try check(run, watch) }
    }

    /// Syncs with the server and the remote until nothing changes.
    private func settle() throws {
        for _ in 0..<12 {
            try Storectl.settle(stores, server, url: proxies.server.url)
            var isQuiet = true
            let syncs = try stores.indices.map { try start($0, .remote) }
            for sync in syncs {
                let run = try sync.process.wait()
                #expect([0, 2].contains(run.exit), "\(sync.name): \(run.stdout)\(run.stderr)")
                try check(run, sync)
                let report = try run.document
                let reasons = (report["waiting"]?.list ?? []).map { $0["reason"]?.text ?? "" }
                note("store \(sync.store) has waiting intents: \(reasons)")
                if report["pushed"]?.number != 0 || report["pulled"]?.number != 0
                    || !reasons.allSatisfy({ $0 == "unknownOutcome" })
                {
                    isQuiet = false
                }
            }
            if isQuiet { return try Storectl.settle(stores, server, url: proxies.server.url) }
        }
        Issue.record("the stores and the remote do not settle")
    }

    /// Checks that no process has printed a token.
    private func checkSecrets() throws {
        let tokens = [try server.token] + remote.secrets
        for store in stores {
            for token in tokens { #expect(try !store.printed(token)) }
        }
        try server.kill()
        #expect(!server.diagnostics.contains(tokens[0]))
    }
}

extension Storectl {
    /// Returns whether any run in this directory has printed a string.
    func printed(_ text: String) throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
            .filter { $0.hasSuffix(".out") || $0.hasSuffix(".err") }
            .contains { name in
                let path = directory.path + "/" + name
                let data = FileManager.default.contents(atPath: path) ?? Data()
                return String(decoding: data, as: UTF8.self).contains(text)
            }
    }
}
