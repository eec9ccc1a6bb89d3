import Foundation
import TestSupport
import Testing

/// `storectl ingest` records observations of remote systems.
@Suite(.offTasks) struct IngestTests {
    private func counts(_ run: Storectl.Run, _ index: Int = 0) throws -> [Double?] {
        let file = try run.document["files"]?[index]
        return ["read", "recorded", "known"].map { file?[$0]?.number }
    }

    @Test func repeatedFilesRecordNothingNew() throws {
        let storectl = try Storectl.empty()
        let file = try storectl.file("schedule.json", Samples.schedule().utf8)
        let first = try storectl.succeed("ingest", "tvmaze/schedule", file, "--json")
        #expect(try counts(first) == [2, 2, 0])
        #expect(try first.document["files"]?[0]?["file"]?.text == file)
        #expect(
            try counts(storectl.succeed("ingest", "tvmaze/schedule", file, "--json")) == [2, 0, 2])
    }

    @Test func filesAreReportedSeparately() throws {
        let storectl = try Storectl.empty()
        let one = try storectl.file("one.json", Samples.schedule().utf8)
        let two = try storectl.file("two.json", Samples.schedule(updated: 1_562_678_900).utf8)
        let bad = try storectl.file("bad.json", #"{"name":"Not Found","status":404}"#.utf8)
        let run = try storectl.run("ingest", "tvmaze/schedule", one, bad, two, "--json")
        #expect(run.exit == 2)
        #expect(try counts(run, 0) == [2, 2, 0])
        #expect(try counts(run, 1) == [1, 0, 0])
        #expect(try counts(run, 2)[0] == 2)
        let refused = try run.document["files"]?[1]?["refused"]?[0]
        #expect(refused?["path"]?.text == "$")
        #expect(refused?["code"]?.text == "remoteError")
        #expect(run.stderr.hasPrefix("refused: \(bad): $: "))
    }

    @Test func nothingIsRecordedIfAFileIsMissing() throws {
        let storectl = try Storectl.empty()
        let file = try storectl.file("schedule.json", Samples.schedule().utf8)
        try storectl.checkFails(
            "ingest", "tvmaze/schedule", file, file + "x", code: "notFound", exit: 4)
        #expect(try storectl.succeed("status", "--json").document["events"]?.number == 0)
    }

    @Test func eventsFollowTheOrderOfTheDocument() throws {
        let storectl = try Storectl.empty()
        let episodes = (1...1_200).map { number in
            Samples.schedule().dropFirst().dropLast().replacingOccurrences(
                of: #"{"id":10,"#, with: #"{"id":\#(number),"#)
        }
        let document = "[" + episodes.joined(separator: ",") + "]"
        let run = try storectl.succeed(
            "ingest", "tvmaze/schedule", "-", "--json", input: document)
        #expect(try counts(run) == [1_201, 1_201, 0])
        let lines = try storectl.succeed("log", "--type", "EpisodeScheduled", "--json").stdout
        let ids = try lines.split(separator: "\n").map {
            try OrderedJSON(parsing: String($0))["payload"]?["episode"]?.text
        }
        #expect(ids == (1...1_200).map { String($0) })
    }

    @Test func observationTimeIsRecorded() throws {
        let storectl = try Storectl.empty()
        _ = try storectl.run(
            ["ingest", "tvmaze/show", "-", "--observed-at", "2019-07-11"],
            input: Data(Samples.show().utf8))
        let event = try storectl.succeed("show", "1", "--json").document
        #expect(event["fact"]?["observedAt"]?.text == "2019-07-11T00:00:00.000Z")
        #expect(event["fact"]?["version"]?.number == 1_562_678_812)
    }

    @Test func invalidDocumentsAreRefused() throws {
        let storectl = try Storectl.empty()
        for bytes in [[], [0xFF, 0xFE], Array("[".utf8), [UInt8](repeating: 0x5B, count: 100_000)] {
            let run = try storectl.run(
                ["ingest", "tvmaze/schedule", "-", "--json"], input: Data(bytes))
            #expect(run.exit == 2)
            #expect(try counts(run)[1] == 0)
        }
    }
}
