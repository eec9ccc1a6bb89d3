import TapedeckConnectors
import TapedeckModel
import Testing

/// A document with one bad element, and the expected path and error code.
struct BadElement: CustomTestStringConvertible {
    let resource: String
    let json: String
    let path: String
    let code: ErrorCode
    /// The number of facts that are read despite the bad element.
    let kept: Int

    init(_ resource: String, _ json: String, _ path: String, _ code: ErrorCode, kept: Int = 0) {
        (self.resource, self.json, self.path) = (resource, json, path)
        (self.code, self.kept) = (code, kept)
    }

    var testDescription: String { "\(resource) \(path) \(json.prefix(50))" }
}

@Suite struct HostileDocumentTests {
    static let good = #"{"id":9,"show":{"id":8}}"#
    static let broadcast =
        #""_id":"1","video_provider_name":"youtube","video_id_at_provider":"a""#

    static let bad: [BadElement] = [
        BadElement(
            "tvmaze/schedule", "[\(good),{\"id\":1,\"show\":{\"id\":2,\"name\":7}}]",
            "$[1].show.name",
            .invalidPayload, kept: 2),
        BadElement(
            "tvmaze/schedule", "[{\"id\":\"1\",\"show\":{\"id\":2}},\(good)]", "$[0].id",
            .invalidPayload, kept: 2),
        BadElement("tvmaze/schedule", "[7,\(good)]", "$[0]", .invalidPayload, kept: 2),
        BadElement(
            "tvmaze/schedule", "[{\"id\":1},\(good)]", "$[0].show", .invalidPayload, kept: 2),
        BadElement(
            "tvmaze/schedule-web",
            #"[{"id":1,"airstamp":"2019-99-99T00:00:00Z","_embedded":{"show":{"id":2}}}]"#,
            "$[0].airstamp", .invalidTime),
        BadElement(
            "tvmaze/show", #"{"id":1,"premiered":"2019-99-99"}"#, "$.premiered", .invalidTime),
        BadElement("tvmaze/show", #"{"id":-1}"#, "$.id", .invalidPayload),
        BadElement("tvmaze/show", #"{"id":0}"#, "$.id", .invalidPayload),
        BadElement("tvmaze/show", #"{"name":"x"}"#, "$.id", .invalidPayload),
        BadElement("tvmaze/show", #"{"id":1180591620717411303424}"#, "$.id", .invalidPayload),
        BadElement("tvmaze/show", #"{"id":1e400}"#, "$.id", .invalidPayload),
        BadElement("tvmaze/show", #"{"id":1,"runtime":1e400}"#, "$.runtime", .invalidPayload),
        BadElement("tvmaze/show", #"{"id":1,"runtime":-5}"#, "$.runtime", .invalidPayload),
        BadElement(
            "tvmaze/show", #"{"id":1,"updated":253402300800}"#, "$.updated", .invalidPayload),
        BadElement("tvmaze/show", #"{"id":1,"genres":["a",null]}"#, "$.genres[1]", .invalidPayload),
        BadElement("tvmaze/show", #"{"id":1,"genres":"Drama"}"#, "$.genres", .invalidPayload),
        BadElement(
            "tvmaze/show", #"{"id":1,"network":{"name":"x"}}"#, "$.network.id", .invalidPayload),
        BadElement(
            "tvmaze/show", #"{"id":1,"network":{"id":1,"country":"US"}}"#, "$.network.country",
            .invalidPayload),
        BadElement("tvmaze/show", #"{"id":1,"image":"http://x"}"#, "$.image", .invalidPayload),
        BadElement(
            "tvmaze/show", #"{"id":1,"summary":"\#(String(repeating: "x", count: 65_537))"}"#,
            "$.summary", .tooLarge),
        BadElement(
            "tvmaze/show", #"{"id":1,"_embedded":{"episodes":[{"id":1},{"id":"x"},{"id":3}]}}"#,
            "$._embedded.episodes[1].id", .invalidPayload, kept: 3),
        BadElement(
            "tvmaze/cast", #"[{"person":{"id":1},"character":{"id":2}},{"person":{"id":1}}]"#,
            "$[1].character", .invalidPayload, kept: 1),
        BadElement("tvmaze/cast", "{}", "$", .invalidPayload),
        BadElement("tvmaze/search", #"{"shows":[]}"#, "$", .invalidPayload),
        BadElement("tvmaze/show", "null", "$", .remoteError),
        BadElement("tvmaze/show", "7", "$", .invalidPayload),
        BadElement("tvmaze/show", "", "$", .malformedJSON),
        BadElement("tvmaze/show", "<html>", "$", .malformedJSON),
        BadElement("tvmaze/show", #"{"id":1"#, "$", .malformedJSON),
        BadElement(
            "tvmaze/schedule", #"{"name":"Too Many Requests","message":"","code":0,"status":429}"#,
            "$", .remoteError),
        BadElement("tvmaze/show", String(repeating: "[", count: 10_000), "$", .tooLarge),
        BadElement(
            "tvmaze/show", String(repeating: #"{"a":"#, count: 10_000), "$", .tooLarge),
        BadElement("shelby/broadcasts", #"{"err":"no such channel"}"#, "$", .remoteError),
        BadElement("shelby/broadcasts", "null", "$", .remoteError),
        BadElement("shelby/broadcasts", "[{}]", "$[0].id", .invalidPayload),
        BadElement(
            "shelby/broadcasts", #"[{"_id":"1","video_provider_name":"youtube"}]"#,
            "$[0].video_id_at_provider", .invalidPayload),
        BadElement(
            "shelby/broadcasts", #"[{"_id":"1","video_id_at_provider":"a"}]"#,
            "$[0].video_provider_name", .invalidPayload),
        BadElement(
            "shelby/broadcasts",
            #"[{"_id":"1","video_provider_name":"youtube","video_id_at_provider":"&t=1"}]"#,
            "$[0].video_id_at_provider", .invalidVideo),
        BadElement(
            "shelby/broadcasts",
            "[{\(broadcast),\"created_at\":\"5m ago\"}]",
            "$[0].created_at", .invalidTime),
        BadElement(
            "shelby/broadcasts",
            "[{\(broadcast),\"liked_by_owner\":2}]",
            "$[0].liked_by_owner", .invalidPayload),
        // BirdTube sends errors with status 200.
        BadElement(
            "birdtube/videos", #"{"result":"error","message":"no tables"}"#, "$", .remoteError),
        BadElement("birdtube/videos", #"{"result":"success"}"#, "$.video_list", .invalidPayload),
        BadElement("birdtube/videos", #"{"video_list":[]}"#, "$", .remoteError),
        BadElement("birdtube/videos", "[]", "$", .invalidPayload),
        BadElement(
            "birdtube/videos", videos("{}"), "$.video_list[1].video_id", .invalidPayload, kept: 1),
        BadElement(
            "birdtube/videos", videos(##"{"video_id":"#"}"##), "$.video_list[1].video_id",
            .invalidVideo, kept: 1),
        BadElement(
            "birdtube/videos", videos(#"{"video_id":"b","viewer":-1}"#), "$.video_list[1].viewer",
            .invalidPayload, kept: 1),
        BadElement(
            "birdtube/videos", videos(#"{"video_id":"b","created_time":"soon"}"#),
            "$.video_list[1].created_time", .invalidTime, kept: 1),
        BadElement(
            "birdtube/videos", videos(#"{"video_id":"b","created_time":1e300}"#),
            "$.video_list[1].created_time", .invalidTime, kept: 1),
        BadElement(
            "birdtube/videos", videos(#"{"video_id":"b","owner":{}}"#), "$.video_list[1].owner",
            .invalidPayload, kept: 1),
        BadElement(
            "birdtube/videos", videos(#"{"video_id":"b","channel_url":7}"#),
            "$.video_list[1].channel_url", .invalidPayload, kept: 1),
        BadElement("birdtube/messages", "{}", "$", .remoteError),
        BadElement("birdtube/messages", messages("7"), "$[1]", .invalidPayload, kept: 1),
        BadElement(
            "birdtube/messages", messages(#"{"id":2}"#), "$[1].timestamp", .invalidPayload, kept: 1),
        BadElement(
            "birdtube/messages", messages(#"{"timestamp":2}"#), "$[1].messageId", .invalidPayload,
            kept: 1),
        BadElement(
            "birdtube/messages", messages(#"{"id":2,"timestamp":9223372036854775807}"#),
            "$[1].timestamp", .invalidPayload, kept: 1),
        BadElement(
            "birdtube/messages", messages(#"{"id":2,"timestamp":1,"type":"shout"}"#), "$[1]",
            .invalidPayload, kept: 1),
        BadElement(
            "birdtube/messages", messages(#"{"id":2,"timestamp":1,"file":{"name":"a"}}"#),
            "$[1].file.url", .invalidPayload, kept: 1),
        BadElement(
            "birdtube/messages", messages(#"{"id":2,"timestamp":1,"temp_id":[]}"#),
            "$[1].temp_id", .invalidPayload, kept: 1),
        BadElement(
            "birdtube/messages", messages(#"{"id":2,"timestamp":1,"isBlocked":"no"}"#),
            "$[1].isBlocked", .invalidPayload, kept: 1),
    ]

    /// Returns a BirdTube list with a good row and another row.
    private static func videos(_ other: String) -> String {
        #"{"result":"success","video_list":[{"video_id":"a"},\#(other)]}"#
    }

    /// Returns the messages of a chat: a good message and another message.
    private static func messages(_ other: String) -> String {
        #"[{"id":1,"timestamp":1},\#(other)]"#
    }

    @Test(arguments: bad)
    func badElementsAreRefusedWithTheirPaths(_ element: BadElement) throws {
        let result = try IngestResource.named(element.resource)
            .read(Array(element.json.utf8), show: 1, video: "youtube:a")
        #expect(result.refused.map(\.path) == [element.path])
        #expect(result.refused.map(\.code) == [element.code])
        #expect(result.proposals.count == element.kept)
    }

    @Test func malformedDocumentErrorsNameLineAndColumn() throws {
        let result = try IngestResource.named("tvmaze/show").read(Array("{\n\"id\": x}".utf8))
        #expect(result.refused.first?.message.contains("line 2, column 7") == true)
    }

    @Test func truncatedDocumentsAreRefused() throws {
        let json = Array(
            #"[{"id":1,"airstamp":"2019-07-11T05:30:00Z","show":{"id":2,"genres":["\u00e9"]}}]"#
                .utf8)
        for resource in IngestResource.all {
            for count in json.indices {
                let result = try resource.read(
                    Array(json[..<count]), show: 1, video: "youtube:a")
                #expect(result.refused.map(\.path) == ["$"])
            }
        }
    }

    @Test func randomDocumentsDoNotCrashTheReader() throws {
        var generator = SeededGenerator(seed: runSeed)
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"id\"", "\"show\"", "1", "-1", "null", "true", "\"x\"",
            "\"_embedded\"", "\"name\"", "\u{0}", "\\", "\"", "1e9", "é", "\"_id\"", "\"err\"",
            "\"result\"", "\"success\"", "\"video_list\"", "\"messages\"", "\"timestamp\"",
        ]
        for _ in 0..<4_000 {
            let count = Int.random(in: 0..<30, using: &generator)
            let json = (0..<count).compactMap { _ in pieces.randomElement(using: &generator) }
                .joined()
            for resource in IngestResource.all {
                _ = try resource.read(Array(json.utf8), show: 1, video: "youtube:a")
            }
        }
    }
}
