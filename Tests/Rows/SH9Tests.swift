import Tapedeck
import TapedeckModel
import Testing

/// SH9: Sharing: Twitter's length limit, "@" names, one intent per destination, recent recipients
/// and the address book.
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

    /// Records the entries that change the address book, and returns their number.
    @discardableResult
    private func note(_ contacts: ContactNoted...) async throws -> Int {
        stage.wait(1)
        let command = try NoteContacts(contacts)
        return try await stage.store.decide { try command.decide(VideoQueries($0)) }?.count ?? 0
    }

    private func contact(_ address: String, _ name: String? = nil) -> ContactNoted {
        .with {
            $0.address = address
            if let name { $0.name = name }
        }
    }

    private func removal(_ address: String) -> ContactNoted {
        .with { ($0.address, $0.removed) = (address, true) }
    }

    private func recipients(_ prefix: String = "") async throws -> [RecipientEntry] {
        try await stage.ask { queries, _ in try queries.recipients(prefix: prefix).recipients }
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
        await #expect(throws: StoreError.self) {
            try await stage.ask { queries, _ in
                try queries.shareText(of: "youtube:aqz-KE-bpKQ", to: "myspace")
            }
        }
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
    func proposedTextNamesTheSharer(origin: String, sharer: String?, text: String) async throws {
        try await receive("Fall", sharer: sharer, origin: origin)
        try await share(["facebook"])
        #expect(try await shares().first?.text == text)
    }

    @Test func untitledVideosGetDefaultText() async throws {
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

    @Test func tweetsAreLimitedTo140Characters() async throws {
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
        let found = try await recipients()
        #expect(found.map(\.address).first == "Ada@example.org")
        #expect(found.map(\.shares) == [2, 1, 1])
        #expect(try await recipients("AL").map(\.address) == ["alan@example.org"])
    }

    // MARK: - The address book

    /// Adds four people to the address book, one of whom is a recent recipient.
    private func noteFour() async throws {
        try await receive("Fall", sharer: nil, origin: "twitter")
        try await share(["email"], text: "1", to: ["grace@example.org"])
        try await note(
            contact("zoe@example.org", "Zoë Ångström"), contact("bob@example.org"),
            contact("ada@example.org", "Ada King  Lovelace"),
            contact("GRACE@Example.org", "Grace Hopper"))
    }

    @Test func contactsFollowRecents() async throws {
        try await noteFour()
        let found = try await recipients()
        #expect(
            found.map(\.address) == [
                "grace@example.org", "ada@example.org", "bob@example.org", "zoe@example.org",
            ])
        #expect(
            found.map(\.name) == ["Grace Hopper", "Ada King Lovelace", nil, "Zoë Ångström"])
        #expect(found.map(\.shares) == [1, 0, 0, 0])
        #expect(found.map { $0.lastAt != nil } == [true, false, false, false])
        try await share(["email"], text: "2", to: ["zoe@example.org"])
        #expect(try await recipients().map(\.address).first == "zoe@example.org")
    }

    @Test(arguments: [
        ("ADA@", ["ada"]), ("love", ["ada"]), ("ada king l", ["ada"]), ("king", ["ada"]),
        ("hop", ["grace"]), ("angs", ["zoe"]), (" zoe", ["zoe"]), ("bo", ["bob"]),
        ("example", []), ("ovelace", []), ("", ["grace", "ada", "bob", "zoe"]),
    ])
    func prefixMatchesAddressesAndWordsOfNames(_ prefix: String, names: [String]) async throws {
        try await noteFour()
        #expect(
            try await recipients(prefix).map(\.address) == names.map { "\($0)@example.org" })
    }

    @Test func pagesContinueFromRecentRecipientsToContacts() async throws {
        try await noteFour()
        for limit in 1...4 {
            var (paged, cursor): ([RecipientEntry], String?) = ([], nil)
            repeat {
                let from = cursor
                let page = try await stage.ask { queries, _ in
                    try queries.recipients(limit: limit, cursor: from)
                }
                #expect(page.recipients.count <= limit && !page.recipients.isEmpty)
                paged += page.recipients
                cursor = page.next
            } while cursor != nil
            #expect(try await recipients() == paged)
        }
    }

    @Test func removedContactsAreNotListed() async throws {
        try await noteFour()
        let before = stage.store.log.head
        try await note(removal("Grace@example.org"), removal("ada@example.org"))
        #expect(try await recipients().map(\.address) == ["bob@example.org", "zoe@example.org"])
        #expect(try await recipients("grace").isEmpty)
        let then = try await stage.store.query(asOf: .position(before)) {
            try VideoQueries($0).recipients().recipients.count
        }
        #expect(then == 4)
        // A later share shows the address again, but not the removed name and the earlier share.
        try await share(["email"], text: "2", to: ["grace@example.org"])
        let again = try #require(try await recipients("grace").first)
        #expect(again.shares == 1 && again.name == nil)
        try await note(removal("grace@example.org"))
        #expect(try await recipients("grace").isEmpty)
        try await note(contact("ada@example.org", "Ada"))
        #expect(try await recipients("ada").map(\.name) == ["Ada"])
    }

    @Test func onlyChangesOfTheAddressBookAreRecorded() async throws {
        let book = [contact("ada@example.org", "Ada"), contact("bob@example.org")]
        #expect(try await note(book[0], book[1]) == 2)
        #expect(try await note(book[0], book[1]) == 0)
        // If an address occurs more than once, its last entry is used.
        #expect(try await note(contact("bob@example.org", "Bob"), book[0], book[1]) == 0)
        #expect(try await note(contact("Ada@example.org", " Ada "), book[1]) == 1)
        #expect(try await note(removal("carl@example.org")) == 0)
        #expect(try await note(removal("bob@example.org")) == 1)
        #expect(try await note(removal("bob@example.org")) == 0)
        #expect(try await recipients().map(\.address) == ["Ada@example.org"])
    }

    @Test(arguments: ["", "ada", "@example.org", "ada@", "a@b@c", "a b@c", "a@b,c"])
    func contactsNeedValidAddresses(address: String) {
        for contact in [contact(address, "Ada"), removal(address)] {
            let error = #expect(throws: ModelError.self) { try NoteContacts([contact]) }
            #expect(error?.code == .invalidPayload)
            #expect(error?.message.hasPrefix("address ") == true)
        }
    }
}
