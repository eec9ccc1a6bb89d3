import TestSupport
import Testing

/// Invalid command lines fail with their error code and an explanation.
@Suite(.offTasks) struct UsageTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let arguments: [String]
        let code: String
        var exit: Int32 = 64
        let says: String
        var testDescription: String { arguments.joined(separator: " ") }
    }

    static let cases: [Case] = [
        Case(arguments: ["nonsense"], code: "usage", says: "no command storectl nonsense"),
        Case(arguments: ["query", "nonsense"], code: "usage", says: "no command storectl query"),
        Case(arguments: ["help", "nonsense"], code: "usage", says: "no command storectl nonsense"),
        Case(
            arguments: ["help", "query", "nonsense"], code: "usage",
            says: "no command storectl query nonsense"),
        Case(arguments: ["serv", "--help"], code: "usage", says: "no command storectl serv"),
        Case(arguments: ["completion", "-h"], code: "usage", says: "no command storectl compl"),
        Case(
            arguments: ["do", "lik", "--help"], code: "usage", says: "no command storectl do lik"),
        Case(arguments: ["serv", "--version"], code: "usage", says: "no command storectl serv"),
        Case(
            arguments: ["query", "--limit", "3"], code: "usage",
            says: "storectl query must be followed by the name of a command"),
        Case(
            arguments: ["watch", "--store", "phone"], code: "usage",
            says: "storectl watch must be followed by the name of a command, not by --store"),
        Case(arguments: ["sync", "http://127.0.0.1:1"], code: "usage", says: "--token-file"),
        Case(
            arguments: ["sync", "http://127.0.0.1:1", "--token-file", "/no/such/token"],
            code: "notFound", exit: 4, says: "/no/such/token"),
        Case(arguments: ["append"], code: "usage", says: "--file FILE"),
        Case(arguments: ["append", "WatchLaterToggled"], code: "usage", says: "TYPE and JSON"),
        Case(arguments: ["append", "A", "{}", "--file", "x"], code: "usage", says: "--file"),
        Case(
            arguments: ["append", "WatchLaterTogled", "{}"], code: "unknownType",
            says: "not an event type"),
        Case(
            arguments: ["append", "WatchLaterToggled", #"{"video":"youtube:x"}"#],
            code: "invalidPayload", says: "isOn"),
        Case(
            arguments: ["append", "WatchLaterToggled", #"{"video":"no video","isOn":true}"#],
            code: "invalidVideo", says: "video"),
        Case(
            arguments: ["append", "WatchLaterToggled", #"{"video""#], code: "malformedJSON",
            says: "line 1, column"),
        Case(
            arguments: ["append", "WatchLaterToggled", Samples.later, "--at", "yesterday"],
            code: "invalidTime", says: "--at"),
        Case(
            arguments: [
                "append", "WatchLaterToggled", Samples.later, "--at", "1969-12-31T23:59:59Z",
            ],
            code: "invalidTime", says: "1970"),
        Case(
            arguments: ["query", "videos", "--as-of", "1970-01-01T00:00:00+05:00"],
            code: "invalidTime", says: "--as-of"),
        Case(
            arguments: ["query", "videos", "--as-of", "1"], code: "usage",
            says: "ends at position 0"),
        Case(
            arguments: ["query", "show", "7", "--as-of", "1"], code: "usage",
            says: "ends at position 0"),
        Case(
            arguments: ["explain", "watch-later", "vimeo:7", "--as-of", "1"], code: "usage",
            says: "ends at position 0"),
        Case(
            arguments: ["replay", "--until", "1"], code: "usage", says: "ends at position 0"),
        Case(
            arguments: ["replay", "--until", "1815-01-01T00:00:00Z"],
            code: "invalidTime", says: "--until"),
        Case(
            arguments: ["append", "WatchLaterToggled", Samples.later, "--at", "1562678812"],
            code: "invalidTime", says: "--at"),
        Case(arguments: ["ingest", "tvmaze/nothing", "x"], code: "usage", says: "not a resource"),
        Case(arguments: ["ingest", "tvmaze/cast", "-"], code: "usage", says: "show"),
        Case(arguments: ["ingest", "tvmaze/show"], code: "usage", says: "<file>"),
        Case(
            arguments: ["ingest", "tvmaze/show", "/no/such/file"], code: "notFound", exit: 4,
            says: "/no/such/file"),
        Case(arguments: ["ingest", "tvmaze/show", "/tmp"], code: "usage", says: "directory"),
        Case(arguments: ["log", "--limit", "0"], code: "usage", says: "--limit"),
        Case(arguments: ["log", "--tag", "video"], code: "invalidTag", says: "video"),
        Case(arguments: ["log", "--type", "no type"], code: "invalidType", says: "no type"),
        Case(arguments: ["show", "first"], code: "usage", says: "neither"),
        Case(arguments: ["show", "99"], code: "notFound", exit: 4, says: "99"),
        Case(
            arguments: ["show", "00000000000000000000000000000000-1"], code: "notFound", exit: 4,
            says: "no event"),
        Case(arguments: ["query", "videos", "--limit", "0"], code: "usage", says: "limit"),
        Case(arguments: ["query", "videos", "--limit", "501"], code: "usage", says: "limit"),
        Case(arguments: ["query", "videos", "--cursor", "abc"], code: "usage", says: "cursor"),
        Case(arguments: ["query", "videos", "--rule", "2013"], code: "usage", says: "2013"),
        Case(arguments: ["query", "comments"], code: "usage", says: "VIDEO or --answer"),
        Case(arguments: ["query", "comments", "no-video"], code: "invalidVideo", says: "no-video"),
        Case(
            arguments: ["query", "playability", "vimeo:7", "--state", "due"], code: "usage",
            says: "--state"),
        Case(
            arguments: ["query", "extraction-plan", "vimeo:7", "--running", "vimeo:8"],
            code: "usage", says: "--since"),
        Case(
            arguments: ["query", "extractions", "--window", "nan"], code: "usage", says: "window"),
        Case(arguments: ["query", "show", "4711"], code: "notFound", exit: 4, says: "4711"),
        Case(
            arguments: ["query", "schedule", "--week", "2019-02-30"], code: "invalidTime",
            says: "2019-02-30"),
        Case(
            arguments: ["query", "schedule", "--week", "2019-02-03", "--country", "USA"],
            code: "usage", says: "USA"),
        Case(
            arguments: ["query", "statistics", "--time-zone", "Europe/Berln"], code: "usage",
            says: "Europe/Berln"),
        Case(arguments: ["replay", "nothing"], code: "notFound", exit: 4, says: "nothing"),
        Case(arguments: ["replay", "--until", "soon"], code: "invalidTime", says: "--until"),
        Case(
            arguments: ["replay", "--until", "99999999999999999999"], code: "usage",
            says: "--until"),
        Case(arguments: ["replay", "--verify", "--until", "1"], code: "usage", says: "--verify"),
        Case(arguments: ["replay", "--diff"], code: "usage", says: "--diff needs --winner newest"),
        Case(arguments: ["replay", "--workers", "0"], code: "usage", says: "--workers"),
        Case(arguments: ["erase"], code: "usage", says: "permanently"),
        Case(arguments: ["import", "/etc/passwd"], code: "damaged", exit: 6, says: "/etc/passwd"),
        Case(arguments: ["import", "/no/such/file"], code: "notFound", exit: 4, says: "/no/such"),
        Case(arguments: ["import", "/tmp"], code: "usage", says: "/tmp is a directory"),
        Case(
            arguments: ["import", "/dev/null"], code: "usage",
            says: "/dev/null is not a regular file"),
        Case(
            arguments: ["export", "/no/such/place"], code: "notFound", exit: 4,
            says: "the directory /no/such does not exist"),
        Case(
            arguments: ["backup", "/no/such/place"], code: "notFound", exit: 4,
            says: "the directory /no/such does not exist"),
        Case(
            arguments: ["export", "/etc/passwd/place"], code: "notFound", exit: 4,
            says: "/etc/passwd is not a directory"),
        Case(
            arguments: ["serve", "--data", "/dev/null/server"], code: "accessDenied", exit: 5,
            says: "the directory /dev/null/server cannot be created"),
        Case(arguments: ["status", "--store", ""], code: "usage", says: "--store"),
        Case(
            arguments: ["status", "--store", "/no/such/store"], code: "noStore", exit: 4,
            says: "/no/such/store"),
        Case(arguments: ["init"], code: "storeExists", exit: 5, says: "already"),
        Case(arguments: ["restore", "/etc/passwd"], code: "storeExists", exit: 5, says: "already"),
    ]

    @Test(arguments: cases)
    func invalidCommandLinesAreRefused(_ given: Case) throws {
        let storectl = try Storectl.empty()
        let run = try storectl.run(given.arguments + ["--json"])
        #expect(run.exit == given.exit, "\(run.stderr)")
        let error = try #require(try run.document["error"])
        #expect(error["code"]?.text == given.code)
        let message = try #require(error["message"]?.text)
        #expect(message.contains(given.says), "\(message)")
        #expect(run.stderr.hasPrefix("error: \(message)\n"))
        // Refused command lines record nothing.
        let status = try storectl.succeed("status", "--json").document
        #expect(status["events"]?.number == 0)
    }

    @Test func errorsWithoutJSONLeaveStdoutEmpty() throws {
        let run = try Storectl.empty().run("query", "show", "4711")
        #expect(run.stdout.isEmpty)
        #expect(run.stderr.contains("\nhint: "))
    }

    @Test func missingCommandIsExplainedWithAnExample() throws {
        let run = try Storectl.empty().run("query", "--limit", "3")
        #expect(run.stderr.contains("hint: for example: storectl query videos --limit 10; "))
    }

    @Test func jsonAfterADoubleDashIsNotAnOption() throws {
        let run = try Storectl.empty().run("show", "--", "--json")
        #expect(run.exit == 64 && run.stdout.isEmpty)
    }
}
