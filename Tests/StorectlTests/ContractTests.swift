import Foundation
import TestSupport
import Testing

/// Every command prints its report as described in `schema/cli.md`.
@Suite(.offTasks) struct ContractTests {
    /// A command line whose report contains no empty lists, except those named by `mayBeEmpty`.
    struct Case: CustomTestStringConvertible, Sendable {
        let command: String
        let arguments: [String]
        var exit: Int32 = 0
        /// Lists that are empty for an intact store.
        var mayBeEmpty: [String] = []
        var testDescription: String { command }
    }

    static let cases: [Case] = [
        Case(command: "init", arguments: ["init", "--demo", "--store", "OTHER"]),
        Case(
            command: "ingest",
            arguments: ["ingest", "tvmaze/schedule", "SCHEDULE", "BAD"], exit: 2),
        Case(command: "append", arguments: ["append", "--file", "LINES"], exit: 2),
        Case(command: "blob add", arguments: ["blob", "add", "LINES"]),
        Case(
            command: "image keep",
            arguments: ["image", "keep", "https://example.org/a.png", "LINES"]),
        Case(command: "image list", arguments: ["image", "list"]),
        Case(command: "image evict", arguments: ["image", "evict", "--budget", "0"]),
        Case(command: "network", arguments: ["network", "metered"]),
        Case(command: "log", arguments: ["log", "--limit", "1"]),
        Case(
            command: "show", arguments: ["show", "1"], mayBeEmpty: ["$.receipts"]),
        Case(command: "query videos", arguments: ["query", "videos"]),
        Case(command: "query news", arguments: ["query", "news", "--since", "0"]),
        Case(command: "query duplicates", arguments: ["query", "duplicates"]),
        Case(command: "query watch-later", arguments: ["query", "watch-later"]),
        Case(
            command: "query comments",
            arguments: ["query", "comments", "https://www.youtube.com/watch?v=aqz-KE-bpKQ"]),
        Case(command: "query answers", arguments: ["query", "answers"]),
        Case(command: "query questions", arguments: ["query", "questions", "--mine"]),
        Case(command: "query likers", arguments: ["query", "likers", "9"]),
        Case(command: "query users", arguments: ["query", "users", "ADA"]),
        Case(command: "query search", arguments: ["query", "search", "bunny"]),
        Case(command: "query user", arguments: ["query", "user"]),
        Case(
            command: "query follows",
            arguments: ["query", "follows", "7", "--direction", "following"]),
        Case(command: "query show", arguments: ["query", "show", "7"]),
        Case(
            command: "query schedule", arguments: ["query", "schedule", "--week", "2019-07-09"]),
        Case(command: "query list", arguments: ["query", "list", "timeline"]),
        Case(command: "query lists", arguments: ["query", "lists"]),
        Case(command: "watch lists", arguments: ["watch", "lists", "--updates", "1"]),
        Case(
            command: "watch list", arguments: ["watch", "list", "timeline", "--updates", "1"]),
        Case(command: "watch queue", arguments: ["watch", "queue", "--updates", "1"]),
        Case(command: "watch playback", arguments: ["watch", "playback", "--updates", "1"]),
        Case(command: "watch submissions", arguments: ["watch", "submissions", "--updates", "1"]),
        Case(
            command: "watch comments",
            arguments: ["watch", "comments", "youtube:aqz-KE-bpKQ", "--updates", "1"]),
        Case(
            command: "watch chat",
            arguments: ["watch", "chat", "youtube:aqz-KE-bpKQ", "--updates", "1"]),
        Case(command: "watch answers", arguments: ["watch", "answers", "--updates", "1"]),
        Case(command: "watch questions", arguments: ["watch", "questions", "--updates", "1"]),
        Case(command: "watch users", arguments: ["watch", "users", "--updates", "1"]),
        Case(
            command: "watch follows",
            arguments: ["watch", "follows", "7", "--direction", "following", "--updates", "1"]),
        Case(command: "watch likers", arguments: ["watch", "likers", "9", "--updates", "1"]),
        Case(command: "watch videos", arguments: ["watch", "videos", "--updates", "1"]),
        Case(command: "watch duplicates", arguments: ["watch", "duplicates", "--updates", "1"]),
        Case(command: "watch watch-later", arguments: ["watch", "watch-later", "--updates", "1"]),
        Case(command: "watch shares", arguments: ["watch", "shares", "--updates", "1"]),
        Case(command: "watch recipients", arguments: ["watch", "recipients", "--updates", "1"]),
        Case(command: "watch accounts", arguments: ["watch", "accounts", "--updates", "1"]),
        Case(command: "watch playability", arguments: ["watch", "playability", "--updates", "1"]),
        // The sample data contains no failed extraction.
        Case(
            command: "watch extractions", arguments: ["watch", "extractions", "--updates", "1"],
            mayBeEmpty: ["$.changes"]),
        Case(command: "watch now-playing", arguments: ["watch", "now-playing", "--updates", "1"]),
        Case(command: "watch downloads", arguments: ["watch", "downloads", "--updates", "1"]),
        Case(
            command: "watch schedule",
            arguments: ["watch", "schedule", "--week", "2019-07-09", "--updates", "1"]),
        Case(command: "watch search", arguments: ["watch", "search", "bunny", "--updates", "1"]),
        // No programme in the sample data airs today.
        Case(
            command: "watch on-now", arguments: ["watch", "on-now", "--updates", "1"],
            mayBeEmpty: ["$.changes"]),
        Case(
            command: "watch ending-soon", arguments: ["watch", "ending-soon", "--updates", "1"],
            mayBeEmpty: ["$.changes"]),
        Case(command: "query shares", arguments: ["query", "shares"]),
        Case(command: "query recipients", arguments: ["query", "recipients"]),
        Case(
            command: "query share-text",
            arguments: ["query", "share-text", "youtube:aqz-KE-bpKQ", "--to", "twitter"]),
        Case(command: "query video", arguments: ["query", "video", "youtube:aqz-KE-bpKQ"]),
        Case(command: "query statistics", arguments: ["query", "statistics"]),
        Case(
            command: "query on-now",
            arguments: ["query", "on-now", "--now", "2019-07-12T00:30:00Z"]),
        Case(
            command: "query ending-soon",
            arguments: ["query", "ending-soon", "--now", "2019-07-12T00:50:00Z"]),
        Case(
            command: "query schedule-changes",
            arguments: ["query", "schedule-changes", "--after", "CHANGED"]),
        Case(command: "query submissions", arguments: ["query", "submissions"]),
        Case(
            command: "query chat", arguments: ["query", "chat", "youtube:aqz-KE-bpKQ", "--guest"]),
        Case(command: "query accounts", arguments: ["query", "accounts"]),
        Case(command: "query playability", arguments: ["query", "playability"]),
        Case(command: "query extractions", arguments: ["query", "extractions", "vimeo:1084537"]),
        Case(
            command: "query extraction-plan",
            arguments: [
                "query", "extraction-plan", "vimeo:1084537", "vimeo:4", "vimeo:2", "--running",
                "vimeo:3", "--since", "2012-05-03T20:10:00Z", "--now", "2012-05-03T20:10:01Z",
                "--kind", "tablet",
            ]),
        Case(command: "query playback", arguments: ["query", "playback", "youtube:aqz-KE-bpKQ"]),
        Case(command: "query now-playing", arguments: ["query", "now-playing"]),
        Case(command: "query queue", arguments: ["query", "queue"]),
        Case(
            command: "query downloads",
            arguments: ["query", "downloads", "--budget", "10", "--current", "vimeo:7"]),
        Case(
            command: "replay", arguments: ["replay", "--verify"],
            mayBeEmpty: ["$.frozen", "$.differences"]),
        // A demo store never syncs; SyncContractTests covers a store that syncs.
        Case(command: "status", arguments: ["status"], mayBeEmpty: ["$.sync", "$.remotes"]),
        Case(command: "verify", arguments: ["verify"], mayBeEmpty: ["$.problems"]),
        Case(command: "doctor", arguments: ["doctor", "--prune", "--rebuild-index"]),
        Case(command: "export", arguments: ["export", "FILE"]),
        Case(command: "import", arguments: ["import", "EXPORT"]),
        Case(
            command: "compact", arguments: ["compact"], mayBeEmpty: ["$.compaction.waiting"]),
        Case(
            command: "compact", arguments: ["compact", "--keep-size"],
            mayBeEmpty: ["$.compaction.waiting"]),
        Case(command: "backup", arguments: ["backup", "FILE"]),
        Case(command: "restore", arguments: ["restore", "BACKUP", "--store", "OTHER"]),
        Case(command: "erase", arguments: ["erase", "--yes"]),
    ]

