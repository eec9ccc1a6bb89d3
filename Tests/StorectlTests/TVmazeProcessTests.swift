import Foundation
import TestSupport
import Testing

/// `storectl` with a simulated TVmaze, each in its own process.
@Suite(.offTasks) struct TVmazeProcessTests {
    private final class Maze {
        let url: String
        private let storectl: Storectl
        private let process: RunningStorectl

        init() throws {
            storectl = try Storectl()
            process = try storectl.start(["simulate", "tvmaze", "--seed", "7", "--json"])
            _ = try process.waitForOutput("\n")
            url = try #require(OrderedJSON(parsing: try process.stdoutSoFar)["url"]?.text)
        }
    }

    private func connected(_ maze: Maze, _ schedules: String...) throws -> Storectl {
        let store = try Storectl.empty()
        let options = schedules.flatMap { ["--schedule", $0] }
        let added = try store.run(["remote", "add", "tv", "tvmaze", maze.url] + options)
        #expect(added.exit == 0, "\(added.stderr)")
        return store
    }

    private func state(_ store: Storectl) throws -> OrderedJSON? {
        try store.run("remote", "list", "--json").document["remotes"]?[0]
    }

    @Test func schedulesAreReadOnceAndThenFresh() throws {
        let maze = try Maze()
        let store = try Storectl.empty()
        let added = try store.succeed("remote", "add", "tv", "tvmaze", maze.url, "--json")
        #expect(try Contract.read()["remote add"]?.shape?.differences(from: added.document) == [])
        #expect(try added.document["schedules"]?.list == [.text("US")])
        #expect(try state(store)?["state"]?.text == "never")
        let first = try store.succeed("sync", "tv", "--json")
        #expect(try Contract.read()["sync"]?.shape?.differences(from: first.document) == [])
        #expect(try first.document["pulled"]?.number ?? 0 > 30)
        #expect(try first.document["fresh"]?.number == 0)
        #expect(try first.document["unread"]?.number == 0)
        #expect(try state(store)?["state"]?.text == "upToDate")
        #expect(try state(store)?["loggedIn"] == .bool(false))
        let schedule = try store.run("query", "schedule", "--json").document["days"]?.list ?? []
        let episodes = schedule.flatMap { $0["episodes"]?.list ?? [] }
        #expect(episodes.count > 10)
        let show = try #require(episodes.first?["showId"]?.number)
        #expect(try store.run("query", "show", "\(Int(show))", "--json").document["name"] != nil)

        let again = try store.succeed("sync", "tv", "--json")
        #expect(try again.document["fresh"]?.number == 7)
        #expect(try again.document["freshUntil"]?.text?.hasSuffix("Z") == true)
        #expect(try again.document["pulled"]?.number == 0)
        let said = try store.succeed("sync", "tv").stdout
        #expect(said.contains("skipped 7 fresh pages") && said.contains("--refresh"))
        let refreshed = try store.succeed("sync", "tv", "--refresh", "--json")
        #expect(try refreshed.document["fresh"]?.number == 0)
        #expect(try refreshed.document["pulled"]?.number == 7, "expected the lists of seven days")
    }

    @Test func usersChooseTheSchedules() throws {
        let maze = try Maze()
        let store = try connected(maze, "GB", "web", "web-de")
        #expect(try state(store)?["schedules"]?.list == ["GB", "web", "web-DE"].map { .text($0) })
        try store.succeed("sync", "tv")
        func count(_ arguments: String...) throws -> Int {
            let days = try store.run(["query", "schedule", "--json"] + arguments).document["days"]
            return (days?.list ?? []).reduce(0) { $0 + ($1["episodes"]?.list?.count ?? 0) }
        }
        #expect(try count("--country", "GB") > 0 && count("--web") > 0 && count() == 0)
        // The chosen schedules are recorded in the log, and adding a remote with the same name
        // replaces them.
        let added = try store.succeed("log", "--type", "RemoteAdded", "--json").document
        #expect(added["payload"]?["parts"]?.list == ["GB", "web", "web-DE"].map { .text($0) })
        try store.succeed("remote", "add", "tv", "tvmaze", maze.url, "--schedule", "US")
        #expect(try store.succeed("remote", "list").stdout.contains("US"))
        try store.succeed("sync", "tv")
        #expect(try count() > 0)
    }

    @Test func mistakesFailWithAnExplanation() throws {
        let store = try Storectl.empty()
        let url = "http://127.0.0.1:1"
        try store.checkFails(
            "remote", "add", "tv", "tvmaze", url, "--schedule", "UK", code: "usage", exit: 64,
            says: "\"UK\" is not a TVmaze schedule")
        try store.checkFails(
            "remote", "add", "home", "shelby", url, "--schedule", "US", code: "usage", exit: 64,
            says: "shelby has no schedules")
        try store.succeed("remote", "add", "tv", "tvmaze", url)
        try store.checkFails(
            "login", "tv", code: "usage", exit: 64, says: "has no logins")
        try store.checkFails(
            "login", "tv", "--user", "ada", code: "usage", exit: 64, says: "has no logins")
        let server = try store.run("sync", "http://127.0.0.1:1", "--refresh")
        #expect(server.exit == 64 && server.stderr.contains("--refresh is for remotes"))
        // An unreachable TVmaze is reported as offline, without asking for a login.
        let run = try store.run("sync", "tv", "--json")
        #expect(run.exit == 7, "\(run.stderr)")
        #expect(try run.document["error"]?["code"]?.text == "offline")
        #expect(try state(store)?["state"]?.text == "waiting")
        #expect(try store.run("status").exit == 0)
        #expect(try store.run("doctor").exit == 0)
    }

    /// After several killed syncs, the next sync reads the remaining pages, and fresh pages are not
    /// requested again.
    @Test func killedSyncsResume() throws {
        let maze = try Maze()
        let store = try connected(maze, "US", "GB")
        for _ in 0..<4 {
            let sync = try store.start(["sync", "tv"])
            usleep(300_000)
            sync.send(SIGKILL)
            _ = try sync.wait()
        }
        let run = try store.succeed("sync", "tv", "--json")
        #expect(try run.document["unread"]?.number == 0)
        #expect(try store.run("verify").exit == 0)
        #expect(try store.succeed("sync", "tv", "--json").document["fresh"]?.number == 14)
    }

    @Test func watchReportsThatItIsUpToDate() throws {
        let maze = try Maze()
        let store = try connected(maze)
        let watch = try store.start(["sync", "tv", "--watch", "--json"])
        #expect(try watch.waitForOutput("upToDate"))
        try store.checkFails("sync", "tv", code: "busy", exit: 5)
        watch.send(SIGTERM)
        #expect(try watch.wait().exit == 0)
    }
}
