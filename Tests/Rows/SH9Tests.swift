import Tapedeck
import TapedeckModel
import Testing

/// SH9: Sharing: Twitter's length limit, "@" names, one intent per destination, and recent recipients.
@Suite struct SH9Tests {
    private let stage: PlaybackStage

    init() throws { stage = try PlaybackStage("sh9") }

    private func receive(_ title: String?, sharer: String?, origin: String) async throws {
        var said = BroadcastReceived()
        (said.broadcast, said.video, said.origin) = ("b", "vimeo:7", origin)
        if let title { said.title = title }
        if let sharer { said.sharer = sharer }
        try await stage.store.append([said])
    }

    private func share(
        _ destinations: [String], text: String? = nil, to recipients: [String] = []
    ) async throws {
        stage.wait(1)
        let command = try ShareVideo(
            "https://vimeo.com/7", to: destinations, text: text, recipients: recipients)
        try await stage.store.decide { try command.decide(VideoQueries($0)) }
    }

    private func shares() async throws -> [ShareEntry] {
        try await stage.ask { queries, _ in try queries.shares().shares }
    }

    @Test func aShortLinkReplacesTheAddressOfThePage() async throws {
        try await stage.store.append([
            BroadcastReceived.with {
                ($0.broadcast, $0.video) = ("short", "youtube:aqz-KE-bpKQ")
                ($0.title, $0.shortLink) = ("Bunny", "http://shl.by/a")
            }
        ])
        let text = try await stage.ask { queries, _ in
            try queries.shareText(of: "youtube:aqz-KE-bpKQ", to: "facebook").text
        }
        #expect(text == "\"Bunny\" on http://shl.by/a")
    }

    @Test func eachDestinationIsASeparateIntent() async throws {
        try await receive("Fall", sharer: nil, origin: "twitter")
        try await share(["twitter", "email"], text: "look", to: ["ada@example.org"])
        let found = try await shares()
        #expect(Set(found.map(\.destinations)) == [["twitter"], ["email"]])
        #expect(Set(found.map(\.id)).count == 2)
        let mail = found.first { $0.destinations == ["email"] }
        #expect(mail?.recipients == ["ada@example.org"])
        #expect(found.first { $0.destinations == ["twitter"] }?.recipients.isEmpty == true)
    }

    @Test(arguments: [
        ("twitter", "Ann", #""Fall" on https://vimeo.com/7 via @ann"#),
        ("twitter", "@Ann", #""Fall" on https://vimeo.com/7 via @ann"#),
        ("twitter", "Ann B.", #""Fall" on https://vimeo.com/7 via ann b."#),
        ("facebook", "Ann", #""Fall" on https://vimeo.com/7 via ann"#),
        ("twitter", nil, #""Fall" on https://vimeo.com/7"#),
    ])
    func proposedTextsNameTheSharer(origin: String, sharer: String?, text: String) async throws {
        try await receive("Fall", sharer: sharer, origin: origin)
        try await share(["facebook"])
        #expect(try await shares().first?.text == text)
    }

    @Test func untitledVideosGetADefaultText() async throws {
        try await receive(nil, sharer: nil, origin: "twitter")
        try await share(["tumblr"])
        #expect(try await shares().first?.text == "Great video on https://vimeo.com/7")
    }

    @Test func longTitlesAreCutForTwitter() async throws {
        let title = String(repeating: "a\u{301}", count: 100)
        try await receive(title, sharer: "ann", origin: "twitter")
        try await share(["twitter", "facebook"])
        let texts = try await shares().map { ($0.destinations, $0.text) }
        let tweet = try #require(texts.first { $0.0 == ["twitter"] }?.1)
        let rest = "\" on https://vimeo.com/7 via @ann"
        #expect(tweet.hasPrefix("\"a\u{301}a\u{301}") && tweet.hasSuffix("…" + rest))
        // An accent is never separated from its letter.
        #expect((139...140).contains(tweet.unicodeScalars.count))
        #expect(texts.first { $0.0 == ["facebook"] }?.1 == "\"\(title)" + rest)
    }

    @Test func twitterTextsAreLimitedTo140Characters() async throws {
        try await receive("Fall", sharer: nil, origin: "twitter")
        try await share(["twitter"], text: String(repeating: "é", count: 140))
        let long = String(repeating: "x", count: 143)
        let error = await #expect(throws: StoreError.self) {
            try await share(["facebook", "twitter"], text: long)
        }
        #expect(error?.code == .tooLarge)
        #expect(error?.message.contains("140 characters by 3") == true)
        // The refused share recorded nothing; without Twitter as a destination, the same text is
        // accepted.
        #expect(try await shares().count == 1)
        try await share(["facebook"], text: long)
        #expect(try await shares().count == 2)
    }

    @Test func invalidSharesAreRefused() {
        #expect(throws: ModelError.self) { try ShareVideo("vimeo:7", to: []) }
        #expect(throws: ModelError.self) { try ShareVideo("vimeo:7", to: ["myspace"]) }
        #expect(throws: ModelError.self) { try ShareVideo("vimeo:7", to: ["email"]) }
        for text in ["", " \n"] {
            #expect(throws: ModelError.self) {
                try ShareVideo("vimeo:7", to: ["twitter"], text: text)
            }
        }
        for address in ["ada", "@example.org", "ada@", "a@b@c", "a b@c", "a@b,c@d"] {
            #expect(throws: ModelError.self) {
                try ShareVideo("vimeo:7", to: ["email"], recipients: [address])
            }
        }
    }

    @Test func unknownVideosAreRefused() async throws {
        let error = await #expect(throws: ShareVideo.Refusal.self) {
            try await share(["twitter"], text: "look")
        }
        #expect(error == .unknownVideo)
    }

    @Test func recentRecipientsAreProposed() async throws {
        try await receive("Fall", sharer: nil, origin: "twitter")
        try await share(["email"], text: "1", to: ["ada@example.org", "grace@example.org"])
        try await share(["email"], text: "2", to: ["alan@example.org"])
        try await share(["email"], text: "3", to: ["Ada@example.org", "ada@EXAMPLE.org"])
        let found = try await stage.ask { queries, _ in try queries.recipients().recipients }
        #expect(found.map(\.address).first == "Ada@example.org")
        #expect(found.map(\.shares) == [2, 1, 1])
        let some = try await stage.ask { queries, _ in try queries.recipients(prefix: "AL") }
        #expect(some.recipients.map(\.address) == ["alan@example.org"])
    }
}