    /// Returns a store in which every list has entries.
    private static func fullStore() throws -> Storectl {
        let storectl = try Storectl.demo()
        try storectl.succeed(
            "ingest", "tvmaze/schedule", "-", input: Samples.schedule())
        try storectl.succeed(
            "ingest", "tvmaze/cast", "-", "--show", "7", input: Samples.cast)
        try storectl.succeed("append", "--file", "-", input: Samples.birdTube)
        try storectl.succeed("append", "--file", "-", input: Samples.playback)
        try storectl.succeed("append", "--file", "-", input: Samples.whale)
        let picture = try storectl.file("picture.png", "not quite a picture".utf8)
        try storectl.succeed("image", "keep", "https://example.org/b.png", picture)
        return storectl
    }

    /// The store for all cases that only read from it.
    private static let shared = Result { try fullStore() }

    @Test(arguments: cases)
    func reportsHaveTheDocumentedShape(_ given: Case) throws {
        let isReading = ["query", "watch"].contains(given.arguments[0])
        let storectl = try isReading ? Self.shared.get() : Self.fullStore()
        var names = [
            "OTHER": storectl.directory.path + "/other",
            "FILE": storectl.directory.path + "/file",
            "SCHEDULE": try storectl.file(
                "schedule.json", Samples.schedule(updated: 1_562_678_900).utf8),
            "BAD": try storectl.file("bad.json", "[{}]".utf8),
            "LINES": try storectl.file(
                "lines.jsonl", (Samples.line("WatchLaterToggled", Samples.later) + "no\n").utf8),
            "EXPORT": storectl.directory.path + "/export",
            "BACKUP": storectl.directory.path + "/backup",
        ]
        let shows = try storectl.succeed(
            "log", "--tag", "show/7", "--type", "ShowObserved", "--json")
        names["CHANGED"] = try shows.document["position"]?.number.map { "\(Int($0))" }
        if given.arguments.contains("EXPORT") {
            try storectl.succeed("export", names["EXPORT"] ?? "")
        }
        if given.arguments.contains("BACKUP") {
            try storectl.succeed("backup", names["BACKUP"] ?? "")
        }
        let arguments = given.arguments.map { names[$0] ?? $0 } + ["--json"]
        let run = try storectl.run(arguments)
        #expect(run.exit == given.exit, "\(run.stderr)")
        let shape = try #require(try Contract.read()[given.command]?.shape)
        let document = try run.document
        #expect(shape.differences(from: document) == [])
        let empty = shape.emptyLists(in: document).filter { !given.mayBeEmpty.contains($0) }
        #expect(empty == [], "these lists were not compared")
        #expect(run.stdout.last == "\n" && run.stdout.filter { $0 == "\n" }.count == 1)
    }

