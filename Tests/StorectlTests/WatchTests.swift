import Foundation
import TestSupport
import Testing

/// `storectl watch` prints the changes to lists.
@Suite(.offTasks) struct WatchTests {
    @Test(arguments: [SIGINT, SIGTERM])
    func changesMadeByOtherProcessesArePrintedAtOnce(_ signal: Int32) throws {
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

    @Test func textHasOneLinePerChange() throws {
        let storectl = try Storectl.demo()
        let watcher = try storectl.start(["watch", "list", "watch-later", "--limit", "5"])
        #expect(try watcher.waitForOutput("+\t0\t"))
        watcher.send(SIGINT)
        #expect(try watcher.wait().exit == 0)
    }

    @Test func offlineRemotesAreReported() throws {
        let storectl = try Storectl.empty()
        for number in 1...3 {
            try storectl.append(
                "BroadcastReceived", #"{"broadcast":"b\#(number)","video":"vimeo:\#(number)"}"#)
        }
        try storectl.succeed("remote", "add", "home", "shelby", "http://127.0.0.1:1")
        try storectl.succeed("network", "offline")
        let watcher = try storectl.start(["watch", "list", "timeline", "--json"])
        #expect(try watcher.waitForOutput("\"remote\":\"home\""))
        try storectl.succeed("network", "online")
        #expect(try watcher.waitForOutput("\"failures\":[]"))
        watcher.send(SIGINT)
        let lines = try watcher.wait().stdout.split(separator: "\n").map {
            try OrderedJSON(parsing: String($0))
        }
        #expect(lines.count == 2 && lines[0]["changes"]?.list?.count == 3)
        let state = try #require(lines[0]["state"])
        let shape = try Contract.read().liveState
        #expect(shape.differences(from: state) == [] && shape.emptyLists(in: state) == [])
        #expect(state["failures"]?[0]?["code"]?.text == "offline")
        #expect(lines[1]["changes"]?.list == [])

        try storectl.succeed("network", "offline")
        let text = try storectl.succeed("watch", "list", "timeline", "--updates", "1").stdout
        #expect(text.hasPrefix("~\tfailed\toffline\thome\t") && text.contains("\n+\t0\t"))
        // The queue does not depend on any remote.
        let queue = try storectl.succeed("watch", "queue", "--updates", "1", "--json").document
        #expect(queue["state"]?["failures"]?.list == [])
    }

    @Test func newSearchHitsArePrinted() throws {
        let storectl = try Storectl.demo()
        let watcher = try storectl.start(["watch", "search", "zeppelin", "--json"])
        #expect(try watcher.waitForOutput("\"changes\":[]"))
        try storectl.succeed(
            "append", "BroadcastReceived",
            #"{"broadcast":"w1","video":"youtube:w","title":"A Zeppelin","createdAt":"2030-01-01T00:00:00Z"}"#
        )
        #expect(try watcher.waitForOutput("youtube:w"))
        watcher.send(SIGINT)
        let last = try #require(try watcher.wait().stdout.split(separator: "\n").last)
        let found = try OrderedJSON(parsing: String(last))["changes"]?[0]
        #expect(found?["change"]?.text == "inserted")
        #expect(found?["entry"]?["texts"]?[0]?["text"]?.text == "A Zeppelin")
        // A part of a list, selected by `--from` and `--newest`, can also be watched.
        let part = ["watch", "list", "timeline", "--from", "1", "--newest", "3", "--updates", "1"]
        let cut = try storectl.run(part + ["--json"]).document["changes"]?.list ?? []
        let whole = try storectl.succeed("query", "list", "timeline", "--json").document["videos"]
        #expect(cut.first?["entry"] == whole?[1])
    }

    @Test func buildingTablesIsReportedBeforeTheList() throws {
        let storectl = try Storectl.empty()
        let later = Samples.line("WatchLaterToggled", Samples.later)
        try storectl.succeed(
            "append", "--file", "-", input: String(repeating: later, count: 10_000))
        let arguments = ["watch", "list", "watch-later", "--updates", "1"]
        let run = try storectl.run(arguments + ["--json"])
        let lines = try run.stdout.split(separator: "\n").map {
            try OrderedJSON(parsing: String($0))
        }
        let loading = try #require(lines.first?["state"]?["loading"])
        #expect(loading["phase"]?.text == "scan" && loading["done"]?.number == 0)
        #expect(loading["total"]?.number == 10_000)
        #expect(lines.dropLast().allSatisfy { $0["changes"]?.list == [] })
        #expect(lines.last?["changes"]?.list?.count == 1)
        #expect(lines.last?["state"]?["loading"] == .null)
        // The tables exist now.
        #expect(try storectl.run(arguments).stdout.hasPrefix("+\t0\t"))
    }

    @Test func unknownGroupsAreUsageErrors() throws {
        let run = try Storectl.demo().run(["watch", "list", "nonsense"])
        #expect(run.exit == 64)
        #expect(run.stderr.contains("watch-later"))
    }
}
