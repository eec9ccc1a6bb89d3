import Foundation
import Testing

/// Following lists.
struct WatchTests {
    @Test(arguments: [SIGINT, SIGTERM])
    func changesOfOtherProcessesAreToldAsTheyHappen(_ signal: Int32) throws {
        let storectl = try Storectl.demo()
        let before =
            try OrderedJSON(
                parsing: storectl.succeed("query", "list", "timeline", "--json").stdout)["videos"]?
            .list ?? []
        let watcher = try storectl.start(["watch", "list", "timeline", "--json"])
        #expect(try watcher.waitForOutput("\"at\":\(before.count - 1)"))
        try storectl.succeed(
            "append", "BroadcastReceived",
            #"{"broadcast":"w1","video":"youtube:watched","title":"W","createdAt":"2030-01-01T00:00:00Z"}"#
        )
        #expect(try watcher.waitForOutput("youtube:watched"))
        try storectl.succeed(
            "append", "WatchLaterToggled", #"{"video":"youtube:watched","isOn":true}"#)
        #expect(try watcher.waitForOutput("\"change\":\"updated\""))
        watcher.send(signal)
        let run = try watcher.wait()
        #expect(run.exit == 0)
        #expect(run.stderr.isEmpty)
        let lines = try run.stdout.split(separator: "\n").map {
            try OrderedJSON(parsing: String($0))
        }
        #expect(lines[0]["changes"]?.list?.count == before.count)
        let inserted = lines[1]["changes"]?.list?.first
        #expect(inserted?["change"]?.text == "inserted" && inserted?["at"]?.number == 0)
        let updated = lines[2]["changes"]?.list?.first
        #expect(updated?["entry"]?["watchLater"] == .bool(true))
    }

    @Test func textTellsEachChangeOnALine() throws {
        let storectl = try Storectl.demo()
        let watcher = try storectl.start(["watch", "list", "watch-later", "--limit", "5"])
        #expect(try watcher.waitForOutput("+\t0\t"))
        watcher.send(SIGINT)
        #expect(try watcher.wait().exit == 0)
    }

    @Test func aGroupThatIsNoneIsUsage() throws {
        let run = try Storectl.demo().run(["watch", "list", "nonsense"])
        #expect(run.exit == 64)
        #expect(run.stderr.contains("watch-later"))
    }
}
