import TapedeckModel
import TapedeckVideo
import Testing

/// Lists that combine a remote's answers, questions, comments and users with local events.
@Suite struct WhaleListTests {
    private func makeQueries(_ script: Script) throws -> VideoQueries<FoldedReader> {
        try queries(script.events)
    }

    @Test func commentPostedHereAndSeenRemotelyIsListedOnce() throws {
        var script = Script()
        try script.add("CommentPosted", #"{"answer":"1","text":"mine"}"#, at: 50)
        let posted = try #require(script.events.last?.id)
        try script.seenComment(12, "theirs", author: "bob")
        try script.seenComment(7, "first", author: "ann")
        try checkOrderDoesNotMatter(AnswerList(), script.events)
        var comments = try queries(script.events).comments(answer: "1").comments
        // Comments from the remote are sorted by number, followed by local comments that the remote
        // does not show yet.
        #expect(comments.map(\.text) == ["first", "theirs", "mine"])
        try script.seenComment(9, "mine", author: "me", postedAs: posted)
        // This later observation does not contain the id of the comment's event.
        try script.seenComment(9, "mine", author: "me", at: 60)
        try checkOrderDoesNotMatter(AnswerList(), script.events)
        try script.seenAnswer("1", to: "q")
        comments = try queries(script.events).comments(answer: "1").comments
        #expect(comments.map(\.id) == ["whale:7", "whale:9", "whale:12"])
        #expect(comments.map(\.author) == ["ann", "me", "bob"])
        #expect(comments[1].at?.milliseconds == Script.time(50))
        #expect(try queries(script.events).answers().answers.first?.commentCount == 3)
    }

    @Test func videosCountRemoteComments() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, comment: "look")
        try script.comment("mine", at: 50)
        let posted = try #require(script.events.last?.id)
        try script.seenComment(3, "mine", video: "youtube:one", created: 40, postedAs: posted)
        try script.seenComment(2, "edited", video: "youtube:one", created: 30, at: 70)
        try script.seenComment(2, "before", video: "youtube:one", created: 60, at: 65)
        try checkOrderDoesNotMatter(VideoList(), script.events)
        let video = try #require(try queries(script.events).videos().videos.first)
        #expect(video.comments.map(\.text) == ["look", "edited", "mine"])
        #expect(video.commentCount == 3)
    }

    @Test func localAndRemoteCommentsShareOnePagedList() throws {
        var script = Script()
        for number in 1...25 {
            try script.seenComment(number, "r\(number)")
            try script.add("CommentPosted", #"{"answer":"1","text":"p"}"#, at: Double(number))
        }
        let queries = try queries(script.events)
        var (ids, cursor): ([String], String?) = ([], nil)
        repeat {
            let page = try queries.comments(answer: "1", limit: 7, cursor: cursor)
            ids += page.comments.map(\.id)
            cursor = page.next
        } while cursor != nil
        #expect(ids.prefix(25) == (1...25).map { "whale:\($0)" }[...])
        #expect(ids.count == 50 && Set(ids).count == 50)
    }

    @Test func clearedCountsAreNilAndAbsentCountsAreKept() throws {
        func likes(_ script: Script) throws -> Int? {
            try checkOrderDoesNotMatter(AnswerList(), script.events)
            return try queries(script.events).answers().answers.first?.likeCount
        }
        var script = Script()
        try script.seenAnswer("1", to: "q", likes: 3, at: 1)
        try script.seenAnswer("1", to: "q", at: 2)
        #expect(try likes(script) == 3)
        try script.seenAnswer("1", to: "q", cleared: ["likeCount"], at: 3)
        #expect(try likes(script) == nil)
        try script.seenAnswer("1", to: "q", likes: 0, at: 4)
        #expect(try likes(script) == 0)
    }

    @Test func recordedAnswerWaitsUntilARemoteShowsIt() throws {
        var script = Script()
        try script.seenQuestion("5", "why?")
        let digest = String(repeating: "0a", count: 32)
        try script.add(
            "AnswerRecorded",
            """
            {"question":"5","blob":"\(digest)","thumbnail":"\(digest)","durationSeconds":12,
             "videoExtension":"MOV","thumbnailExtension":"jpg"}
            """, at: 9)
        try script.seenAnswer("3", to: "4")
        var answers = try queries(script.events).answers().answers
        #expect(answers.map(\.state) == [.waiting, .published])
        #expect(answers.first?.id == script.events[1].id.description)
        #expect(answers.first?.durationSeconds == 12)
        #expect(try queries(script.events).questions().questions.map(\.state) == [.answering])
        // With one entry per page, the published answers follow on the page after the waiting
        // answers.
        let first = try queries(script.events).answers(limit: 1)
        let second = try queries(script.events).answers(limit: 1, cursor: first.next)
        #expect((first.answers + second.answers).map(\.id) == answers.map(\.id))
        #expect(second.next == nil)
        try script.seenAnswer("12", to: "5")
        answers = try queries(script.events).answers().answers
        #expect(answers.map(\.id) == ["12", "3"])
        #expect(try queries(script.events).questions().questions.isEmpty)
        let all = try queries(script.events).questions(isPending: false).questions
        #expect(all.map(\.state) == [.answered] && all.first?.answer == "12")
    }

    @Test func removedAnswerLeavesTheListAndReturns() throws {
        var script = Script()
        try script.seenQuestion("5", "why?", at: 1)
        try script.seenAnswer("3", to: "5", likes: 2, at: 2)
        try script.add("AnswerUploaded", #"{"question":"5","answer":"3"}"#, at: 3)
        func answers() throws -> [String] {
            try checkOrderDoesNotMatter(AnswerList(), script.events)
            try checkOrderDoesNotMatter(QuestionList(), script.events)
            return try queries(script.events).answers().answers.map(\.id)
        }
        func questions() throws -> [QuestionEntry.State] {
            try queries(script.events).questions(isPending: false).questions.map(\.state)
        }
        #expect(try answers() == ["3"])
        try script.seenAnswer("3", to: "5", removed: true, at: 4)
        #expect(try answers().isEmpty)
        #expect(try queries(script.events).answer("3") == nil)
        #expect(try questions() == [.open])
        #expect(throws: CommentOnAnswer.Refusal.unknownAnswer) {
            try CommentOnAnswer("3", text: "hello").decide(queries(script.events))
        }
        try script.seenAnswer("3", to: "5", at: 5)
        #expect(try answers() == ["3"])
        #expect(try queries(script.events).answer("3")?.likeCount == 2)
        #expect(try questions() == [.answered])
    }

    /// The user may answer the question again.
    @Test func removedOwnAnswerIsNotShownAsUploading() throws {
        var script = Script()
        try script.seenQuestion("5", "why?", at: 1)
        let digest = String(repeating: "0a", count: 32)
        func record(at second: Double) throws {
            try script.add(
                "AnswerRecorded",
                """
                {"question":"5","blob":"\(digest)","thumbnail":"\(digest)","durationSeconds":12,
                 "videoExtension":"mov","thumbnailExtension":"jpg"}
                """, at: second)
        }
        try record(at: 2)
        let recorded = try #require(script.events.last?.id)
        try script.seenAnswer("3", to: "5", at: 3)
        let confirmed: UInt8 = 2
        try script.outcome(
            of: recorded, by: Whale.system, tags: [Tag("question", "5")], kind: confirmed, at: 3)
        try script.seenAnswer("3", to: "5", removed: true, at: 4)
        try checkOrderDoesNotMatter(QuestionList(), script.events)
        #expect(try queries(script.events).answers().answers.isEmpty)
        #expect(try queries(script.events).questions().questions.map(\.state) == [.open])
        try record(at: 5)
        #expect(try queries(script.events).answers().answers.map(\.state) == [.waiting])
        #expect(try queries(script.events).questions().questions.map(\.state) == [.answering])
    }

    @Test func removedQuestionLeavesAllListsAndReturns() throws {
        var script = Script()
        try script.seenQuestion("5", "why?", to: "1", at: 1)
        func questions(isPending: Bool, to receiver: String? = nil) throws -> [String] {
            try checkOrderDoesNotMatter(QuestionList(), script.events)
            return try queries(script.events)
                .questions(to: receiver, isPending: isPending).questions.map(\.id)
        }
        func check(_ expected: [String]) throws {
            for isPending in [true, false] {
                #expect(try questions(isPending: isPending) == expected)
                #expect(try questions(isPending: isPending, to: "1") == expected)
            }
            #expect(try queries(script.events).search("why").hits.map(\.id) == expected)
        }
        try check(["5"])
        try script.seenQuestion("5", "why?", to: "1", removed: true, at: 2)
        try check([])
        try script.seenQuestion("5", "why?", to: "1", at: 3)
        try check(["5"])
    }

    @Test func answersMustBeShorterThanTwoMinutes() throws {
        let digest = String(repeating: "0a", count: 32)
        func record(_ seconds: String, _ ending: String = "mov") throws {
            _ = try EventCatalogue.video.proposal(
                type: "AnswerRecorded",
                json: """
                    {"question":"5","blob":"\(digest)","thumbnail":"\(digest)",
                     "durationSeconds":\(seconds),"videoExtension":"\(ending)",
                     "thumbnailExtension":"jpg"}
                    """)
        }
        try record("119.9")
        let error = #expect(throws: ModelError.self) { try record("125.5") }
        #expect(error?.code == .tooLarge)
        #expect(error?.message.contains("5.5 s too long") == true)
        #expect(throws: ModelError.self) { try record("120") }
        #expect(throws: ModelError.self) { try record("0") }
        #expect(throws: ModelError.self) { try record("5", "../x") }
    }

    @Test func questionsAreListedByReceiver() throws {
        var script = Script()
        for number in 1...12 {
            try script.seenQuestion(
                "\(number)", "q\(number)", to: number.isMultiple(of: 3) ? "1" : "11")
        }
        try script.add("QuestionAsked", #"{"receiver":"1","text":"new"}"#, at: 3)
        let asked = try #require(script.events.last?.id)
        var queries = try makeQueries(script)
        #expect(
            try queries.questions(to: "1").questions.map(\.id)
                == [asked.description, "12", "9", "6", "3"])
        #expect(try queries.questions(to: "11").questions.count == 8)
        var (ids, cursor): ([String], String?) = ([], nil)
        repeat {
            let page = try queries.questions(limit: 5, cursor: cursor)
            ids += page.questions.map(\.id)
            cursor = page.next
        } while cursor != nil
        #expect(ids == [asked.description] + (1...12).reversed().map { "\($0)" })
        try script.seenQuestion("13", "new", to: "1", postedAs: asked)
        queries = try makeQueries(script)
        #expect(try queries.questions(to: "1").questions.first?.id == "13")
        #expect(try queries.questions().questions.count == 13)
    }

    @Test func usersCombineAllTheirObservations() throws {
        var script = Script()
        var user = UserObserved()
        (user.user, user.username, user.imageURL) = ("7", "Ada", "http://img.example.org/a")
        try script.observe(user, at: 1)
        var counts = UserObserved()
        (counts.user, counts.followerCount, counts.isOwn) = ("7", 3, true)
        counts.cleared = ["followingCount"]
        try script.observe(counts, at: 2)
        user.username = "Adah"
        user.clearImageURL()
        try script.observe(user, at: 3)
        try checkOrderDoesNotMatter(UserList(), script.events)
        let queries = try queries(script.events)
        let found = try #require(try queries.user("7"))
        #expect(found.username == "Adah" && found.imageUrl == "http://img.example.org/a")
        #expect(found.followerCount == 3 && found.followingCount == nil && found.isOwn)
        #expect(try queries.users(named: "aD").users.map(\.id) == ["7"])
        #expect(try queries.users(named: "b").users.isEmpty)
        #expect(try queries.ownUsers().map(\.id) == ["7"])
        #expect(try queries.user("8") == nil)
    }
}
