import Foundation
import TapedeckTesting
import TestSupport
import Testing

/// BirdTube as a remote, with real processes.
@Suite(.serialized, .offTasks) struct BirdTubeTests {
    private let remote: SimulatorProcess
    private let store: Storectl

    init() throws {
        remote = try SimulatorProcess("birdtube")
        store = try Storectl.empty()
        try store.succeed("remote", "add", "birds", "birdtube", remote.url)
    }

    /// Logs in as the sample account.
    private func logIn(_ more: String...) throws -> Storectl.Run {
        let password = try #require(remote.document["password"]?.text)
        let file = try store.file("password", (password + "\n").utf8)
        let user = try #require(remote.document["user"]?.text)
        return try store.run(
            ["login", "birds", "--user", user, "--password-file", file] + more)
    }

    private func videos(_ order: String) throws -> [OrderedJSON] {
        let run = try store.succeed("query", "submissions", "--order", order, "--json")
        return try #require(try run.document["videos"]?.list)
    }

    @Test func guestsReadAndSignedInUsersWrite() throws {
        // Reading needs no login.
        #expect(try store.succeed("sync", "birds", "--json").document["pulled"]?.number ?? 0 > 64)
        let first = try #require(try videos("popular").first)
        let key = try #require(first["key"]?.text)
        let views = try #require(first["views"]?.number)
        try store.checkFails("do", "submit", "youtube:brandnewone", code: "signInRequired", exit: 7)
        try store.checkFails("query", "chat", key, code: "signInRequired", exit: 7)
        try store.succeed("query", "chat", key, "--guest")
        try store.succeed("do", "open", key, "--viewer", "guest")
        try store.succeed("do", "open", key, "--viewer", "guest")
        // An intent recorded before the login waits.
        try store.append("VideoSubmitted", #"{"video":"youtube:brandnewone","title":"New"}"#)
        let waits = try store.run("sync", "birds", "--json")
        #expect(waits.exit == 2)
        #expect(try waits.document["waiting"]?[0]?["reason"]?.text == "signInRequired")
        let item = try store.run("outbox", "--json").document["items"]?[0]
        #expect(item?["delivery"]?["reason"]?.text == "signInRequired")

        #expect(try logIn().exit == 0)
        let account = try store.succeed("query", "accounts", "--json").document["accounts"]?[0]
        #expect(account?["isSignedIn"] == .bool(true) && account?["nickname"]?.text == "ada")
        try store.succeed("do", "chat", key, "hello there")
        try store.succeed("do", "submit", "https://youtu.be/brandnewtwo", "--title", "Two")
        for _ in 0..<2 { try store.succeed("sync", "birds") }
        let id = key.dropFirst("youtube:".count)
        #expect(
            try remote.effects.map(\.description).sorted() == [
                "comment \(id) hello there", "submission brandnewone New",
                "submission brandnewtwo Two", "view \(id) ",
            ])
        let popular = try #require(try videos("popular").first)
        #expect(popular["views"]?.number == views + 1 && popular["ownViews"]?.number == 0)
        let new = try videos("new").prefix(2).compactMap { $0["key"]?.text }
        #expect(new.sorted() == ["youtube:brandnewone", "youtube:brandnewtwo"])
        let said = try store.succeed("query", "chat", key, "--json").document["messages"]?.list?
            .last
        #expect(said?["text"]?.text == "hello there" && said?["state"]?.text == "shown")
        #expect(try store.succeed("outbox", "--json").document["items"]?.list == [])
        let log = try store.succeed("log", "--json").stdout
        #expect(!log.contains(try #require(remote.document["password"]?.text)))
        #expect(try remote.violations == "[]")

        try store.succeed("remote", "remove", "birds", "--yes")
        let after = try store.succeed("query", "accounts", "--json").document["accounts"]?[0]
        #expect(after?["isSignedIn"] == .bool(false))
    }

    @Test func signUpCreatesAnAccountOnce() throws {
        let password = try store.file("grace", "compiler\n".utf8)
        func logIn(_ more: String...) throws -> Storectl.Run {
            try store.run(
                ["login", "birds", "--user", "grace@example.org", "--password-file", password]
                    + more)
        }
        let unknown = try logIn("--json")
        #expect(unknown.exit == 4)
        #expect(unknown.stderr.contains("error: birds: "), "\(unknown.stderr)")
        #expect(unknown.stderr.contains("hint: storectl login birds --sign-up"))
        let made = try logIn("--sign-up", "--json")
        #expect(made.exit == 0)
        #expect(try made.document["account"]?.text == "grace@example.org")
        #expect(try logIn("--sign-up").exit == 3)
        #expect(try logIn().exit == 0)
        #expect(try remote.effects.map(\.kind) == ["signUp"])
        try store.checkFails(
            "login", "birds", "--sign-up", "--token-file", password, code: "usage", exit: 64)
    }

