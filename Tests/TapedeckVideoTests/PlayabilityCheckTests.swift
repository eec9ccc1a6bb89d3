import TapedeckVideo
import Testing

/// The requests that ask providers whether a video can be played, and their answers.
@Suite struct PlayabilityCheckTests {
    private static let denied = PlayabilityFinding.unplayable(reason: "embedding-denied")
    private static let unexpected = PlayabilityFinding.failed(reason: "unexpected-answer")

    /// An answer and the finding for it.
    struct Answer: CustomTestStringConvertible, Sendable {
        let status: Int
        let body: String
        let finding: PlayabilityFinding
        var testDescription: String { "\(status) \(body.prefix(40))" }

        init(_ status: Int, _ body: String, _ finding: PlayabilityFinding) {
            (self.status, self.body, self.finding) = (status, body, finding)
        }
    }

    static let answers: [Answer] = [
        Answer(
            200, #"{"type":"video","version":"1.0","title":"Big Buck Bunny","html":"<iframe>"}"#,
            .playable),
        Answer(200, #"{"type":"video","domain_status_code":200}"#, .playable),
        Answer(200, #"{"type":"video","domain_status_code":403}"#, denied),
        // YouTube has been known to answer like this for private videos.
        Answer(200, "Forbidden", unexpected),
        Answer(200, #"{"type":"link","version":"1.0"}"#, unexpected),
        Answer(200, #"["type","video"]"#, unexpected),
        Answer(200, "<html>Sign in to this network</html>", unexpected),
        Answer(200, "", unexpected),
        Answer(401, "Unauthorized", denied),
        Answer(403, "Forbidden", denied),
        Answer(403, "", denied),
        Answer(
            403, "\n<!DOCTYPE html><title>Verify to continue</title>", .failed(reason: "blocked")),
        Answer(404, "Not Found", .unplayable(reason: "gone")),
        Answer(302, "", .failed(reason: "status-302")),
        Answer(400, "Bad Request", .failed(reason: "status-400")),
        Answer(429, "", .failed(reason: "status-429")),
        Answer(503, #"{"type":"video"}"#, .failed(reason: "status-503")),
    ]

    @Test(arguments: answers)
    func answersBecomeFindings(_ given: Answer) throws {
        for video in ["youtube:aqz-KE-bpKQ", "vimeo:1084537"] {
            let check = PlayabilityCheck(try VideoKey(video))
            let finding = check.finding(status: given.status, body: Array(given.body.utf8))
            #expect(finding == given.finding)
        }
    }

    @Test func answersThatAreTooLargeCountAsUnexpected() throws {
        let check = PlayabilityCheck(try VideoKey("vimeo:1084537"))
        let filling = String(repeating: " ", count: PlayabilityCheck.answerBytesMax)
        let body = Array((#"{"type":"video"}"# + filling).utf8)
        #expect(check.finding(status: 200, body: body) == Self.unexpected)
    }

    @Test func providersAreAskedAboutThePageOfTheVideo() throws {
        #expect(
            try PlayabilityCheck(VideoKey("https://youtu.be/aqz-KE-bpKQ"))
                == .ask(
                    url: "https://www.youtube.com/oembed?format=json"
                        + "&url=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3Daqz-KE-bpKQ"))
        #expect(
            try PlayabilityCheck(VideoKey("vimeo:1084537"))
                == .ask(
                    url: "https://vimeo.com/api/oembed.json"
                        + "?url=https%3A%2F%2Fvimeo.com%2F1084537"))
    }

    @Test func responseIsIgnoredIfTheIDIsMalformed() throws {
        let check = PlayabilityCheck(try VideoKey("vimeo:abc"))
        #expect(check.url == nil)
        #expect(check.finding == .unplayable(reason: "malformed-id"))
        #expect(
            check.finding(status: 200, body: Array(#"{"type":"video"}"#.utf8)) == check.finding)
    }

    @Test func findingsCanBeRecorded() throws {
        for answer in Self.answers {
            let finding = PlayabilityCheck(try VideoKey("vimeo:7")).finding(
                status: answer.status, body: Array(answer.body.utf8))
            let events = try CheckPlayability(
                try VideoKey("vimeo:7"), finding, now: UTCTime(milliseconds: 1)
            ).decide(Playability.State())
            let event = try #require(events.first as? PlayabilityChecked)
            #expect(throws: Never.self) { try event.normalized() }
        }
    }
}
