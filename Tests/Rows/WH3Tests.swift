import Tapedeck
import TapedeckTesting
import Testing

/// WH3: Pages of comments on an answer; a comment that is posted offline appears once.
@Suite struct WH3Tests {
    private func seen(_ number: Int, _ text: String, postedAs: EventID? = nil) -> CommentObserved {
        .with {
            ($0.comment, $0.answer, $0.text) = ("whale:\(number)", "9", text)
            $0.author = "bob"
            if let postedAs { $0.postedAs = postedAs.description }
        }
    }

    @Test func offlineCommentsAppearOnceWhenTheRemoteShowsThem() async throws {
        let stage = try WhaleStage("wh3")
        try await stage.signIn()
        let unknown = await #expect(throws: CommentOnAnswer.Refusal.self) {
            try await stage.decide { try CommentOnAnswer("9", text: "first").decide($0) }
        }
        #expect(unknown == .unknownAnswer)
        try await stage.seeAnswer("9", to: "5")
        let posted = try #require(
            try await stage.decide { try CommentOnAnswer("9", text: "well said").decide($0) })
        try await stage.see(seen(1, "theirs"))
        func comments() async throws -> [CommentEntry] {
            try await stage.ask { try $0.comments(answer: "9").comments }
        }
        #expect(try await comments().map(\.id) == ["whale:1", posted.description])
        #expect(try await comments().map(\.author) == ["bob", "ada"])
        // The remote accepts the comment and shows it, first with the event's ID and later without
        // the ID.
        try await stage.see(seen(2, "well said", postedAs: posted))
        try await stage.see(seen(2, "well said"))
        #expect(try await comments().map(\.id) == ["whale:1", "whale:2"])
        #expect(try await comments().map(\.text) == ["theirs", "well said"])
        #expect(try await stage.ask { try $0.answer("9")?.commentCount } == 2)
        #expect(throws: ModelError.self) { try CommentOnAnswer("9", text: " \n") }
    }

    @Test func commentPagesContinueWhileOthersComment() async throws {
        let stage = try WhaleStage("wh3")
        try await stage.seeAnswer("9", to: "5")
        for number in 1...30 { try await stage.see(seen(number, "c\(number)")) }
        let texts = try await stage.pages {
            let page = try $0.comments(answer: "9", limit: 7, cursor: $1)
            return (page.comments.map(\.text), page.next)
        }
        #expect(texts == (1...30).map { "c\($0)" })
        var next = 30
        let moving = try await stage.pages(
            between: {
                next += 1
                try await stage.see(seen(next, "c\(next)"))
            },
            {
                let page = try $0.comments(answer: "9", limit: 7, cursor: $1)
                return (page.comments.map(\.text), page.next)
            })
        #expect(moving == (1...next).map { "c\($0)" })
    }
}
