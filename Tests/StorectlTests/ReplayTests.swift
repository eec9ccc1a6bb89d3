import Foundation
import TestSupport
import Testing

/// Rebuilding and comparing projections.
@Suite(.offTasks) struct ReplayTests {
    private func digests(_ run: Storectl.Run) throws -> [String: String] {
        let projections = try #require(try run.document["projections"]?.list)
        return Dictionary(
            uniqueKeysWithValues: projections.compactMap { projection in
                guard let name = projection["name"]?.text, let digest = projection["digest"]?.text
                else { return nil }
                return (name, digest)
            })
    }

    @Test func digestsDoNotDependOnHowTablesAreBuilt() throws {
        let storectl = try Storectl.demo()
        let first = try digests(storectl.succeed("replay", "--json"))
        for name in ["videos", "schedule", "remotes", "outbox-video"] {
            #expect(first[name] != nil, "\(name)")
        }
        #expect(first.values.allSatisfy { $0.utf8.count == 64 })
        #expect(try digests(storectl.succeed("replay", "--workers", "1", "--json")) == first)
        let head = "\(Storectl.demoEvents)"
        #expect(try digests(storectl.succeed("replay", "--until", head, "--json")) == first)
        #expect(try digests(storectl.succeed("replay", "--until", "2030-01-01", "--json")) == first)
    }

    @Test func viewsWithOtherParametersAreVerifiedToo() throws {
        let storectl = try Storectl.demo()
        func others() throws -> [String] {
            let run = try storectl.succeed("replay", "--verify", "--json")
            #expect(try run.document["verified"] == .bool(true))
            return try #require(try run.document["projections"]?.list).compactMap {
                guard let parameters = $0["parameters"]?.text else { return nil }
                return "\($0["name"]?.text ?? "") \(parameters)"
            }
        }
        try storectl.succeed("query", "videos")
        #expect(try others() == [])
        try storectl.succeed("query", "videos", "--winner", "newest")
        #expect(try others() == ["videos winner=newest"])
        try storectl.succeed("query", "watch-later", "--rule", "2012")
        #expect(try others() == ["watch-later rule=2012", "videos winner=newest"])
    }

    @Test func anotherWinnerRuleChangesTheRowsOfDuplicates() throws {
        let storectl = try Storectl.demo()
        let before = try digests(storectl.succeed("replay", "--json"))
        let run = try storectl.succeed("replay", "--diff", "--winner", "newest", "--json")
        let changes = try #require(try run.document["changes"]?.list)
        // A row changes if, according to the queries, its video has a different winning broadcast.
        func winners(_ arguments: String...) throws -> Set<String> {
            let found = try storectl.run(["query", "duplicates", "--json"] + arguments)
            return Set(
                try #require(try found.document["videos"]?.list).compactMap { video in
                    video["winner"]?.text.flatMap { winner in
                        video["key"]?.text.map { "\($0) \(winner)" }
                    }
                })
        }
        let others = try winners("--winner", "newest").subtracting(winners())
        let videos = Set(others.map { String($0.prefix { $0 != " " }) })
        #expect(videos == ["youtube:aqz-KE-bpKQ"])
        #expect(Set(changes.compactMap { $0["row"]?.text }) == videos)
        #expect(changes.contains { $0["projection"]?.text == "videos" })
        #expect(try digests(storectl.succeed("replay", "--json")) == before)
        try storectl.checkFails("replay", "--diff", code: "usage", exit: 64)
        try storectl.checkFails("replay", "--diff", "answers", code: "usage", exit: 64)
    }

    @Test func onlyNamedProjectionsAreReplayed() throws {
        let run = try Storectl.demo().succeed("replay", "watch-later", "answers", "--json")
        #expect(try digests(run).keys.sorted() == ["answers", "watch-later"])
    }

    @Test func untilReplaysAnEarlierState() throws {
        let storectl = try Storectl.demo()
        let now = try digests(storectl.succeed("replay", "--json"))
        let earlier = try digests(storectl.succeed("replay", "--until", "6", "--json"))
        #expect(earlier["watch-later"] != now["watch-later"])
        #expect(earlier["remotes"] == now["remotes"])
        let byTime = try digests(
            storectl.succeed("replay", "--until", "2012-05-03T18:21:00Z", "--json"))
        #expect(byTime == earlier)
        // The live tables are unchanged.
        #expect(try digests(storectl.succeed("replay", "--verify", "--json")) == now)
    }

    @Test func reportsIncludeTheirCost() throws {
        let report = try Storectl.demo().succeed("replay", "--json").document
        #expect(report["events"]?.number == Double(Storectl.demoEvents))
        let memory = try #require(report["peakMemoryBytes"]?.number)
        #expect(memory > 100_000 && memory < 500_000_000)
        #expect(
            report["phases"]?.list?.compactMap { $0["name"]?.text } == [
                "scan", "fold", "load", "flip",
            ])
    }

    @Test func verifyReportsTheFirstDifference() throws {
        let storectl = try Storectl.demo()
        let report = try storectl.succeed("replay", "--verify", "--json").document
        #expect(report["verified"] == .bool(true))
        #expect(report["differences"] == .list([]))
        #expect(report["error"] == nil)
        #expect(try changeLiveTables(storectl, from: "The rabbit wins.", to: "The rabbit lost."))
        let run = try storectl.run("replay", "--verify", "--json")
        #expect(run.exit == 3)
        let document = try run.document
        #expect(try Contract.read()["replay"]?.shape?.differences(from: document) == [])
        #expect(document["verified"] == .bool(false))
        let difference = document["differences"]?[0]
        #expect(difference?["projection"]?.text == "videos")
        #expect(difference?["key"]?.text?.contains("youtube:aqz-KE-bpKQ") == true)
        #expect(document["error"]?["code"]?.text == "checkFailed")
        #expect(run.stderr.contains("youtube:aqz-KE-bpKQ"))
    }

    /// Replaces bytes in the files of projections; returns whether the files contained these bytes.
    private func changeLiveTables(
        _ storectl: Storectl, from old: String, to new: String
    ) throws -> Bool {
        var isChanged = false
        for name in try FileManager.default.contentsOfDirectory(atPath: storectl.store)
        where name.hasPrefix("views-") && name.hasSuffix(".mdb") {
            let url = URL(fileURLWithPath: "\(storectl.store)/\(name)")
            var data = try Data(contentsOf: url)
            while let range = data.range(of: Data(old.utf8)) {
                data.replaceSubrange(range, with: Data(new.utf8))
                isChanged = true
            }
            let file = try FileHandle(forWritingTo: url)
            try file.write(contentsOf: data)
            try file.close()
        }
        return isChanged
    }
}
