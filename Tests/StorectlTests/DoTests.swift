import Foundation
import TestSupport
import Testing

/// The events that `storectl do` records, and the actions it refuses.
@Suite(.offTasks) struct DoTests {
    /// An action and the types of the events that it records.
    struct Action: Sendable {
        let command: String
        let arguments: [String]
        let events: [String]

        init(_ command: String, _ arguments: String..., records events: String...) {
            (self.command, self.arguments, self.events) = (command, arguments, events)
        }

        var line: [String] { command.split(separator: " ").map(String.init) + arguments }
    }

    private static let blob = String(repeating: "ab", count: 32)
    private static let bunny = "https://www.youtube.com/watch?v=aqz-KE-bpKQ"

    /// Consecutive actions in a demo store, with every `do` command at least once.
    static let actions: [Action] = [
        Action(
            "do share", bunny, "--to", "twitter", "--to", "email", "--recipient",
            "ada@example.org", records: "VideoShared", "VideoShared"),
        Action("do watch-later", "https://vimeo.com/4", records: "WatchLaterToggled"),
        Action("do watch-later", "vimeo:4"),
        Action("do watch-later", "vimeo:4", "--off", records: "WatchLaterToggled"),
        Action("do watch-later", "vimeo:4", "--off"),
        Action("do like", bunny, "--off", records: "LikeToggled"),
        Action("do like", "youtube:aqz-KE-bpKQ", records: "LikeToggled"),
        Action("do like", bunny),
        Action("do comment", bunny, "The squirrels!", records: "CommentPosted"),
        Action("do submit", "https://youtu.be/dQw4w9WgXcQ", records: "VideoSubmitted"),
        Action("do submit", "youtube:dQw4w9WgXcQ"),
        Action("do open", bunny, "--viewer", "guest", "--viewing", "v", records: "VideoOpened"),
        Action("do open", bunny, "--viewer", "guest", "--viewing", "v"),
        Action("do open", bunny, "--viewer", "guest", records: "VideoOpened"),
        Action("do chat", bunny, "hello", records: "ChatMessagePosted"),
        Action(
            "do chat", bunny, "--file", "https://example.org/a.png", "--name", "a.png", "--type",
            "image/png", "--bytes", "9", records: "ChatMessagePosted"),
        Action("do ask", "demo-grace", "Why?", records: "QuestionAsked"),
        Action("do ask", "demo-grace", "Why?"),
        Action("do like", "demo-answer-2", "--off", records: "LikeToggled"),
        Action("do like", "demo-answer-2", records: "LikeToggled"),
        Action("do like", "demo-answer-2"),
        Action("do comment", "demo-answer-2", "Well said.", records: "CommentPosted"),
        Action("do follow", "demo-grace"),
        Action("do follow", "demo-grace", "--off", records: "FollowToggled"),
        Action(
            "do profile", "--last-name", "Lovelace", "--clear", "about", records: "ProfileEdited"),
        Action("do profile", "--last-name", "Lovelace"),
        Action(
            "do contact add", "ada@example.org", "--name", "Ada Lovelace", records: "ContactNoted"),
        Action("do contact add", "ada@example.org", "--name", "Ada Lovelace"),
        Action("do contact remove", "ADA@example.org", records: "ContactNoted"),
        Action("do contact remove", "ada@example.org"),
        Action("do visit", records: "VisitStarted"),
        Action("do visit", records: "VisitStarted"),
        Action("do queue add", "vimeo:4", records: "VideoQueued"),
        Action("do queue next", "vimeo:5", "--after", "vimeo:4", records: "VideoQueuedNext"),
        Action("do queue remove", "vimeo:4", records: "VideoUnqueued"),
        Action("do queue clear", records: "QueueCleared"),
        Action(
            "do hand-off", "tablet", "phone", records: "NowPlayingChanged", "NowPlayingChanged"),
        Action("do playability", "vimeo:4", "playable", records: "PlayabilityChecked"),
        Action("do playability", "vimeo:4", "playable"),
        Action(
            "do playability", "vimeo:5", "failed", "--reason", "timeout",
            records: "PlayabilityChecked"),
        Action("do check", "--due"),
        Action("do check", "vimeo:6", "--status", "404", records: "PlayabilityChecked"),
        Action("do check", "vimeo:6", "--status", "404"),
        Action("do fail-extraction", "vimeo:4", "timeout", records: "ExtractionFailed"),
        Action("do remove-downloads", bunny, records: "DownloadRemoved"),
        Action(
            "do answer discard", "demo-question-4", "demo-recording-4",
            records: "AnswerSegmentRemoved"),
        Action(
            "do answer add", "demo-question-4", "r", "1", "--blob", blob, "--seconds", "34.5",
            records: "AnswerSegmentRecorded"),
        Action(
            "do answer add", "demo-question-4", "r", "2", "--blob", blob, "--seconds", "3",
            records: "AnswerSegmentRecorded"),
        Action("do answer remove", "demo-question-4", "r", "2", records: "AnswerSegmentRemoved"),
        Action("do answer merge", "demo-question-4", "r", records: "AnswerMergeStarted"),
        Action(
            "do answer fail-merge", "demo-question-4", "r", "interrupted",
            records: "AnswerMergeFailed"),
        Action("do answer merge", "demo-question-4", "r", records: "AnswerMergeStarted"),
        Action(
            "do answer hand-in", "demo-question-4", "r", "--video", blob, "--thumbnail", blob,
            records: "AnswerRecorded"),
    ]

