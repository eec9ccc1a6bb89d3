import Foundation
import TestSupport
import Testing

/// `storectl append` with one event and with files of events.
@Suite(.offTasks) struct AppendTests {
    @Test func timesAreConvertedToUTC() throws {
        let storectl = try Storectl.empty()
        let at = "2019-07-11T16:00:00.5-04:00"
        let report = try storectl.succeed(
            "append", "WatchLaterToggled", Samples.later, "--at", at, "--json"
        ).document
        #expect(report["recorded"]?.number == 1)
        #expect(report["first"] == report["last"])
        #expect(report["first"]?["position"]?.number == 1)
        let event = try storectl.succeed("show", "1", "--json").document
        #expect(event["at"]?.text == "2019-07-11T20:00:00.500Z")
        #expect(event["id"] == report["first"]?["id"])
        #expect(event["payload"]?["video"]?.text == "youtube:dQw4w9WgXcQ")
        #expect(event["tags"]?.list == [.text("video/youtube:dQw4w9WgXcQ")])
    }

    @Test func datesMeanTheStartOfTheDay() throws {
        let storectl = try Storectl.empty()
        try storectl.succeed("append", "WatchLaterToggled", Samples.later, "--at", "2019-07-11")
        let event = try storectl.succeed("show", "1", "--json").document
        #expect(event["at"]?.text == "2019-07-11T00:00:00.000Z")
    }

