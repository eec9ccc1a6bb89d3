import TestSupport
import Testing

/// The queries of a player, on the command line.
@Suite(.offTasks) struct PlaybackQueryTests {
    @Test func failedChecksAreDueByTheGivenTime() throws {
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
                == """
                vimeo:7\tfailed\ttimeout\t2014-01-01T00:00:00.000Z\t1\t2014-01-01T00:01:00.000Z\tyes\t\
                https://vimeo.com/api/oembed.json?url=https%3A%2F%2Fvimeo.com%2F7

                """)
    }

    /// As in the apps of 2013, a report expires after an hour.
    ///
    /// If the first and last reports are more than two days apart, the last report never expires.
    @Test func savedDashboardsDeterminePlayability() throws {
        let first: Int64 = 1_577_836_800_000
        func state(last: Int64, _ now: String) throws -> String? {
            let storectl = try Storectl.empty()
            try storectl.succeed(
                "ingest", "shelby/dashboard", "-",
                input: """
                    {"status":200,"result":[{"id":"4f0000000000000000000009","action":0,"frame":{
                    "id":"4f0000000000000000000001","creator":{"id":"x"},"video":{
                    "provider_name":"youtube","provider_id":"abc",
                    "first_unplayable_at":\(first),"last_unplayable_at":\(last)}}}]}
                    """)
            let run = try storectl.succeed(
                "query", "playability", "youtube:abc", "--now", now, "--json")
            return try run.document["videos"]?[0]?["state"]?.text
        }
        let soon = first + 100_000
        #expect(try state(last: soon, "2020-01-01T01:01:39Z") == "unplayable")
        #expect(try state(last: soon, "2020-01-01T01:01:40Z") == "unknown")
        #expect(try state(last: first + 48 * 3_600_000, "2020-01-04T00:00:00Z") == "unknown")
        #expect(try state(last: first + 48 * 3_600_000 + 1, "2040-01-01") == "unplayable")
    }

    @Test func contentURLsAreGoodOrExpiredAtTheGivenTime() throws {
        let storectl = try Storectl.demo()
        func state(_ now: String) throws -> String? {
            let run = try storectl.succeed(
                "query", "extractions", "https://vimeo.com/1084537", "--now", now, "--json")
            return try run.document["videos"]?[0]?["state"]?.text
        }
        #expect(try state("2012-05-03T21:08:59.999Z") == "good")
        #expect(try state("2012-05-03T21:09:00Z") == "expired")
    }

    @Test func queueEventsChangeTheQueue() throws {
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

    @Test func videosInProgressAreListed() throws {
        let run = try Storectl.demo().succeed("query", "playback", "--json")
        let video = try run.document["videos"]?[0]
        #expect(video?["video"]?.text == "youtube:aqz-KE-bpKQ")
        #expect(video?["state"]?.text == "inProgress")
    }
}
