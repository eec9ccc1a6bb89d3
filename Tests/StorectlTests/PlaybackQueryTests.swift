import Testing

/// What a player asks, on the command line.
struct PlaybackQueryTests {
    @Test func aFailedCheckIsDueAgainByTheTimeThatIsGiven() throws {
        let storectl = try Storectl.empty()
        try storectl.succeed(
            "append", "PlayabilityChecked",
            #"{"video":"vimeo:7","outcome":"failed","reason":"timeout","retryAfterSeconds":60}"#,
            "--at", "2014-01-01T00:00:00Z")
        func due(_ now: String) throws -> String {
            try storectl.succeed(
                "query", "playability", "--state", "due", "--now", now
            ).stdout
        }
        #expect(try due("2014-01-01T00:00:59Z").isEmpty)
        #expect(
            try due("2014-01-01T00:01:00Z")
                == "vimeo:7\tfailed\ttimeout\t2014-01-01T00:00:00.000Z\t1\t2014-01-01T00:01:00.000Z\tyes\n"
        )
    }

    @Test func anAddressIsGoodByTheTimeThatIsGiven() throws {
        let storectl = try Storectl.demo()
        func state(_ now: String) throws -> String? {
            let run = try storectl.succeed(
                "query", "extractions", "https://vimeo.com/1084537", "--now", now, "--json")
            return try run.document["videos"]?[0]?["state"]?.text
        }
        #expect(try state("2012-05-03T21:08:59.999Z") == "good")
        #expect(try state("2012-05-03T21:09:00Z") == "expired")
    }

    @Test func aQueueIsChangedByItsEvents() throws {
        let storectl = try Storectl.empty()
        for video in ["vimeo:1", "vimeo:2"] {
            try storectl.succeed("append", "VideoQueued", #"{"video":"\#(video)"}"#)
        }
        try storectl.succeed(
            "append", "VideoQueuedNext", #"{"video":"vimeo:3","after":"vimeo:1"}"#)
        let run = try storectl.succeed("query", "queue", "--json")
        let videos = try run.document["videos"]?.list?.map { $0["video"]?.text }
        #expect(videos == ["vimeo:1", "vimeo:3", "vimeo:2"])
    }

    @Test func whereAVideoWasLeftIsTold() throws {
        let run = try Storectl.demo().succeed("query", "playback", "--json")
        let video = try run.document["videos"]?[0]
        #expect(video?["video"]?.text == "youtube:aqz-KE-bpKQ")
        #expect(video?["state"]?.text == "inProgress")
    }
}