    @Test func actionsRecordTheirEvents() throws {
        let storectl = try Storectl.demo()
        let contract = try Contract.read()
        for action in DoTests.actions {
            let before = try storectl.succeed("status", "--json").document["events"]?.number
            let run = try storectl.run(action.line + ["--json"])
            #expect(run.exit == 0, "\(action.line): \(run.stderr)")
            let shape = try #require(contract[action.command]?.shape, "\(action.command)")
            #expect(shape.differences(from: try run.document) == [])
            #expect(try run.document["recorded"]?.number == Double(action.events.count))
            let lines = try storectl.succeed(
                "log", "--after", "\(Int(before ?? 0))", "--json"
            ).stdout.split(separator: "\n")
            let types = try lines.map { try OrderedJSON(parsing: String($0))["type"]?.text }
            #expect(types == action.events, "\(action.line)")
        }
    }

    @Test func textReportsCountRecordedEvents() throws {
        let storectl = try Storectl.demo()
        let first = try storectl.succeed("do", "queue", "add", "vimeo:4").stdout
        #expect(first.hasPrefix("recorded 1 event\n"))
        let same = try storectl.succeed("do", "follow", "demo-grace").stdout
        #expect(same == "nothing had to be recorded: the state already matches the request\n")
    }

    @Test func likesAndCommentsReachAnAnswerWhoseIdLooksLikeAVideo() throws {
        let storectl = try Storectl.demo()
        let answer = "whale:a/1"
        try storectl.succeed(
            "append", "AnswerUploaded", #"{"question":"demo-question-2","answer":"\#(answer)"}"#)
        for (id, exit) in [(answer, 4), ("whale/1", 64)] {
            for arguments in [["like", id], ["comment", id, "Well said."]] {
                let refused = try storectl.run(["do"] + arguments)
                #expect(refused.exit == exit && refused.stderr.contains("add --answer"))
            }
        }
        try storectl.succeed("do", "like", "--answer", answer)
        try storectl.succeed("do", "comment", "--answer", answer, "Well said.")
        let answers = try storectl.succeed("query", "answers", "--json").document["answers"]
        let listed = answers?.list?.first { $0["id"]?.text == answer }
        #expect(listed?["isLiked"] == .bool(true))
        #expect(listed?["commentCount"]?.number == 1)
    }

    /// A refused command line with its error code, its exit code and part of its message.
    struct Refusal: CustomTestStringConvertible, Sendable {
        let arguments: [String]
        let code: String
        let exit: Int32
        let says: String
        var testDescription: String { arguments.joined(separator: " ") }

        init(_ arguments: String..., code: String, exit: Int32, says: String) {
            (self.arguments, self.code, self.exit, self.says) = (arguments, code, exit, says)
        }
    }

    static let refusals: [Refusal] = [
        Refusal(
            "share", bunny, "--to", "twitter", "--text", String(repeating: "a", count: 141),
            code: "tooLarge", exit: 64, says: "140 characters by 1"),
        Refusal(
            "share", bunny, "--to", "email", "--recipient", "not an address",
            code: "invalidPayload", exit: 64,
            says: "recipient \"not an address\" is not an email address"),
        Refusal(
            "share", bunny, "--to", "email", code: "usage", exit: 64,
            says: "--to email requires --recipient"),
        Refusal(
            "contact", "add", "ada", code: "invalidPayload", exit: 64,
            says: "address \"ada\" is not an email address"),
        Refusal("share", bunny, code: "usage", exit: 64, says: "--to"),
        Refusal("share", bunny, "--to", "fax", code: "usage", exit: 64, says: "--to \"fax\""),
        Refusal("submit", "vimeo:7", code: "invalidVideo", exit: 64, says: "YouTube"),
        Refusal("ask", "nobody", "Why?", code: "notFound", exit: 4, says: "unknown user"),
        Refusal("like", "none", code: "notFound", exit: 4, says: "unknown answer"),
        Refusal("comment", "none", "Hm.", code: "notFound", exit: 4, says: "unknown answer"),
        Refusal("like", "vimeo:4", code: "notFound", exit: 4, says: "unknown video"),
        Refusal("comment", "vimeo:4", "Hm.", code: "notFound", exit: 4, says: "unknown video"),
        Refusal("comment", bunny, " ", code: "invalidPayload", exit: 64, says: "text"),
        Refusal(
            "like", "https://example.org/", code: "invalidVideo", exit: 64, says: "example.org"),
        Refusal("watch-later", "none", code: "invalidVideo", exit: 64, says: "none"),
        Refusal("follow", "demo-ada", code: "invalidPayload", exit: 64, says: "themselves"),
        Refusal(
            "queue", "add", bunny, code: "conditionFailed", exit: 3, says: "already in the queue"),
        Refusal("queue", "remove", "vimeo:4", code: "notFound", exit: 4, says: "not in the queue"),
        Refusal("hand-off", "none", "phone", code: "notFound", exit: 4, says: "nothing is playing"),
        Refusal("hand-off", "tv", "tv", code: "invalidPayload", exit: 64, says: "same device"),
        Refusal("remove-downloads", "vimeo:4", code: "notFound", exit: 4, says: "vimeo:4"),
        Refusal(
            "answer", "add", "demo-question-4", "demo-recording-4", "2", "--blob", blob,
            "--seconds", "145.5", code: "tooLarge", exit: 64, says: "38.0 s too long"),
        Refusal(
            "answer", "add", "demo-question-2", "r", "1", "--blob", blob, "--seconds", "1",
            code: "conditionFailed", exit: 3, says: "answered"),
        Refusal(
            "answer", "merge", "demo-question-4", "r", code: "conditionFailed", exit: 3,
            says: "no segments"),
        Refusal("chat", bunny, code: "usage", exit: 64, says: "TEXT"),
        Refusal("playability", "vimeo:4", "failed", code: "usage", exit: 64, says: "--reason"),
        Refusal("check", code: "usage", exit: 64, says: "--due"),
        Refusal("check", "--due", "vimeo:4", code: "usage", exit: 64, says: "--due"),
        Refusal(
            "check", "vimeo:4", "--status", "200", code: "usage", exit: 64, says: "--body-file"),
        Refusal("check", "vimeo:4", "--status", "42", code: "usage", exit: 64, says: "42"),
    ]

    @Test(arguments: refusals)
    func refusedActionsRecordNothing(_ given: Refusal) throws {
        let storectl = try Storectl.demo()
        let run = try storectl.run(["do"] + given.arguments + ["--json"])
        #expect(run.exit == given.exit, "\(run.stderr)")
        let error = try run.document["error"]
        #expect(error?["code"]?.text == given.code)
        #expect(error?["message"]?.text?.contains(given.says) == true, "\(run.stdout)")
        #expect(run.stderr.hasPrefix("error: "))
        let events = try storectl.succeed("status", "--json").document["events"]?.number
        #expect(events == Double(Storectl.demoEvents))
    }

    @Test func signedOutUsersAreAskedToSignIn() throws {
        let storectl = try Storectl.empty()
        for arguments in [
            ["chat", DoTests.bunny, "hello"], ["submit", DoTests.bunny], ["follow", "7"],
            ["profile", "--about", "nobody"], ["visit"],
        ] {
            let run = try storectl.run(["do"] + arguments + ["--json"])
            #expect(run.exit == 7, "\(run.stderr)")
            #expect(try run.document["error"]?["code"]?.text == "signInRequired")
            #expect(run.stderr.contains("hint: "))
        }
        #expect(try storectl.succeed("status", "--json").document["events"]?.number == 0)
    }

    @Test func titleAndThumbnailAreReadFromTheVideoPage() throws {
        let storectl = try Storectl.demo()
        let page = try storectl.file(
            "page.html",
            """
            <html><head><meta itemprop="videoId" content="dQw4w9WgXcQ">
            <meta property="og:title" content="Never &amp; Give">
            <meta property="og:image" content="https://i.ytimg.com/vi/dQw4w9WgXcQ/hqdefault.jpg"></head></html>
            """.utf8)
        let other = try storectl.run(["do", "submit", "youtube:aaaaaaaaaaa", "--page", page])
        #expect(other.exit == 64)
        #expect(other.stderr.contains("youtube:dQw4w9WgXcQ"))
        let empty = try storectl.file("empty.html", "<html></html>".utf8)
        #expect(
            try storectl.run(["do", "submit", "youtube:dQw4w9WgXcQ", "--page", empty]).exit == 64)
        try storectl.succeed("do", "submit", "https://youtu.be/dQw4w9WgXcQ", "--page", page)
        let log = try storectl.succeed("log", "--type", "VideoSubmitted", "--json").stdout
        let last = try #require(log.split(separator: "\n").last)
        let payload = try OrderedJSON(parsing: String(last))["payload"]
        #expect(payload?["title"]?.text == "Never & Give")
        #expect(
            payload?["thumbnail"]?.text == "https://i.ytimg.com/vi/dQw4w9WgXcQ/hqdefault.jpg")
    }

    @Test func failuresAreRecordedOnceUntilTheRetryIsDue() throws {
        let storectl = try Storectl.empty()
        for arguments in [
            ["fail-extraction", "vimeo:4", "timeout"],
            ["playability", "vimeo:4", "failed", "--reason", "timeout"],
            ["check", "vimeo:5", "--status", "503"],
        ] {
            let first = try storectl.run(["do"] + arguments)
            #expect(first.exit == 0, "\(first.stderr)")
            let second = try storectl.run(["do"] + arguments + ["--json"])
            #expect(second.exit == 3)
            #expect(try second.document["error"]?["code"]?.text == "conditionFailed")
            #expect(second.stderr.contains("is due at"))
        }
    }

    @Test func dueChecksWithoutRequestsAreRecordedAndTheOthersCounted() throws {
        let storectl = try Storectl.empty()
        for video in ["youtube:aqz-KE-bpKQ", "vimeo:7", "vimeo:abc", "hulu:1"] {
            try storectl.succeed(
                "append", "BroadcastReceived", #"{"broadcast":"b","video":"\#(video)"}"#)
        }
        func check() throws -> [Double?] {
            let report = try storectl.succeed("do", "check", "--due", "--json").document
            return [report["recorded"]?.number, report["requests"]?.number]
        }
        #expect(try check() == [2, 2])
        #expect(try check() == [0, 2])
        let text = try storectl.succeed("do", "check", "--due").stdout
        #expect(text.hasPrefix("recorded 0 events\n2 due videos"))

        let body = try storectl.file("answer.json", #"{"type":"video","version":"1.0"}"#.utf8)
        try storectl.succeed(
            "do", "check", "youtube:aqz-KE-bpKQ", "--status", "200", "--body-file", body)
        #expect(try check() == [0, 1])
        let run = try storectl.run(
            ["do", "check", "vimeo:7", "--status", "200", "--body-file", "-"],
            input: Data("Forbidden".utf8))
        #expect(run.exit == 0, "\(run.stderr)")
        let found =
            try storectl.succeed(
                "query", "playability", "youtube:aqz-KE-bpKQ", "vimeo:7", "hulu:1", "--json"
            ).document["videos"]?.list ?? []
        #expect(found.map { $0["state"]?.text } == ["playable", "failed", "unplayable"])
        #expect(
            found.map { $0["reason"]?.text } == [nil, "unexpected-answer", "unsupported-provider"])
    }

    /// Devices with different logins have synced with each other, which must still be settled.
    @Test func actionsNameTheAccountOfTheirDevice() throws {
        let accounts = ["ada", "bob"]
        let stores = try accounts.map { account in
            let store = try Storectl.empty()
            try store.succeed(
                "append", "SignedIn", #"{"account":"\#(account)","system":"birdtube"}"#)
            let export = store.directory.path + "/export"
            try store.succeed("export", export)
            return (store, export)
        }
        for ((store, _), (_, export)) in zip(stores, stores.reversed()) {
            try store.succeed("import", export)
        }
        for ((store, _), account) in zip(stores, accounts) {
            let report = try store.succeed("do", "chat", "vimeo:1", "Hello.", "--json").document
            let id = try #require(report["first"]?["id"]?.text)
            let event = try store.succeed("show", id, "--json").document
            #expect(event["payload"]?["sender"]?.text == account)
        }
        // The user of the second device settles that the store belongs to bob.
        let ((store, _), (other, export)) = (stores[0], stores[1])
        try other.succeed(
            "append", "SignedOut",
            #"{"account":"ada","system":"birdtube","replacedBy":"bob"}"#)
        try other.succeed("export", export)
        try store.succeed("import", export)
        let refused = try store.run("do", "chat", "vimeo:1", "Hello.", "--json")
        #expect(try refused.document["error"]?["code"]?.text == "signInRequired")
        try other.succeed("do", "chat", "vimeo:1", "Hello.")
    }
}
