import TestSupport
import Testing

/// The pages and parameters of queries.
@Suite(.offTasks) struct QueryTests {
    @Test func commentsOfEqualTimeKeepTheirOrder() throws {
        let storectl = try Storectl.empty()
        let texts = (1...25).map { "no. \($0)" }
        let lines = texts.map {
            Samples.line("CommentPosted", #"{"video":"vimeo:1","text":"\#($0)"}"#)
        }
        try storectl.succeed(
            "append", "--file", try storectl.file("lines", Array(lines.joined().utf8)))
        var (found, cursor): ([String], String?) = ([], nil)
        repeat {
            let more = cursor.map { ["--cursor", $0] } ?? []
            let page = try storectl.run(
                ["query", "comments", "vimeo:1", "--limit", "7", "--json"] + more
            ).document
            found += page["comments"]?.list?.compactMap { $0["text"]?.text } ?? []
            cursor = page["next"]?.text
        } while cursor != nil
        #expect(found == texts)
    }

    /// A script that counts lines must not take the first page for the complete list.
    @Test func listsCutByTheDefaultLimitSaySoOnStderr() throws {
        let storectl = try Storectl.empty()
        let lines = (1...51).map {
            Samples.line("CommentPosted", #"{"video":"vimeo:1","text":"no. \#($0)"}"#)
        }
        try storectl.succeed("append", "--file", "-", input: lines.joined())
        let query = ["query", "comments", "vimeo:1"]
        let page = try storectl.run(query)
        #expect(page.stdout.split(separator: "\n").count == 50)
        let notice = "there is more: --cursor "
        #expect(page.stderr.hasPrefix(notice))
        let cursor = page.stderr.dropFirst(notice.count).split(separator: "\n")[0]
        let rest = try storectl.run(query + ["--cursor", String(cursor)])
        #expect(rest.stdout.contains("no. 51") && rest.stderr.isEmpty)
        for more in [["--limit", "7"], ["--json"]] {
            #expect(try storectl.run(query + more).stderr.isEmpty)
        }
    }

    @Test func newsStartsAfterThePositionMarkedAsSeen() throws {
        let storectl = try Storectl.empty()
        func share(_ broadcast: String) throws {
            try storectl.succeed(
                "append", "BroadcastReceived",
                #"{"broadcast":"\#(broadcast)","video":"youtube:\#(broadcast)"}"#)
        }
        func news(_ more: String...) throws -> Double? {
            try storectl.run(["query", "news", "--json"] + more).document["newVideos"]?.number
        }
        try share("b1")
        #expect(try news() == 1)
        #expect(try news("--seen") == 1)
        #expect(try news() == 0)
        try share("b2")
        #expect(try news() == 1)
        #expect(try news("--since", "0") == 2)
    }

    @Test func newsByTheRuleOf2012CountsOnlyPlayableVideos() throws {
        let storectl = try Storectl.empty()
        func news(_ more: String...) throws -> String {
            try storectl.run(["query", "news", "--since", "0"] + more).stdout
                .split(separator: "\n").first.map(String.init) ?? ""
        }
        for (broadcast, video) in [("b1", "youtube:a"), ("b2", "youtube:b")] {
            try storectl.succeed(
                "append", "BroadcastReceived",
                #"{"broadcast":"\#(broadcast)","video":"\#(video)"}"#)
        }
        // The 2012 app counted a video only after YouTube had reported it as playable.
        #expect(try news("--rule", "2012") == "news\tnone")
        for video in ["youtube:a", "youtube:b"] {
            try storectl.succeed(
                "append", "PlayabilityChecked", #"{"video":"\#(video)","outcome":"playable"}"#)
        }
        #expect(try news("--rule", "2012") == "news\t2 new videos")
        try storectl.succeed(
            "append", "PlayabilityChecked",
            #"{"video":"youtube:a","outcome":"unplayable","reason":"live"}"#)
        // A failed check does not determine whether the video is playable.
        try storectl.succeed(
            "append", "PlayabilityChecked",
            #"{"video":"youtube:b","outcome":"failed","reason":"timeout"}"#)
        #expect(try news("--rule", "2012") == "news\t1 new video")
        #expect(try news() == "news\t2 new videos")
        // A remote's report is valid for an hour.
        try storectl.succeed(
            "append", "FrameObserved",
            """
            {"frame":"f","video":"youtube:b","firstUnplayableAt":"2020-01-01T00:00:00Z",\
            "lastUnplayableAt":"2020-01-01T00:00:00Z"}
            """)
        #expect(
            try news("--rule", "2012", "--now", "2020-01-01T00:59:59Z") == "news\tnone")
        #expect(
            try news("--rule", "2012", "--now", "2020-01-01T01:00:00Z") == "news\t1 new video")
    }

    @Test func pagesJoinWithoutGapsOrRepeats() throws {
        let storectl = try Storectl.empty()
        try storectl.succeed("append", "--file", "-", input: Samples.toggles(25))
        var keys: [String] = []
        var cursor: String?
        repeat {
            let run = try storectl.run(
                ["query", "watch-later", "--limit", "10", "--json"]
                    + (cursor.map { ["--cursor", $0] } ?? []))
            #expect(run.exit == 0)
            keys += try (run.document["videos"]?.list ?? []).compactMap { $0["key"]?.text }
            cursor = try run.document["next"]?.text
        } while cursor != nil
        #expect(keys.count == 25)
        #expect(Set(keys).count == 25)
    }

    @Test func everyFormOfAVideoNamesTheSameVideo() throws {
        let storectl = try Storectl.demo()
        let expected = try storectl.succeed("query", "comments", "youtube:aqz-KE-bpKQ", "--json")
        for form in [
            "https://www.youtube.com/watch?v=aqz-KE-bpKQ&t=3", "https://youtu.be/aqz-KE-bpKQ",
            "http://www.youtube.com/embed/aqz-KE-bpKQ",
        ] {
            let found = try storectl.succeed("query", "comments", form, "--json")
            #expect(found.stdout == expected.stdout)
        }
    }

    @Test func winnerParameterChoosesTheBroadcast() throws {
        let storectl = try Storectl.demo()
        func winner(_ arguments: String...) throws -> String? {
            let run = try storectl.run(["query", "duplicates", "--json"] + arguments)
            return try run.document["videos"]?[0]?["winner"]?.text
        }
        #expect(try winner() == "demo-1")
        #expect(try winner("--winner", "newest") == "demo-3")
        #expect(try winner("--winner", "oldest") == "demo-1")
    }

    @Test func queriesSeeAppendedEvents() throws {
        let storectl = try Storectl.demo()
        let on = #"{"video":"youtube:new","isOn":true}"#
        try storectl.succeed("append", "WatchLaterToggled", on)
        #expect(try storectl.succeed("query", "watch-later").stdout.contains("youtube:new\t"))
    }

    @Test func showsKnownOnlyByTheirEpisodesListThem() throws {
        let storectl = try Storectl.empty()
        try storectl.succeed(
            "append", "EpisodeScheduled", #"{"show":7,"episode":70,"season":1,"name":"Pilot"}"#)
        let show = try storectl.succeed("query", "show", "7", "--json").document
        #expect(show["name"] == .null)
        #expect(show["episodes"]?[0]?["name"]?.text == "Pilot")
        try storectl.checkFails("query", "show", "8", code: "notFound", exit: 4)
    }

    @Test func textIsTabSeparatedInAPipe() throws {
        let text = try Storectl.demo().succeed("query", "answers").stdout
        let expected =
            "demo-answer\tdemo-question\tpublished\t14.5\t1\thttps://example.org/answer.mp4\n"
        #expect(text.contains(expected))
    }

    @Test func chatsRequireSigningInExceptForGuests() throws {
        let storectl = try Storectl.empty()
        try storectl.succeed("append", "--file", "-", input: Samples.birdTube)
        let chat = ["query", "chat", "youtube:aqz-KE-bpKQ"]
        let refused = try storectl.run(chat + ["--json"])
        #expect(refused.exit == 7)
        #expect(try refused.document["error"]?["code"]?.text == "signInRequired")
        let guest = try storectl.run(chat + ["--guest"])
        #expect(guest.exit == 0)
        try storectl.succeed("append", "SignedIn", #"{"account":"8","system":"birdtube"}"#)
        let shown = try storectl.run(chat)
        #expect(shown.stdout == guest.stdout)
        #expect(shown.stdout.hasPrefix("2016-03-01T12:00:00.000Z\tAda\tshown\ttext\thello\t1\n"))
        let older = try storectl.run(chat + ["--before", "2016-03-01T12:00:01Z"])
        #expect(older.stdout.filter { $0 == "\n" }.count == 1)
    }

    @Test func ownSubmissionsComeFirst() throws {
        let storectl = try Storectl.empty()
        try storectl.succeed("append", "--file", "-", input: Samples.birdTube)
        for order in ["popular", "new"] {
            let run = try storectl.succeed("query", "submissions", "--order", order, "--json")
            let videos = try #require(try run.document["videos"]?.list)
            #expect(videos.compactMap { $0["state"]?.text } == ["submitted", "registered"])
            #expect(videos[1]["views"]?.number == 8 && videos[1]["ownViews"]?.number == 1)
            #expect(videos[1]["nickname"]?.text == "ada")
        }
    }

    @Test func hostileTextCannotControlATerminal() throws {
        let storectl = try Storectl.empty()
        let payload = #"{"video":"youtube:x","text":"\u001b[2J\u202Eevil\nline","author":"a\tb"}"#
        try storectl.succeed("append", "CommentPosted", payload)
        let text = try storectl.succeed("query", "comments", "youtube:x").stdout
        #expect(!text.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x202E })
        #expect(text.filter { $0 == "\n" }.count == 1)
        let json = try storectl.succeed("query", "comments", "youtube:x", "--json")
        #expect(try json.document["comments"]?[0]?["text"]?.text == "\u{1B}[2J\u{202E}evil\nline")
        for asked in [["log", "--json"], ["show", "1", "--json"]] {
            let shown = try storectl.run(asked)
            #expect(!shown.stdout.unicodeScalars.contains { $0.value == 0x202E }, "\(asked)")
            #expect(shown.stdout.contains("\\u202eevil"), "\(asked)")
        }
    }
}
