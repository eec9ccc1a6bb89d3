import Tapedeck
import TapedeckTesting
import Testing

/// WH2: Answers are read page by page, with video, picture, question, author of the question and
/// counts, while the list changes.
@Suite struct WH2Tests {
    @Test func answersIncludeTheirQuestionAndCounts() async throws {
        let stage = try WhaleStage("wh2")
        try await stage.signIn()
        try await stage.seeUser("2", "bob")
        try await stage.seeQuestion("5", from: "2", to: "1")
        try await stage.seeAnswer("9", to: "5")
        try await stage.see(
            CommentObserved.with { ($0.comment, $0.answer, $0.text) = ("whale:1", "9", "nice") })
        let answer = try #require(try await stage.ask { try $0.answers().answers.first })
        #expect(answer.id == "9" && answer.state == .published && answer.question == "5")
        #expect(answer.videoUrl == "https://media.example.org/9.mp4")
        #expect(answer.thumbnailUrl == "https://media.example.org/9.jpg")
        #expect(answer.questionText == "why 5?")
        #expect(answer.sender == "2" && answer.senderName == "bob")
        #expect(answer.receiver == "1" && answer.receiverName == "ada")
        #expect(answer.likeCount == 4 && answer.commentCount == 1 && !answer.isLiked)
        #expect(try await stage.ask { try $0.answer("9") } == answer)
        #expect(try await stage.ask { try $0.answer("10") } == nil)
    }

    @Test func pagesStayCompleteWhileTheListChanges() async throws {
        let stage = try WhaleStage("wh2")
        for number in 1...40 { try await stage.seeAnswer("\(number)", to: "\(number)") }
        // Between pages, new answers arrive and old ones are observed again.
        let ids = try await stage.pages(
            between: {
                let head = Int(stage.store.log.head.rawValue)
                try await stage.seeAnswer("\(1_000 + head)", to: "\(1_000 + head)")
                try await stage.seeAnswer("7", to: "7")
            },
            {
                let page = try $0.answers(limit: 6, cursor: $1)
                return (page.answers.map(\.id), page.next)
            })
        #expect(ids == (1...40).reversed().map(String.init))
    }
}
