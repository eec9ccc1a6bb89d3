import Foundation
import TestSupport
import Testing

/// The commands for remotes print their reports as described in `schema/cli.md`.
@Suite(.offTasks) struct RemoteContractTests {
    static let commands = [
        "remote add", "remote list", "remote remove", "login", "logout", "outbox retry",
        "outbox drop",
    ]

    private func check(
        _ command: String, _ run: Storectl.Run, exit: Int32 = 0, mayBeEmpty: [String] = [],
        location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(run.exit == exit, "\(run.stderr)", sourceLocation: location)
        let shape = try #require(
            try Contract.read()[command]?.shape, sourceLocation: location)
        let document = try run.document
        #expect(shape.differences(from: document) == [], sourceLocation: location)
        let empty = shape.emptyLists(in: document).filter { !mayBeEmpty.contains($0) }
        #expect(empty == [], "these lists were not compared", sourceLocation: location)
        #expect(run.stdout.filter { $0 == "\n" }.count == 1, sourceLocation: location)
    }

    @Test func reportsHaveTheDocumentedShapes() throws {
        let remote = try ShelbyProcess()
        let store = try Storectl.empty()
        try check("remote add", store.run("remote", "add", "home", "shelby", remote.url, "--json"))
        try check("login", store.run("login", "home", "--token-file", remote.tokenFile, "--json"))
        try check(
            "sync", store.run("sync", "home", "--json"),
            mayBeEmpty: ["$.refused", "$.waiting"])
        let video = try #require(try store.videos().first).key
        let liked = try store.append("LikeToggled", #"{"video":"\#(video)","isOn":true}"#)
        let nowhere = try store.append(
            "WatchLaterToggled", #"{"video":"vimeo:404","isOn":true}"#)
        try check("outbox list", store.run("outbox", "--json"))
        try check("outbox list", store.run("outbox", "list", "--limit", "1", "--json"))
        let dry = try store.run("sync", "home", "--dry-run", "--json")
        try check("sync", dry, exit: 2, mayBeEmpty: ["$.refused"])
        #expect(try dry.document["pushed"]?.number == 1)
        #expect(try dry.document["waiting"]?[0]?["reason"]?.text == "notThere")
        let preview = try store.run("sync", "home", "--dry-run").stdout
        #expect(
            preview.hasPrefix(
                "would have pushed 1 intent; the remote was not asked for new facts\n"))
        #expect(try remote.effects.isEmpty)

        try check("sync", store.run("sync", "home", "--json"), exit: 2, mayBeEmpty: ["$.refused"])
        let words = try store.run("sync", "home")
        #expect(words.exit == 2)
        #expect(words.stdout.contains("waiting \(nowhere): notThere, no broadcast of vimeo:404"))
        #expect(words.stderr.contains("hint: ") && words.stderr.contains("storectl outbox drop"))
        try check("explain", store.run("explain", liked, "--json"), mayBeEmpty: ["$.servers"])
        try check(
            "status", store.run("status", "--json"), mayBeEmpty: ["$.sync"])
        try check("remote list", store.run("remote", "list", "--json"))
        try check("outbox retry", store.run("outbox", "retry", nowhere, "--json"))
        try check("outbox drop", store.run("outbox", "drop", nowhere, "--yes", "--json"))
        try check("logout", store.run("logout", "home", "--json"))
        try check("remote remove", store.run("remote", "remove", "home", "--yes", "--json"))
        #expect(try store.run("remote", "list", "--json").document["remotes"]?.list == [])
    }

    @Test func eventsOfRemotesAreShownWithTheirPayloads() throws {
        let remote = try ShelbyProcess()
        let store = try remote.connectedStore()
        let video = try #require(try store.videos().first).key
        let intent = try store.append("LikeToggled", #"{"video":"\#(video)","isOn":true}"#)
        try store.succeed("sync", "home")
        let added = try store.succeed("show", "1", "--json").document
        #expect(added["type"]?.text == "RemoteAdded")
        #expect(added["payload"]?["system"]?.text == "shelby")
        let outcome = try store.succeed("log", "--type", "OutcomeRecorded", "--json").document
        #expect(outcome["payload"]?["intent"]?.text == intent)
        #expect(outcome["payloadBase64"] == nil)
        #expect(try store.run("doctor").stdout.contains("ok: event types"))
        try store.checkFails("append", "RemoteAdded", "{}", code: "unknownType", exit: 64)
    }

    @Test func loginsRecordTheAccountAndNoSecret() throws {
        let remote = try ShelbyProcess()
        let store = try Storectl.empty()
        try store.succeed("remote", "add", "home", "shelby", remote.url)
        let login = try store.succeed("login", "home", "--token-file", remote.tokenFile, "--json")
        let accounts = try store.succeed("query", "accounts", "--json").document["accounts"]
        #expect(accounts?.list?.count == 1)
        #expect(try accounts?[0]?["account"] == login.document["account"])
        #expect(accounts?[0]?["system"]?.text == "shelby")
        #expect(accounts?[0]?["services"]?.list?.contains(.text("twitter")) == true)
        #expect(accounts?[0]?["channels"]?.list?.isEmpty == false)
        #expect(accounts?[0]?["image"]?.text?.hasPrefix("http") == true)
        let log = try store.succeed("log", "--json").stdout
        for secret in remote.secrets { #expect(!log.contains(secret)) }
        // A second login records nothing.
        try store.succeed("login", "home", "--token-file", remote.tokenFile)
        #expect(try store.succeed("log", "--json").stdout == log)
    }

    @Test func invalidCommandsFailWithTheExpectedCodes() throws {
        let store = try Storectl.empty()
        try store.checkFails(
            "remote", "add", "home", "myspace", "http://127.0.0.1:1", code: "usage", exit: 64)
        try store.checkFails(
            "remote", "add", "Home!", "shelby", "http://127.0.0.1:1", code: "usage", exit: 64)
        try store.checkFails(
            "remote", "add", "home", "shelby", "http://example.org", code: "usage", exit: 64)
        try store.checkFails("sync", "home", code: "notFound", exit: 4)
        try store.checkFails("login", "home", "--user", "ada", code: "notFound", exit: 4)
        try store.checkFails("remote", "remove", "home", "--yes", code: "notFound", exit: 4)
        try store.succeed("remote", "add", "home", "shelby", "http://127.0.0.1:1")
        try store.checkFails(
            "remote", "add", "work", "shelby", "http://127.0.0.1:1", code: "conditionFailed",
            exit: 3)
        try store.checkFails(
            "sync", "home", code: "unauthorized", exit: 7, says: "not logged in")
        try store.checkFails(
            "sync", "home", "--token-file", "token", code: "usage", exit: 64)
        try store.checkFails(
            "remote", "remove", "home", code: "usage", exit: 64, says: "not a terminal")
        try store.checkFails(
            "login", "home", code: "usage", exit: 64, says: "requires an OAuth token")
        try store.succeed("network", "offline")
        try Data("token\nsecret\n".utf8).write(
            to: URL(fileURLWithPath: store.directory.file("login")))
        try store.checkFails(
            "login", "home", "--token-file", store.directory.file("login"), code: "offline",
            exit: 7,
            says: "set to offline")
        try store.succeed("network", "online")
        try store.checkFails(
            "login", "home", "--user", "ada", code: "usage", exit: 64, says: "no password")
        try store.checkFails("outbox", "retry", "1", code: "notFound", exit: 4)
        let intent = try store.append("LikeToggled", #"{"video":"vimeo:1","isOn":true}"#)
        try store.checkFails(
            "outbox", "drop", intent, code: "usage", exit: 64, says: "not a terminal")
        let one = try store.file("one", "only\n".utf8)
        try store.checkFails(
            "login", "home", "--token-file", one, code: "usage", exit: 64, says: "1 line")
        chmod(one, 0o600)
        let approval = ["login", "home", "--oauth", "--provider", "twitter", "--consumer-file"]
        let short = try store.run(approval + [one, "--json"])
        #expect(short.exit == 64 && short.stderr.contains("1 line"))
        let consumer = try store.file("consumer", "key\nsecret\n".utf8)
        chmod(consumer, 0o600)
        let open = try store.run(
            approval + [consumer, "--oauth-url", "http://example.org/oauth", "--json"])
        #expect(open.exit == 64 && open.stderr.contains("unencrypted"))
        for missing in [["--oauth"], ["--consumer-file", one], ["--oauth-url", "https://a.org"]] {
            #expect(try store.run(["login", "home"] + missing).exit == 64)
        }
    }

    @Test func refusedLoginsNameTheirSourceAndGiveAHint() throws {
        let remote = try ShelbyProcess()
        let store = try Storectl.empty()
        try store.succeed("remote", "add", "home", "shelby", remote.url)
        let password = try store.file("password", "secret\n".utf8)
        let form = try store.run(
            "login", "home", "--user", "ada", "--password-file", password, "--json")
        #expect(form.exit == 64)
        #expect(try form.document["error"]?["code"]?.text == "usage")
        #expect(form.stderr.contains("hint: run storectl login home --token-file FILE"))
        let wrong = try store.file("wrong", "no-token\nno-secret\n".utf8)
        let run = try store.run("login", "home", "--token-file", wrong, "--json")
        #expect(run.exit == 7)
        #expect(try run.document["error"]?["code"]?.text == "unauthorized")
        #expect(run.stderr.contains("the token was read from \(wrong)"))
        #expect(run.stderr.contains("hint: run storectl login home"))
        #expect(!run.stderr.contains("no-secret"))
    }

    @Test func endedLoginsNameTheirFile() throws {
        let remote = try ShelbyProcess()
        let store = try remote.connectedStore()
        let file = store.store + "/logins/home.json"
        let login = try String(contentsOfFile: file, encoding: .utf8)
            .replacing(remote.secrets[0], with: "ended")
        try login.write(toFile: file, atomically: true, encoding: .utf8)
        let run = try store.run("sync", "home", "--json")
        #expect(run.exit == 7)
        #expect(try run.document["error"]?["code"]?.text == "unauthorized")
        #expect(run.stderr.contains("the login is in \(file)"))
        #expect(run.stderr.contains("hint: run storectl login home"))
    }

    /// Otherwise, changes would wait for deliveries that never happen.
    @Test func demoStoresHaveNoRemotes() throws {
        let store = try Storectl.demo()
        for arguments in [
            ["remote", "add", "home", "shelby", "http://127.0.0.1:1"], ["login", "home"],
            ["sync", "home"], ["sync", "home", "--dry-run"], ["sync", "home", "--watch"],
        ] {
            let run = try store.run(arguments + ["--json"])
            #expect(run.exit == 64, "\(arguments)")
            let error = try run.document["error"]
            #expect(error?["code"]?.text == "usage", "\(arguments)")
            #expect(
                error?["message"]?.text
                    == "this store contains sample events, so it cannot be synced", "\(arguments)")
        }
        let status = try store.succeed("status", "--json").document
        #expect(status["events"]?.number == Double(Storectl.demoEvents))
    }

    @Test func outboxPagesContinueAtTheirCursor() throws {
        let store = try Storectl.empty()
        try store.succeed("remote", "add", "home", "shelby", "http://127.0.0.1:1")
        let intents = try (0..<5).map {
            try store.append("LikeToggled", #"{"video":"vimeo:\#($0 + 1)","isOn":true}"#)
        }
        func outbox() throws -> [String] {
            var seen: [String] = []
            var cursor: String?
            repeat {
                let page = try store.run(
                    ["outbox", "--limit", "2", "--json"] + (cursor.map { ["--cursor", $0] } ?? [])
                ).document
                seen += try #require(page["items"]?.list).compactMap { $0["event"]?.text }
                cursor = page["next"]?.text
            } while cursor != nil
            return seen
        }
        #expect(try outbox() == intents)
        // The events that a server lacks follow.
        let token = try store.file("token", "t".utf8)
        try store.checkFails(
            "sync", "http://127.0.0.1:1", "--token-file", token, code: "offline", exit: 7)
        let events = try store.succeed("log", "--json").stdout.split(separator: "\n").map {
            try OrderedJSON(parsing: String($0))["id"]?.text
        }
        #expect(events.count == 6)
        #expect(try outbox() == intents + events)
    }
}
