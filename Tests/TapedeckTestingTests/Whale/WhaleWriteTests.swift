import TapedeckTesting
import Testing

/// Writes to Whale.
struct WhaleWriteTests {
    @Test func everySentCommentIsAdded() throws {
        var ada = Caller.whale()
        let before = try ada.page("answers/1/comments?per_page=100").count
        for _ in 0..<2 {
            let answer = try ada.call(
                "POST", "/api/v1/answers/1/comments", form: ["comment": "Ahoy"])
            #expect(answer.status == 201)
            #expect(try answer.object["content"] as? String == "Ahoy")
            #expect(try answer.object["answer_id"] as? Int == 1)
        }
        let rows = try ada.page("answers/1/comments?per_page=100")
        #expect(rows.count == before + 2)
        #expect(ada.simulator.effects.map(\.kind) == [.comment, .comment])
        #expect(ada.simulator.effects.map(\.text) == ["Ahoy", "Ahoy"])
    }

    @Test func onlyOwnCommentsCanBeChanged() throws {
        var ada = Caller.whale()
        _ = try ada.call("POST", "/api/v1/answers/1/comments", form: ["comment": "Ahoy"])
        let id = try #require(ada.simulator.world.comments.last?.id)
        ada.become(2)
        #expect(
            try ada.call("PATCH", "/api/v1/comments/\(id)", form: ["comment[content]": "No"]).status
                == 404)
        #expect(try ada.call("DELETE", "/api/v1/comments/\(id)").status == 404)
        ada.become(1)
        let edited = try ada.call(
            "PATCH", "/api/v1/comments/\(id)", form: ["comment[content]": "Ahoy!"])
        #expect(try edited.object["content"] as? String == "Ahoy!")
        #expect(try ada.call("DELETE", "/api/v1/comments/\(id)").status == 204)
        #expect(try ada.call("DELETE", "/api/v1/comments/\(id)").status == 404)
        #expect(
            ada.simulator.effects.map(\.kind) == [.comment, .commentEdited, .commentDeleted])
        _ = try ada.call("POST", "/api/v1/answers/1/comments", form: ["comment": "Ahoy"])
        #expect(ada.simulator.world.comments.last?.id == id + 1, "no ID is used twice")
    }

    @Test func everyLikeIsInsertedAndReturns500() throws {
        var ada = Caller.whale()
        let form: KeyValuePairs = ["like[answer_id]": "1", "like[user_id]": "1"]
        for count in 1...3 {
            let answer = try ada.call("POST", "/api/v1/answers/1/likes", form: form)
            #expect(answer.status == 500)
            let own = try ada.page("answers/1/likes?per_page=100").filter {
                $0["user_id"] as? Int == 1
            }
            #expect(own.count == count)
        }
        #expect(ada.simulator.effects.map(\.kind) == [.like, .like, .like])
    }

    @Test func everySentQuestionIsAsked() throws {
        var ada = Caller.whale()
        for _ in 0..<2 {
            let answer = try ada.call(
                "POST", "/api/v1/questions", form: ["receiver_id": "2", "content": "Why?"])
            #expect(answer.status == 201)
            let receiver = try answer.object["receiver"] as? [String: Any]
            #expect(receiver?["id"] as? Int == 2)
        }
        let asked = try ada.page("questions?per_page=100").texts("content")
        #expect(asked.prefix(2) == ["Why?", "Why?"])
        let effect = try #require(ada.simulator.effects.last)
        #expect(effect.kind == .question && effect.entity == "2" && effect.text == "Why?")
    }

    @Test(arguments: [
        ("POST", "users/2/follow"), ("DELETE", "users/2/unfollow"), ("POST", "relationships"),
        ("GET", "users/2/followers"),
    ])
    func usersCannotBeFollowed(_ method: String, _ path: String) throws {
        var ada = Caller.whale()
        #expect(try ada.call(method, "/api/v1/\(path)").status == 404)
        #expect(ada.simulator.violations.isEmpty)
    }

    @Test(arguments: [
        ("GET", "answers/1"), ("DELETE", "answers/1/likes"), ("GET", "answers?limit=3"),
        ("DELETE", "sessions"), ("POST", "users/1"), ("GET", "comments/1"),
    ])
    func unknownRequestsAreViolations(_ method: String, _ path: String) throws {
        var ada = Caller.whale()
        #expect(try ada.call(method, "/api/v1/\(path)").status == 400)
        #expect(ada.simulator.violations.count == 1)
    }
}
