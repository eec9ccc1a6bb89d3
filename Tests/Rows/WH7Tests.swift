import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// WH7: A question is asked; an answer is liked, and its likers are listed in pages, each once.
@Suite struct WH7Tests {
    private let stage: WhaleStage

    init() throws { stage = try WhaleStage("wh7") }

    private func likers() async throws -> LikersPage {
        try await stage.ask { try $0.likers(of: "9") }
    }

    private func like(_ isOn: Bool = true) async throws -> EventID? {
        try await stage.decide { try LikeAnswer("9", isOn: isOn).decide($0) }
    }

    private func see(_ like: Int, by user: String) async throws {
        try await stage.see(
            LikeObserved.with { ($0.like, $0.answer, $0.user) = ("\(like)", "9", user) })
    }

    @Test func ownQuestionsWaitUntilTheRemoteShowsThem() async throws {
        try await stage.signIn()
        func ask(_ text: String, _ receiver: String = "2") async throws -> EventID? {
            try await stage.decide { try AskQuestion(receiver, text: text).decide($0) }
        }
        let unknown = await #expect(throws: AskQuestion.Refusal.self) { try await ask("why?") }
        #expect(unknown == .unknownUser)
        try await stage.seeUser("2", "bob")
        let asked = try #require(try await ask("why?"))
        #expect(try await ask("why?") == nil)
        var found = try await stage.ask { try $0.questions(to: "2").questions }
        #expect(found.map(\.id) == [asked.description] && found.first?.state == .asking)
        #expect(found.first?.sender == "1" && found.first?.senderName == "ada")
        #expect(found.first?.receiverName == "bob" && found.first?.text == "why?")
        try await stage.see(
            QuestionObserved.with {
                ($0.question, $0.text, $0.sender, $0.receiver) = ("5", "why?", "1", "2")
                $0.postedAs = asked.description
            })
        found = try await stage.ask { try $0.questions(to: "2").questions }
        #expect(found.map(\.id) == ["5"] && found.first?.state == .open)
        // Asking again creates another question.
        #expect(try await ask("why?") != nil)
        #expect(throws: ModelError.self) { try AskQuestion("2", text: "") }
    }

    @Test func likersAreListedInPagesOnceEach() async throws {
        try await stage.seeAnswer("9", to: "5")
        for number in 1...30 { try await see(number, by: "\(number + 10)") }
        // Some users like the answer again, and one like is observed again.
        for number in 31...40 { try await see(number, by: "\(number - 20)") }
        try await see(3, by: "13")
        var next = 50
        let found = try await stage.pages(
            between: {
                next += 1
                try await see(next, by: "\(next - 40)")
            },
            {
                let page = try $0.likers(of: "9", limit: 4, cursor: $1)
                return (page.likers, page.next)
            })
        #expect(found.compactMap(\.user) == (11...40).map(String.init))
        #expect(found.compactMap(\.like) == (1...30).map(String.init))
        #expect(try await likers().count == 30)
    }

    @Test func repeatedLikesAreCountedOnce() async throws {
        try await stage.signIn()
        let unknown = await #expect(throws: LikeAnswer.Refusal.self) { try await like() }
        #expect(unknown == .unknownAnswer)
        try await stage.seeAnswer("9", to: "5")
        try await see(1, by: "2")
        let intent = try #require(try await like())
        #expect(try await like() == nil)
        var page = try await likers()
        #expect(page.likers.map(\.user) == ["1", "2"] && page.count == 2)
        #expect(page.likers.map(\.state) == [.waiting, .shown])
        #expect(page.likers.first?.username == "ada")
        #expect(try await stage.ask { try $0.answer("9")?.isLiked } == true)
        // With pages of one entry, the first page contains the user's own like.
        let ids = try await stage.pages {
            let page = try $0.likers(of: "9", limit: 1, cursor: $1)
            return (page.likers.map(\.user), page.next)
        }
        #expect(ids == ["1", "2"])

        try await see(7, by: "1")
        try await see(8, by: "1")
        try await stage.recordOutcome(.confirmed, of: intent, on: "answer/9")
        page = try await likers()
        #expect(page.likers.map(\.user) == ["2", "1"] && page.count == 2)
        #expect(page.likers.map(\.state) == [.shown, .shown])
        #expect(try await like() == nil)

        // The remote refuses to remove the like.
        let unlike = try #require(try await like(false))
        #expect(try await stage.ask { try $0.answer("9")?.isLiked } == false)
        try await stage.recordOutcome(.refused, of: unlike, on: "answer/9", code: "notFound")
        #expect(try await stage.ask { try $0.answer("9")?.isLiked } == true)
        #expect(try await likers().count == 2)
    }

    @Test func refusedLikesAreShownButNotCounted() async throws {
        try await stage.signIn()
        try await stage.seeAnswer("9", to: "5")
        let intent = try #require(try await like())
        try await stage.recordOutcome(
            .refused, of: intent, on: "answer/9", code: "remoteError", message: "it is gone")
        let page = try await likers()
        #expect(page.likers.map(\.state) == [.refused] && page.count == 0)
        #expect(page.likers.first?.message == "it is gone")
        #expect(try await stage.ask { try $0.answer("9")?.isLiked } == false)
        try await stage.recordOutcome(.dropped, of: intent, on: "answer/9")
        #expect(try await likers().likers.isEmpty)
    }
}
