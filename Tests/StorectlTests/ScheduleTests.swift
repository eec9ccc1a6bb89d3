import Foundation
import TestSupport
import Testing

/// Schedules on the command line: full lists, changes and current programmes.
@Suite(.offTasks) struct ScheduleTests {
    /// A response with one episode; `other` is a response with a different episode.
    private let whole = Samples.schedule()
    private let other = Samples.schedule().replacing(#"{"id":10,"#, with: #"{"id":11,"#)

    private func ingest(
        _ storectl: Storectl, _ document: String, at time: String, _ more: String...
    ) throws -> Storectl.Run {
        try storectl.run(
            ["ingest", "tvmaze/schedule", "-", "--json", "--observed-at", time] + more,
            input: Data(document.utf8))
    }

    private func counts(_ run: Storectl.Run) throws -> [Double?] {
        let file = try run.document["files"]?[0]
        return ["read", "recorded", "known"].map { file?[$0]?.number }
    }

    private func changes(_ storectl: Storectl, after mark: Int) throws -> [String?] {
        let run = try storectl.succeed(
            "query", "schedule-changes", "--after", "\(mark)", "--json")
        return try run.document["episodes"]?.list?.map { episode in
            "\(Int(episode["id"]?.number ?? 0)) \(episode["change"]?.text ?? "")"
        } ?? []
    }

    private func week(_ storectl: Storectl) throws -> [Double?] {
        let run = try storectl.succeed("query", "schedule", "--week", "2019-07-11", "--json")
        return try run.document["days"]?.list?.flatMap { $0["episodes"]?.list ?? [] }
            .map { $0["id"]?.number } ?? []
    }

    @Test func episodesMissingFromAFullListAreCancelled() throws {
        let storectl = try Storectl.empty()
        let date = ["--date", "2019-07-11"]
        func ingest(_ document: String, _ time: String) throws -> Storectl.Run {
            try self.ingest(storectl, document, at: time, date[0], date[1])
        }
        #expect(try counts(ingest(whole, "2019-07-10")) == [3, 3, 0])
        // Reading the same response again records nothing, not even the list.
        #expect(try counts(ingest(whole, "2019-07-10")) == [3, 0, 3])
        #expect(try changes(storectl, after: 0) == ["10 added"])
        let listed = try storectl.succeed("show", "3", "--json").document
        #expect(listed["type"]?.text == "ScheduleListed")
        #expect(listed["tags"]?[0]?.text == "listing/network:US:2019-07-11")
        _ = try ingest(other, "2019-07-12")
        #expect(try changes(storectl, after: 3) == ["11 added", "10 cancelled"])
        #expect(try week(storectl) == [11])
        let text = try storectl.succeed("query", "schedule-changes", "--after", "3").stdout
        #expect(text.contains("cancelled\t2019-07-12T00:00:00.000Z\t-\tNBC\tSeven\tS01E01\tPilot"))
        _ = try ingest("[]", "2019-07-14")
        #expect(try week(storectl) == [])
        try storectl.succeed("replay", "--verify")
    }

    @Test func responsesWithoutADateCancelNothing() throws {
        let storectl = try Storectl.empty()
        _ = try ingest(storectl, whole, at: "2019-07-10")
        _ = try ingest(storectl, other, at: "2019-07-12")
        #expect(try week(storectl) == [10, 11])
    }

    @Test func partlyRefusedResponsesCancelNothing() throws {
        let storectl = try Storectl.empty()
        _ = try ingest(storectl, whole, at: "2019-07-10", "--date", "2019-07-11")
        let broken = String(other.dropLast()) + ",{}]"
        let run = try ingest(storectl, broken, at: "2019-07-12", "--date", "2019-07-11")
        #expect(run.exit == 2)
        #expect(try week(storectl) == [10, 11])
        // A response for another day cancels nothing.
        let wrong = try ingest(storectl, other, at: "2019-07-12", "--date", "2019-07-12")
        #expect(wrong.exit == 2)
        #expect(try wrong.document["files"]?[0]?["refused"]?[0]?["path"]?.text == "$")
    }

    @Test func digestsDoNotDependOnTheOrder() throws {
        // The last two responses are equal, so only the response that is read first is recorded.
        func answer(_ id: Int, _ version: Int) -> String {
            Samples.schedule(updated: version).replacing(
                #"{"id":10,"#, with: #"{"id":\#(id),"#)
        }
        let answers = [
            (answer(10, 1_562_700_000), "2019-07-10"), (answer(11, 1_562_800_000), "2019-07-12"),
            ("[]", "2019-07-12T12:00:00Z"), (answer(10, 1_562_900_000), "2019-07-14"),
            (answer(10, 1_562_900_000), "2019-07-15"),
        ]
        var digests: Set<String> = []
        for order in [[0, 1, 2, 3, 4], [0, 4, 2, 3, 1], [4, 3, 2, 1, 0], [1, 3, 0, 2, 4]] {
            let storectl = try Storectl.empty()
            for index in order {
                _ = try ingest(
                    storectl, answers[index].0, at: answers[index].1, "--date", "2019-07-11")
            }
            #expect(try week(storectl) == [10])
            let run = try storectl.succeed(
                "replay", "schedule", "schedule-listings", "shows", "--json")
            let projections = try run.document["projections"]?.list ?? []
            #expect(projections.count == 3)
            digests.insert(projections.map { $0["digest"]?.text ?? "" }.joined())
        }
        #expect(digests.count == 1)
    }

    @Test func invalidOptionsAreRefused() throws {
        let storectl = try Storectl.empty()
        let file = try storectl.file("schedule.json", whole.utf8)
        for arguments in [
            ["tvmaze/schedule", file, "--date", "2019-07-11"],
            ["tvmaze/schedule", file, file, "--date", "2019-07-11", "--observed-at", "2019-07-11"],
            ["tvmaze/schedule", file, "--country", "US"],
            [
                "tvmaze/schedule", file, "--date", "2019-07-11", "--observed-at", "2019-07-11",
                "--country", "USA",
            ],
            ["tvmaze/show", file, "--date", "2019-07-11", "--observed-at", "2019-07-11"],
        ] {
            #expect(try storectl.run(["ingest"] + arguments).exit == 64)
        }
        for arguments in [
            ["schedule", "--week", "2019-07-11", "--now", "2019-07-11"],
            ["schedule", "--filter", " "], ["on-now", "--country", "USA"],
            ["on-now", "--now", "20"], ["ending-soon", "--window", "-1"],
            ["schedule-changes"], ["schedule-changes", "--after", "0", "--limit", "501"],
        ] {
            #expect(try storectl.run(["query"] + arguments).exit == 64)
        }
    }

    @Test func weeksThatEndAfterTheYear9999AreRefused() throws {
        let storectl = try Storectl.empty()
        for day in [["--week", "9999-12-31"], ["--now", "9999-12-31T12:00:00Z"]] {
            let run = try storectl.run(["query", "schedule", "--json"] + day)
            #expect(run.exit == 64)
            #expect(try run.document["error"]?["code"]?.text == "invalidTime")
        }
        let run = try storectl.succeed("query", "schedule", "--week", "9999-12-26", "--json")
        #expect(try run.document["days"]?.list?.last?["date"]?.text == "9999-12-26")
    }

    @Test func currentProgrammesArePrintedAsATable() throws {
        let storectl = try Storectl.empty()
        _ = try ingest(storectl, whole, at: "2019-07-10")
        let row = "2019-07-12T00:00:00.000Z\t2019-07-12T01:00:00.000Z\tNBC\tSeven\tS01E01\tPilot\n"
        func text(_ arguments: String...) throws -> String {
            let run = try storectl.run(["query"] + arguments)
            #expect(run.exit == 0, "\(run.stderr)")
            return run.stdout
        }
        #expect(try text("on-now", "--now", "2019-07-12T00:00:00Z") == row)
        #expect(try text("on-now", "--now", "2019-07-12T01:00:00Z").isEmpty)
        #expect(try text("ending-soon", "--now", "2019-07-12T00:44:59Z").isEmpty)
        #expect(try text("ending-soon", "--now", "2019-07-12T00:45:00Z") == row)
        #expect(try text("on-now", "--now", "2019-07-12", "--filter", "SEVEN") == row)
        let week = try storectl.succeed(
            "query", "schedule", "--now", "2019-07-11T12:00:00Z", "--json"
        ).document
        #expect(week["days"]?[0]?["date"]?.text == "2019-07-08")
        #expect(week["nextChangeAt"]?.text == "2019-07-15T04:00:00.000Z")
    }
}