    @Test func pageDescribesExactlyTheCommands() throws {
        let described = Set(try Contract.read().commands.map(\.name))
        #expect(Set(try Help.read().commands.map(\.name)) == described)
        let compared = Set(
            ContractTests.cases.map(\.command) + DoTests.actions.map(\.command)
                + SyncContractTests.commands + RemoteContractTests.commands + ["simulate"])
        #expect(described.subtracting(compared) == ["completions"])
    }

    @Test func synopsesNameEveryOption() throws {
        let contract = try Contract.read()
        for command in try Help.read().commands {
            let synopsis = try #require(contract[command.name]).synopsis.joined(separator: "\n")
            for option in command.options where !["--store", "--json"].contains(option) {
                #expect(synopsis.contains(option), "\(command.name)")
            }
        }
    }

    @Test func failuresHaveTheDocumentedShape() throws {
        let run = try Storectl().run("status", "--json")
        #expect(try Contract.read().failure.differences(from: run.document) == [])
        #expect(run.exit == 4)
    }

    @Test func shapesReportDifferences() throws {
        let shape = try Shape(parsing: #"{"a","b"?,"c":[{"d"}]}"#)
        func differences(_ text: String) throws -> [String] {
            shape.differences(from: try OrderedJSON(parsing: text))
        }
        #expect(try differences(#"{"a":1,"c":[{"d":null}]}"#) == [])
        #expect(try differences(#"{"a":1,"b":2,"c":[]}"#) == [])
        #expect(try differences(#"{"c":[],"a":1}"#).count == 1)
        #expect(try differences(#"{"c":[]}"#) == ["$.a is missing"])
        #expect(try differences(#"{"a":1,"c":[{"d":1,"e":2}]}"#).count == 1)
    }
}
