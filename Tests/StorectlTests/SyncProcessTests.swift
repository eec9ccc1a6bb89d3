import Foundation
import TapedeckTesting
import TestSupport
import Testing

/// Sync with real processes: stores, a server, a remote, and a network that fails between them.
///
/// - `TAPEDECK_SEED=N` repeats the plan of a run.
/// - `TAPEDECK_SYNC_ROUNDS=N` runs N rounds of `SyncRounds` instead of 3.
/// - `TAPEDECK_SYNC_TRACE=1` prints all actions with their times.
/// - `TAPEDECK_WATCH_PAUSE=N` pauses a watch for N seconds instead of 3.
@Suite(.serialized, .offTasks) struct SyncProcessTests {
    private static func number(_ name: String, _ usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
    }

    @Test func acknowledgedEventsArriveEverywhereOnceDespiteFaults() throws {
        let random = SeededGenerator.fromEnvironment()
        let count = SyncProcessTests.number("TAPEDECK_SYNC_ROUNDS", 3)
        let rounds = try SyncRounds(random)
        do {
            for _ in 0..<count { try rounds.round() }
            try rounds.finish()
        } catch {
            Issue.record("\(error)\n\(rounds.trace.joined(separator: "\n"))")
        }
        if ProcessInfo.processInfo.environment["TAPEDECK_SYNC_TRACE"] != nil {
            print(rounds.trace.joined(separator: "\n"))
        }
        print("sync processes: \(random); \(count) rounds, \(try rounds.summary)")
    }

    @Test func watchSurvivesAPauseAndARestartOfTheServer() throws {
        let server = try ServeProcess()
        let (watching, writing) = (try Storectl.empty(), try Storectl.empty())
        var history = SyncHistory()
        try history.append(to: watching)
        let watch = try watching.start([
            "sync", server.url, "--token-file", server.tokenFile, "--watch", "--json",
        ])
        #expect(try watch.waitForOutput("upToDate"))

        watch.send(SIGSTOP)
        try server.kill()
        try server.start()
        sleep(UInt32(SyncProcessTests.number("TAPEDECK_WATCH_PAUSE", 3)))
        watch.send(SIGCONT)
        let text = try history.append(to: writing)[0]
        #expect(try writing.sync(server.url, server).exit == 0)
        try eventuallyBlocking("the event of the other device") {
            try SyncHistory.lines(watching).contains { $0.content == text }
        }
        #expect(watch.isRunning)

        // The watch also notices new events in its own store and pushes them.
        try history.append(to: watching)
        try eventuallyBlocking("the event of the watch") {
            try writing.sync(server.url, server).document["pulled"]?.number == 1
        }
        watch.send(SIGTERM)
        let run = try watch.wait()
        #expect(run.exit == 0, "\(run.stderr)")
        try Storectl.settle([watching, writing], server)
        try history.check([watching, writing])
    }

    /// A watch with an invalid token continues when the user replaces the token.
    @Test func watchUsesATokenReplacedWhileItRuns() throws {
        let server = try ServeProcess()
        let store = try Storectl.empty()
        var history = SyncHistory()
        try history.append(to: store)
        let token = try store.file("token", String(try server.token.reversed()).utf8)
        let watch = try store.start([
            "sync", server.url, "--token-file", token, "--watch", "--json",
        ])
        #expect(try watch.waitForOutput("unauthorized"))
        _ = try store.file("token", try server.token.utf8)
        #expect(try watch.waitForOutput("upToDate"))
        watch.send(SIGTERM)
        #expect(try watch.wait().exit == 0)
        try Storectl.settle([store], server)
        try history.check([store])
    }

    @Test func watchDoesNotRepeatAnUnchangedStatus() throws {
        let server = try ServeProcess()
        let (watching, writing) = (try Storectl.empty(), try Storectl.empty())
        var history = SyncHistory()
        let watch = try watching.start([
            "sync", server.url, "--token-file", server.tokenFile, "--watch",
        ])
        for count in 1...3 {
            try history.append(to: watching)
            #expect(try watch.waitForOutput("up to date: pushed \(count), pulled \(count - 1)\n"))
            try history.append(to: writing)
            #expect(try writing.sync(server.url, server).exit == 0)
            #expect(try watch.waitForOutput("up to date: pushed \(count), pulled \(count)\n"))
        }
        watch.send(SIGTERM)
        let lines = try watch.wait().stdout.split(separator: "\n")
        #expect(zip(lines, lines.dropFirst()).allSatisfy { $0 != $1 }, "\(lines)")
        try Storectl.settle([watching, writing], server)
        try history.check([watching, writing])
    }

    /// Each sync receives events that another sync of the same store has just recorded.
    @Test func concurrentSyncsOfOneStoreAgree() throws {
        let server = try ServeProcess()
        var history = SyncHistory()
        let sources = try (0..<4).map { _ in try Storectl.empty() }
        for source in sources {
            try history.append(200, to: source)
            #expect(try source.sync(server.url, server).exit == 0)
        }
        let store = try Storectl.empty()
        let syncs = try (0..<4).map { _ in
            try store.start([
                "sync", server.url, "--token-file", server.tokenFile, "--json",
            ])
        }
        for sync in syncs {
            let run = try sync.wait()
            #expect(run.exit == 0, "\(run.stderr)")
        }
        try Storectl.settle(sources + [store], server)
        try history.check([store])
    }

    /// A signal ends a sync even if the server never responds to its request.
    @Test(arguments: [SIGINT, SIGTERM])
    func signalsEndAHangingSync(_ signal: Int32) throws {
        let server = try ServeProcess()
        let store = try Storectl.empty()
        var history = SyncHistory()
        try history.append(3, to: store)
        let (listener, port) = try LocalSocket.listening()
        defer { close(listener) }
        for arguments in [["--json"], ["--watch", "--json"]] {
            let process = try store.start(
                ["sync", "http://127.0.0.1:\(port)", "--token-file", server.tokenFile] + arguments)
            try eventuallyBlocking("a request") {
                LocalSocket.isReadable(listener, milliseconds: 100)
            }
            process.send(signal)
            _ = try process.wait()
        }
        try Storectl.settle([store], server)
        try history.check([store])
    }
}