    /// Intents of one account are never sent under another account, even after logging out.
    @Test func otherAccountsAreRefused() throws {
        let password = try store.file("grace", "compiler\n".utf8)
        let grace = ["--user", "grace@example.org", "--password-file", password]
        let other = try Storectl.empty()
        try other.succeed("remote", "add", "birds", "birdtube", remote.url)
        #expect(try other.run(["login", "birds", "--sign-up"] + grace).exit == 0)

        #expect(try logIn().exit == 0)
        try store.succeed("sync", "birds")
        let key = try #require(try videos("new").first?["key"]?.text)
        try store.succeed("do", "chat", key, "mine")
        let head = try store.succeed("status", "--json").document["events"]?.number
        for more in [[], ["--sign-up"]] {
            let run = try store.run(["login", "birds", "--json"] + grace + more)
            #expect(run.exit == 3)
            #expect(try run.document["error"]?["code"]?.text == "conditionFailed")
        }
        #expect(try store.succeed("status", "--json").document["events"]?.number == head)
        let watch = try store.start(["sync", "birds", "--watch", "--json"])
        try eventuallyBlocking("the message") { try remote.effects.map(\.text).contains("mine") }
        let logout = try store.succeed("logout", "birds")
        #expect(logout.stdout == "logged out of birds\n")
        #expect(try watch.wait().exit == 7)
        try store.append("ChatMessagePosted", #"{"video":"\#(key)","text":"later"}"#)
        #expect(try store.run(["login", "birds"] + grace).exit == 3)
        _ = try store.run("sync", "birds")
        #expect(try remote.effects.filter { $0.kind == "comment" }.map(\.text) == ["mine"])
        #expect(try logIn().exit == 0)
        try store.succeed("sync", "birds")
        #expect(
            try remote.effects.filter { $0.kind == "comment" }.map(\.text) == ["mine", "later"])
    }

    @Test func killedSyncsHaveNoDuplicateEffects() throws {
        let random = SeededGenerator.fromEnvironment()
        print("BirdTube kills: \(random)")
        var moments = random
        #expect(try logIn().exit == 0)
        try store.succeed("sync", "birds")
        let keys = try videos("new").prefix(8).compactMap { $0["key"]?.text }
        for (number, key) in keys.enumerated() {
            try store.succeed("do", "open", key, "--viewer", "me")
            try store.succeed("do", "chat", key, "message \(number)")
            try store.succeed("do", "submit", "youtube:brandnew\(100 + number)", "--title", "New")
        }
        for number in 0..<12 {
            let process = try store.start(["sync", "birds"])
            usleep(UInt32(30_000 + moments.below(400) * 1_000))
            process.send(SIGKILL)
            _ = try process.wait()
            // In one of the rounds, the remote is down.
            if number == 5 {
                try remote.kill()
                #expect(try store.run("sync", "birds").exit == 7)
                try remote.start()
            }
        }
        for _ in 0..<3 { _ = try store.run("sync", "birds") }
        let effects = try remote.effects.map(\.description)
        #expect(Set(effects).count == effects.count, "duplicate effects: \(effects.sorted())")
        #expect(effects.count { $0.hasPrefix("comment") } == keys.count)
        #expect(effects.count { $0.hasPrefix("submission") } == keys.count)
        let left = try #require(try store.run("outbox", "--json").document["items"]?.list)
        for item in left {
            #expect(item["type"]?.text == "VideoOpened")
            #expect(item["delivery"]?["state"]?.text == "unknown")
        }
        #expect(effects.count { $0.hasPrefix("view") } + left.count >= keys.count)
        #expect(try remote.violations == "[]")
    }

    @Test func savedDocumentsAreIngested() throws {
        let row = #"{"video_id":"a","viewer":3,"title":"A"}"#
        let list = #"{"result":"success","video_list":[\#(row)]}"#
        let first = try store.run(
            ["ingest", "birdtube/videos", "-", "--json"], input: Data(list.utf8))
        #expect(first.exit == 0, "\(first.stderr)")
        #expect(try videos("popular").first?["title"]?.text == "A")
        let error = try store.run(
            ["ingest", "birdtube/videos", "-", "--json"],
            input: Data(#"{"result":"error","message":"no"}"#.utf8))
        #expect(error.exit == 2)
        let messages = #"[{"id":1,"timestamp":1449046512345,"text":"hi"}]"#
        let chat = try store.run(
            [
                "ingest", "birdtube/messages", "-", "--video", "https://youtu.be/dQw4w9WgXcQ",
                "--json",
            ],
            input: Data(messages.utf8))
        #expect(chat.exit == 0, "\(chat.stderr)")
        let shown = try store.succeed("query", "chat", "youtube:dQw4w9WgXcQ", "--guest", "--json")
            .document
        #expect(shown["messages"]?[0]?["at"]?.text == "2015-12-02T08:55:12.345Z")
        let missing = try store.run(
            ["ingest", "birdtube/messages", "-", "--json"], input: Data(messages.utf8))
        #expect(missing.exit == 64)
    }
}
