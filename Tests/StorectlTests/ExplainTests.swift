import Foundation
import TestSupport
import Testing

@testable import StorectlCommands

/// `storectl explain` shows which events determine a row.
@Suite(.offTasks) struct ExplainTests {
    private static let video = "youtube:aqz-KE-bpKQ"

    /// Returns the positions of a key's events by role.
    private func roles(_ run: Storectl.Run) throws -> [String: [Int]] {
        var roles: [String: [Int]] = [:]
        for event in try run.document["events"]?.list ?? [] {
            let role = try #require(event["role"]?.text)
            roles[role, default: []].append(Int(event["position"]?.number ?? 0))
        }
        return roles
    }

    @Test func keysShowTheirRuleAndDecidingEvents() throws {
        let storectl = try Storectl.demo()
        let run = try storectl.succeed("explain", "watch-later", Self.video, "--json")
        #expect(try Contract.read().explainedKey.differences(from: run.document) == [])
        #expect(try run.document["key"]?.text == "video/" + Self.video)
        #expect(try run.document["rule"]?.text?.contains("75 %") == true)
        // The toggle added the video, and the report past the threshold removed it.
        let now = try roles(run)
        #expect(now["deciding"]?.contains(9) == true)
        #expect(now["lost"]?.contains(6) == true && now["lost"]?.contains(8) == true)
        for key in ["video/" + Self.video, "https://www.youtube.com/watch?v=aqz-KE-bpKQ"] {
            #expect(try storectl.run("explain", "watch-later", key, "--json").stdout == run.stdout)
        }
    }

    @Test func withoutTheDecidingEventAnotherEventDecides() throws {
        let storectl = try Storectl.demo()
        let explain = ["explain", "watch-later", Self.video, "--json"]
        let without = try storectl.run(explain + ["--without", "9"])
        let before = try storectl.run(explain + ["--as-of", "8"])
        #expect(try roles(without)["deciding"]?.contains(6) == true)
        #expect(without.stdout == before.stdout)
        let few = try storectl.run(explain + ["--events", "1"])
        #expect(try few.document["events"]?.list?.count == 1)
        #expect(try few.document["unexamined"]?.number == 4)
        #expect(try few.document["state"] == storectl.run(explain).document["state"])
    }

    @Test func eventsShowTheKeysTheyAffect() throws {
        let storectl = try Storectl.demo()
        let document = try storectl.succeed("explain", "6", "--json").document
        let keys = document["keys"]?.list ?? []
        let part = keys.first { $0["projection"]?.text == "watch-later" }
        #expect(part?["role"]?.text == "lost")
        #expect(part?["key"]?.text == "video/" + Self.video)
        #expect(try storectl.succeed("explain", "6").stdout.contains("watch-later"))
    }

    @Test func textOutputShowsTimesAndNoEmptyFields() throws {
        let storectl = try Storectl.demo()
        let text = try storectl.succeed("explain", "videos", Self.video).stdout
        #expect(text.contains("newestAt\t2012-05-"))
        #expect(text.contains("winner.time\t2012-05-"))
        #expect(text.contains("broadcasts\t2"))
        let later = try storectl.succeed("explain", "watch-later", "vimeo:1084537").stdout
        #expect(later.contains("since\t2012-05-03T18:22:00.000Z"))
        #expect(!later.contains("firstBroadcast"))
        #expect(!(text + later).contains("\tfalse\n") && !(text + later).contains("\t0\n"))
    }

    @Test func explainBuildsNoViews() throws {
        let storectl = try Storectl.demo()
        func views() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: storectl.store)
                .filter { $0.hasPrefix("views-") || $0.hasPrefix("scratch-") }.sorted()
        }
        let before = try views()
        try storectl.succeed("explain", "videos", Self.video)
        try storectl.succeed("explain", "3")
        #expect(try views() == before)
    }

    @Test func unknownAndInvalidArgumentsFail() throws {
        let storectl = try Storectl.demo()
        let video = Self.video
        try storectl.checkFails("explain", "no-such", video, code: "notFound", exit: 4)
        try storectl.checkFails("explain", "videos", "youtube:nobody", code: "notFound", exit: 4)
        try storectl.checkFails(
            "explain", "videos", video, "--without", "999", code: "notFound", exit: 4)
        try storectl.checkFails(
            "explain", "videos", video, "--events", "0", code: "usage", exit: 64)
        try storectl.checkFails("explain", "videos", code: "usage", exit: 64, says: "KEY")
        try storectl.checkFails("explain", "3", "--without", "2", code: "usage", exit: 64)
        try storectl.checkFails("explain", "videos", "no video", code: "invalidVideo", exit: 64)
    }

    /// `explain` prints the rule of a projection.
    @Test func everyProjectionHasARule() {
        for projection in ShippedProjections.all() {
            let rule = projection.ruleText ?? ""
            #expect(rule.count > 20 && rule.last == ".", "\(projection.name)")
        }
    }
}
