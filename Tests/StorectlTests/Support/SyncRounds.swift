import Foundation
import TapedeckTesting
import Testing

/// # Rounds of work with a network and processes that fail
///
/// Three stores, one server, a `FaultProxy` between them; all processes are real. Each round appends here
/// and there, syncs some stores at the same time, and kills what it likes; some stores have a
/// `sync --watch` beside. The seed decides who does what when, and what the proxy does to connections;
/// how far a process is by then is up to the system.
final class SyncRounds {
    private var random: SeededGenerator
    private let server: ServeProcess
    private let proxy: FaultProxy
    private let stores: [Storectl]
    private var watches: [Int: RunningStorectl] = [:]
    private(set) var history = SyncHistory()
    private let start = Date()
    /// A line for each thing that was done.
    private(set) var trace: [String] = []

    init(_ given: SeededGenerator) throws {
        random = given
        server = try ServeProcess()
        proxy = try FaultProxy(to: server.port, SeededGenerator(seed: given.seed &+ 1))
        stores = try (0..<3).map { _ in try Storectl.empty() }
    }

    deinit { proxy.stop() }

    var summary: String {
        "\(history.acknowledged.count) events; connections: \(proxy.summary)"
    }

    private func say(_ what: String) {
        let milliseconds = Int(Date().timeIntervalSince(start) * 1_000)
        trace.append("\(milliseconds) \(what)")
    }

    private func pause(_ most: Int) { usleep(UInt32(random.below(most)) * 1_000) }

    // MARK: - One round

    func round() throws {
        let percent = [0, 30, 60, 90][random.below(4)]
        say("round: \(percent) % of connections fail")
        proxy.setFaulty(percent: percent)
        for index in stores.indices where random.oneIn(2) { try append(index) }
        try changeWatches()
        var syncs: [(store: Int, process: RunningStorectl)] = []
        for index in stores.indices where !random.oneIn(4) {
            say("store \(index) syncs")
            syncs.append((index, try sync(index)))
        }
        for _ in 0..<2 + random.below(3) {
            pause(500)
            switch random.below(5) {
            case 0, 1: try restartServer()
            case 2 where !syncs.isEmpty:
                let (store, process) = syncs.remove(at: random.below(syncs.count))
                say("store \(store)'s sync is killed")
                try killed(process, store)
            default: try append(random.below(stores.count))
            }
        }
        for (store, process) in syncs {
            if process.ends(withinMilliseconds: 1_500) {
                try check(try process.wait(), store)
            } else {
                say("store \(store)'s sync is killed, because it takes long")
                try killed(process, store)
            }
        }
    }

    private func append(_ index: Int) throws {
        // Mostly a few, sometimes more than fit into one message.
        let count = random.oneIn(8) ? 1_500 : 1 + random.below(40)
        say("store \(index) gets \(count) events")
        try history.append(count, to: stores[index])
    }

    private func sync(_ index: Int, _ arguments: String...) throws -> RunningStorectl {
        try stores[index].start(
            ["sync", proxy.url, "--token-file", server.tokenFile, "--json"] + arguments)
    }

    private func changeWatches() throws {
        let index = random.below(stores.count)
        if let process = watches.removeValue(forKey: index) {
            say("store \(index)'s watch is killed")
            try killed(process, index)
        } else {
            say("store \(index) watches")
            watches[index] = try sync(index, "--watch")
        }
    }

    private func restartServer() throws {
        say("the server is killed")
        try server.kill()
        pause(400)
        try server.start()
        say("the server is back")
    }

    // MARK: - Ends

    private func killed(_ process: RunningStorectl, _ store: Int) throws {
        process.send(SIGKILL)
        let run = try process.wait()
        if run.exit != -SIGKILL { try check(run, store) }
    }

    /// A sync that nobody has killed is done, or could not reach the server.
    private func check(_ run: Storectl.Run, _ store: Int) throws {
        if run.exit == 7 {
            let last = run.stdout.split(separator: "\n").last.map(String.init) ?? ""
            let code = try OrderedJSON(parsing: last)["error"]?["code"]?.text
            #expect(["offline", "unavailable"].contains(code), "store \(store): \(run.stderr)")
        } else {
            #expect(run.exit == 0, "store \(store): \(run.stderr)")
        }
    }

    /// The faults end: everything has to come to rest, and to be there.
    func finish() throws {
        proxy.calm()
        say("all faults are over")
        for (store, process) in watches.sorted(by: { $0.key < $1.key }) {
            process.send(SIGTERM)
            if !process.ends(withinMilliseconds: 5_000) {
                Issue.record("store \(store)'s watch does not end when it is told to")
                process.send(SIGKILL)
            }
            let run = try process.wait()
            #expect([0, -SIGTERM].contains(run.exit), "store \(store): \(run.exit) \(run.stderr)")
        }
        watches = [:]
        try Storectl.settle(stores, server, url: proxy.url)
        try history.check(stores)
        try checkSecrets()
    }

    /// The token is in nothing that any of these processes has printed.
    private func checkSecrets() throws {
        let token = try server.token
        for store in stores { #expect(try !store.printed(token)) }
        try server.kill()
        #expect(!server.diagnostics.contains(token))
    }
}

extension Storectl {
    /// Whether anything that was run in this directory has printed a text.
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
