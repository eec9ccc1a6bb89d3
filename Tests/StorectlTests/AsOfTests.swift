import Foundation
import TestSupport
import Testing

/// Queries with `--as-of`.
@Suite(.offTasks) struct AsOfTests {
    @Test func listsAreShownAsOfAPosition() throws {
        let storectl = try Storectl.demo()
        let queries = [
            ["query", "videos"], ["query", "watch-later"], ["query", "list", "timeline"],
            ["query", "duplicates"], ["query", "comments", "youtube:aqz-KE-bpKQ"],
            ["query", "answers"], ["query", "recipients"],
        ]
        let before = try queries.map { try storectl.run($0 + ["--json"]).stdout }
        try storectl.succeed("append", "WatchLaterToggled", Samples.later)
        try storectl.succeed(
            "append", "CommentPosted", #"{"video":"youtube:aqz-KE-bpKQ","text":"later"}"#)
        try storectl.succeed(
            "append", "BroadcastReceived",
            #"{"broadcast":"n","video":"youtube:new","createdAt":"2030-01-01T00:00:00Z"}"#)
        try storectl.succeed("append", "ContactNoted", #"{"address":"ada@example.org"}"#)
        #expect(try storectl.run(queries[0] + ["--json"]).stdout != before[0])
        for (query, then) in zip(queries, before) {
            let asOf = ["--as-of", "\(Storectl.demoEvents)", "--json"]
            #expect(try storectl.run(query + asOf).stdout == then)
        }
        // The current lists do not change, and no scratch files remain.
        #expect(try storectl.run(queries[0] + ["--json"]).stdout.contains("youtube:new"))
        let files = try FileManager.default.contentsOfDirectory(atPath: storectl.store)
        #expect(!files.contains { $0.hasSuffix(".mdb") && $0.hasPrefix("scratch-") })
        #expect(
            try storectl.run("query", "videos", "--as-of", "0", "--json").document["videos"]?.list
                == [])
    }

    /// A query for one object as of a position folds only the object's events, and prints the same
    /// as a query that was made when the log ended there.
    @Test func namedObjectsAreShownAsOfAPosition() throws {
        let storectl = try Storectl.demo()
        try storectl.succeed("ingest", "tvmaze/schedule", "-", input: Samples.schedule())
        try storectl.succeed("append", "--file", "-", input: Samples.playback)
        try storectl.succeed("append", "--file", "-", input: Samples.whale)
        let video = "youtube:aqz-KE-bpKQ"
        let queries = [
            ["query", "show", "7"], ["query", "user", "7"], ["query", "comments", video],
            ["query", "playback", video], ["query", "playability", video, "--now", "2030-01-01"],
            ["query", "downloads", video], ["query", "likers", "9"], ["query", "follows", "7"],
        ]
        let head = try storectl.succeed("status", "--json").document["events"]?.number ?? 0
        let before = try queries.map { try storectl.run($0 + ["--json"]).stdout }
        try storectl.succeed(
            "ingest", "tvmaze/schedule", "-", input: Samples.schedule(updated: 1_900_000_000))
        try storectl.succeed(
            "append", "PlaybackProgressed",
            #"{"video":"\#(video)","viewing":"later","positionSeconds":1,"durationSeconds":9}"#)
        try storectl.succeed(
            "append", "PlayabilityChecked", #"{"video":"\#(video)","outcome":"playable"}"#)
        for (query, then) in zip(queries, before) {
            let run = try storectl.run(query + ["--as-of", "\(Int(head))", "--json"])
            #expect(run.exit == 0 && run.stdout == then, "\(query): \(run.stderr)")
        }
    }

    @Test func listsAreShownAsOfATime() throws {
        let storectl = try Storectl.demo()
        func videos(_ time: String) throws -> [String] {
            let page = try storectl.succeed("query", "videos", "--as-of", time, "--json").document
            return (page["videos"]?.list ?? []).compactMap { $0["key"]?.text }
        }
        let all = try videos("2100-01-01")
        #expect(!all.isEmpty)
        #expect(try videos("1971-01-01") == [])
    }

    @Test func invalidPointsAreUsageErrors() throws {
        let storectl = try Storectl.demo()
        try storectl.checkFails(
            "query", "videos", "--as-of", "yesterday", code: "invalidTime", exit: 64,
            says: "--as-of")
        try storectl.checkFails(
            "query", "videos", "--as-of", "99999999999999999999", code: "usage", exit: 64)
    }
}
