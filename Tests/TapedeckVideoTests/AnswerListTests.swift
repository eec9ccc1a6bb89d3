import TapedeckModel
import TapedeckVideo
import Testing

@Suite struct AnswerListTests {
    private func list(_ script: Script) throws -> [AnswerEntry] {
        try checkOrderDoesNotMatter(AnswerList(), script.events)
        return try queries(script.events).answers().answers
    }

    @Test func answerIsPublishedOnceItsURLIsKnown() throws {
        var script = Script()
        try script.add(
            "AnswerUploaded", #"{"question":"q1","answer":"a1","durationSeconds":12.5}"#, at: 1)
        #expect(try list(script).first?.state == .uploading)
        try script.add(
            "AnswerUploaded", #"{"question":"q1","answer":"a1","videoUrl":"http://x/1.mp4"}"#, at: 2
        )
        let answer = try #require(try list(script).first)
        #expect(answer.state == .published)
        #expect(answer.durationSeconds == 12.5)
        #expect(answer.id == "a1" && answer.question == "q1")
    }

    @Test func answersAreSortedByFirstReportNewestFirst() throws {
        var script = Script()
        for (id, second) in [("a1", 1.0), ("a2", 3), ("a3", 2), ("a1", 9)] {
            try script.add(
                "AnswerUploaded", #"{"question":"q","answer":"\#(id)"}"#, at: second)
        }
        #expect(try list(script).map(\.id) == ["a2", "a3", "a1"])
    }

    @Test func removedLikesNoLongerCount() throws {
        var script = Script()
        try script.seenAnswer("1", to: "q1", at: 1)
        for id in [3, 4] { try script.seenLike(id, by: "ann", at: 2) }
        try script.seenLike(5, by: "bob", at: 2)
        func likers() throws -> [String?] {
            try checkOrderDoesNotMatter(AnswerList(), script.events)
            return try queries(script.events).likers(of: "1").likers.map(\.user)
        }
        #expect(try likers() == ["ann", "bob"])
        // Another like by the same user remains.
        try script.seenLike(3, by: "ann", removed: true, at: 3)
        #expect(try likers() == ["ann", "bob"])
        try script.seenLike(4, by: "ann", removed: true, at: 3)
        #expect(try likers() == ["bob"])
        try script.seenLike(3, by: "ann", at: 4)
        #expect(try likers() == ["ann", "bob"])
    }

    @Test func commentsBelongToTheirAnswer() throws {
        var script = Script()
        try script.add("CommentPosted", #"{"answer":"a1","text":"second"}"#, at: 5, origin: 2)
        try script.add("CommentPosted", #"{"answer":"a1","text":"first","author":"x"}"#, at: 4)
        #expect(try list(script).isEmpty)
        try script.add("AnswerUploaded", #"{"question":"q","answer":"a1"}"#, at: 3)
        #expect(try list(script).first?.commentCount == 2)
        let comments = try queries(script.events).comments(answer: "a1").comments
        #expect(comments.map(\.text) == ["first", "second"])
    }
}