    @Test func badLinesAreRefusedAndTheOthersRecorded() throws {
        let storectl = try Storectl.empty()
        let good = Samples.line("WatchLaterToggled", Samples.later)
        var file = Array((good + "\n" + "no json\n").utf8)
        file += Array(Samples.line("Nonsense", "{}").utf8)
        file += Array(#"{"type":"WatchLaterToggled","payload":{"video":""#.utf8) + [0xFF]
        file += Array(#"","isOn":true}}"#.utf8) + [0x0A]
        file += Array(#"{"type":"WatchLaterToggled"}"#.utf8) + [0x0A]
        file += Array(Samples.line("WatchLaterToggled", Samples.later, at: "1562678812").utf8)
        file += Array(
            Samples.line("WatchLaterToggled", Samples.later, at: "1969-12-31T23:59:59Z").utf8)
        file += Array(#"{"payload":{},"type":7}"#.utf8) + [0x0A]
        file += Array(#"["type"]"#.utf8) + [0x0D, 0x0A]
        // The last line has no line break.
        file += Array(good.utf8).dropLast()
        let run = try storectl.run([
            "append", "--json", "--file", try storectl.file("lines", file),
        ])
        #expect(run.exit == 2)
        let report = try run.document
        #expect(report["recorded"]?.number == 2)
        #expect(report["last"]?["position"]?.number == 2)
        let refused = try #require(report["refused"]?.list)
        #expect(refused.compactMap { $0["line"]?.number } == [3, 4, 5, 6, 7, 8, 9, 10])
        #expect(
            refused.compactMap { $0["code"]?.text } == [
                "malformedJSON", "unknownType", "malformedJSON", "invalidPayload", "invalidTime",
                "invalidTime", "invalidPayload", "malformedJSON",
            ])
        #expect(report["refusedCount"]?.number == 8)
        #expect(run.stderr.contains("refused: line 3: column 1"))
    }

    @Test func unknownFieldsAreRefused() throws {
        let storectl = try Storectl.empty()
        let slip = #"{"video":"youtube:a","isOnn":true}"#
        try storectl.checkFails(
            "append", "WatchLaterToggled", slip, code: "invalidPayload", exit: 64,
            says: "WatchLaterToggled has no field isOnn")
        let run = try storectl.run(
            "append", "--file", "-", "--json",
            input: Samples.line("WatchLaterToggled", Samples.later)
                + Samples.line("WatchLaterToggled", slip))
        #expect(run.exit == 2)
        let report = try run.document
        #expect(report["recorded"]?.number == 1)
        #expect(report["refused"]?[0]?["line"]?.number == 2)
        #expect(report["refused"]?[0]?["code"]?.text == "invalidPayload")
        #expect(run.stderr.contains("line 2: WatchLaterToggled has no field isOnn"))
        #expect(run.stderr.contains("did you mean isOn?"))
    }

    @Test func emailSharesNeedValidAddresses() throws {
        let storectl = try Storectl.empty()
        func share(_ to: String) -> String {
            #"{"video":"vimeo:1","destinations":["email"],"to":"\#(to)"}"#
        }
        for to in ["", " , ", "not an address", "ada", "ada@example.org;grace@example.org"] {
            try storectl.checkFails(
                "append", "VideoShared", share(to), code: "invalidPayload", exit: 64, says: "to ")
        }
        try storectl.succeed("append", "VideoShared", share("ada@example.org, grace@example.org,"))
        let event = try storectl.succeed("show", "1", "--json").document
        #expect(event["payload"]?["to"]?.text == "ada@example.org,grace@example.org")
    }

    @Test func errorsForTypesRecordedByCommandsNameTheCommand() throws {
        let storectl = try Storectl.empty()
        for (type, command) in [
            ("RemoteAdded", "storectl remote add"), ("RemoteRemoved", "storectl remote remove"),
            ("RemoteLoginsEnded", "storectl logout"),
            ("RemoteListToggled", "storectl sync"), ("OutcomeRecorded", "storectl outbox"),
            ("IntentClaimed", "storectl sync"),
            ("FeedRead", "storectl sync"), ("OriginForked", "storectl sync"),
        ] {
            try storectl.checkFails(
                "append", type, "{}", code: "unknownType", exit: 64, says: command)
        }
    }

    @Test func linesOverTheLimitAreRefused() throws {
        let storectl = try Storectl.empty()
        let good = Samples.line("WatchLaterToggled", Samples.later)
        let file =
            Array(good.utf8) + [UInt8](repeating: 0x20, count: 8_454_145) + [0x0A] + good.utf8
        let run = try storectl.run(["append", "--file", "-", "--json"], input: Data(file))
        #expect(run.exit == 2)
        #expect(try run.document["recorded"]?.number == 2)
        #expect(try run.document["refused"]?[0]?["code"]?.text == "tooLarge")
        #expect(try run.document["refused"]?[0]?["line"]?.number == 2)
    }

    @Test func emptyFilesRecordNothing() throws {
        let run = try Storectl.empty().succeed("append", "--file", "-", "--json")
        #expect(try run.document["recorded"]?.number == 0)
        #expect(try run.document["first"] == .null)
        #expect(try run.document["last"] == .null)
    }

    @Test func printedLogsCanBeAppendedAgain() throws {
        let storectl = try Storectl.demo()
        let lines = try storectl.succeed("log", "--json").stdout
        let other = try Storectl.empty()
        try other.succeed("append", "--file", "-", input: lines)
        func payloads(_ storectl: Storectl) throws -> [OrderedJSON?] {
            try storectl.succeed("log", "--json").stdout.split(separator: "\n").map {
                try OrderedJSON(parsing: String($0))["payload"]
            }
        }
        #expect(try payloads(other) == payloads(storectl))
    }

    @Test func eventsOfLargeFilesStayInOrder() throws {
        let storectl = try Storectl.empty()
        let report = try storectl.succeed(
            "append", "--file", "-", "--json", input: Samples.toggles(2_500)
        ).document
        #expect(report["recorded"]?.number == 2_500)
        #expect(report["last"]?["position"]?.number == 2_500)
        let event = try storectl.succeed("show", "2001", "--json").document
        #expect(event["payload"]?["video"]?.text == "youtube:video2000")
    }

    @Test func escapedFieldNamesAreRecognized() throws {
        let storectl = try Storectl.empty()
        let line = #"{"t\u0079pe" : "WatchLaterToggled","pay\u006Coad" :  "# + Samples.later + "}"
        try storectl.succeed("append", "--file", "-", input: line)
        #expect(try storectl.succeed("status", "--json").document["events"]?.number == 1)
    }
}
