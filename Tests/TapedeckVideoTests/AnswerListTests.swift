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

    /// The lists of a single answer.
    private struct Shown: Equatable {
        var comments: CommentsPage
        var likers: LikersPage
        var hits: [SearchHit]

        init(_ script: Script) throws {
            let read = try queries(script.events)
            comments = try read.comments(answer: "1")
            likers = try read.likers(of: "1")
            hits = try read.search("words").hits
        }

        var isEmpty: Bool {
            comments.comments.isEmpty && likers.likers.isEmpty && likers.count == 0 && hits.isEmpty
        }
    }

    @Test func removedAnswerHidesItsCommentsAndLikes() throws {
        var script = Script()
        try script.seenAnswer("1", to: "q1", at: 1)
        try script.seenComment(2, "kind words", at: 2)
        try script.seenLike(3, by: "ann", at: 2)
        try script.add("CommentPosted", #"{"answer":"1","text":"my words"}"#, at: 3)
        try script.add("LikeToggled", #"{"answer":"1","isOn":true}"#, at: 3)
        func shown() throws -> Shown {
            try checkOrderDoesNotMatter(AnswerList(), script.events)
            try checkOrderDoesNotMatter(VideoProjections.standard.searchAnswers, script.events)
            return try Shown(script)
        }
        let before = try shown()
        #expect(before.comments.comments.map(\.text) == ["kind words", "my words"])
        #expect(before.likers.likers.map(\.state) == [.waiting, .shown])
        #expect(before.likers.count == 2 && before.hits.count == 2)
        try script.seenAnswer("1", to: "q1", removed: true, at: 4)
        #expect(try shown().isEmpty)
        try script.seenAnswer("1", to: "q1", at: 5)
        #expect(try shown() == before)
        // Another device observed these before the removal.
        try script.seenAnswer("1", to: "q1", removed: true, at: 6)
        try script.seenComment(4, "more words", at: 5.5)
        try script.seenComment(2, "", removed: true, at: 5.5)
        try script.seenLike(5, by: "bob", at: 5.5)
        #expect(try shown().isEmpty)
        try script.seenAnswer("1", to: "q1", at: 7)
        let after = try shown()
        #expect(after.comments.comments.map(\.text) == ["more words", "my words"])
        #expect(after.likers.likers.map(\.user) == [nil, "ann", "bob"])
        #expect(after.likers.count == 3 && after.hits.count == 2)
        #expect(try queries(script.events).answer("1")?.commentCount == 2)
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
