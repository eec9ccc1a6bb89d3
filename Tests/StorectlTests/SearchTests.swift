import Foundation
import TestSupport
import Testing

/// `storectl query search`.
@Suite(.offTasks) struct SearchTests {
    private func store() throws -> Storectl {
        let storectl = try Storectl.empty()
        for (number, title) in ["Zoë's cars", "Car chase", "Carousel"].enumerated() {
            try storectl.succeed(
                "append", "BroadcastReceived",
                """
                {"broadcast":"b\(number)","video":"youtube:v\(number)","title":"\(title)",
                 "sharer":"ann","createdAt":"2012-01-0\(number + 1)T00:00:00Z"}
                """)
        }
        return storectl
    }

    private func hits(_ storectl: Storectl, _ arguments: String...) throws -> [String] {
        let run = try storectl.run(["query", "search", "--json"] + arguments)
        return try (run.document["hits"]?.list ?? []).compactMap { $0["id"]?.text }
    }

    private func status(_ storectl: Storectl) throws -> [String: Bool] {
        let status = try storectl.succeed("status", "--json").document
        return (status["projections"]?.list ?? []).reduce(into: [:]) { built, projection in
            built[projection["name"]?.text ?? ""] = projection["isBuilt"] == .bool(true)
        }
    }

    @Test func firstSearchBuildsOnlyItsIndex() throws {
        let storectl = try store()
        try storectl.succeed("replay")
        #expect(try status(storectl)["search-videos"] == false)
        #expect(
            try hits(storectl, "car", "--in", "videos")
                == ["v1", "v2", "v0"].map { "youtube:\($0)" })
        let built = try status(storectl)
        #expect(built["search-videos"] == true && built["search-shows"] == false)
        try storectl.succeed(
            "append", "BroadcastReceived",
            #"{"broadcast":"n","video":"youtube:n","title":"A new car"}"#)
        #expect(try hits(storectl, "new", "CAR") == ["youtube:n"])
        let replayed = try storectl.succeed("replay", "--verify", "--json").document
        let names = (replayed["projections"]?.list ?? []).compactMap { $0["name"]?.text }
        #expect(names.contains("search-videos") && names.contains("search-answers"))
    }

    @Test func pagesFollowEachOtherAndPipedOutputIsPlain() throws {
        let storectl = try store()
        let first = try storectl.succeed("query", "search", "car", "--limit", "2", "--json")
            .document
        let next = try #require(first["next"]?.text)
        #expect(try hits(storectl, "car", "--limit", "2", "--cursor", next) == ["youtube:v0"])
        try storectl.checkFails(
            "query", "search", "zoe", "--cursor", next, code: "usage", exit: 64)
        #expect(try hits(storectl, "zoe", "c") == ["youtube:v0"])
        let matches = try storectl.succeed("query", "search", "zoe", "--json").document
        let match = matches["hits"]?[0]?["texts"]?[0]?["matches"]?[0]
        #expect(match?["start"]?.number == 0 && match?["end"]?.number == 4)
        #expect(
            try storectl.succeed("query", "search", "zoe").stdout
                == "video\tyoutube:v0\t2012-01-01T00:00:00.000Z\tann\tZoë's cars\n")
        #expect(try hits(storectl, "car", "--as-of", "2") == ["youtube:v1", "youtube:v0"])
    }

    @Test func matchingTitlesOfOtherBroadcastsAreShown() throws {
        let storectl = try Storectl.empty()
        for (number, title) in ["First", "Second"].enumerated() {
            try storectl.succeed(
                "append", "BroadcastReceived",
                """
                {"broadcast":"b\(number)","video":"vimeo:1","title":"\(title)",
                 "createdAt":"2012-01-0\(number + 1)T00:00:00Z"}
                """)
        }
        #expect(
            try storectl.succeed("query", "search", "second").stdout
                == "video\tvimeo:1\t2012-01-02T00:00:00.000Z\t-\tFirst / Second\n")
        let hit = try storectl.succeed("query", "search", "second", "--json").document["hits"]?[0]
        #expect(hit?["texts"]?[0]?["text"]?.text == "First")
        #expect(hit?["texts"]?[1]?["field"]?.text == "otherTitle")
        #expect(hit?["texts"]?[1]?["matches"]?[0]?["end"]?.number == 6)
        // Without the second broadcast, no title matches.
        let told = try storectl.succeed("explain", "search-videos", "vimeo:1", "--json").document
        #expect((told["events"]?.list ?? []).map { $0["role"]?.text } == ["deciding", "deciding"])
        let without = try storectl.succeed(
            "explain", "search-videos", "vimeo:1", "--without", "2", "--json")
        #expect(!without.stdout.contains("Second"))
    }

    @Test func invalidSearchesAreUsageErrors() throws {
        let storectl = try store()
        try storectl.checkFails("query", "search", "?!", code: "usage", exit: 64)
        try storectl.checkFails("query", "search", "a", "--cursor", "x", code: "usage", exit: 64)
    }
}
