import Foundation
import TapedeckTesting
import Testing

/// Whale's lists.
struct WhalePageTests {
    @Test func pagesAreNumberedFromZeroAndIncludeTheTotal() throws {
        var ada = Caller.whale()
        let first = try ada.call("GET", "/api/v1/answers").object
        #expect(first["page"] as? Int == 0 && first["per_page"] as? Int == 20)
        #expect(first["total_pages"] as? Int == 3)
        var ids: [Int] = []
        for page in 0..<3 { ids += try ada.page("answers?page=\(page)").numbers("id") }
        #expect(ids == Array((1...45).reversed()))
        let beyond = try ada.call("GET", "/api/v1/answers?page=3")
        #expect(beyond.status == 200)
        #expect(try beyond.object["total_pages"] as? Int == 3)
        #expect(try ada.page("answers?page=3").isEmpty)
    }

    @Test func pageSizeIsUnlimited() throws {
        var ada = Caller.whale()
        #expect(try ada.page("answers?per_page=1000").count == 45)
    }

    @Test(arguments: ["per_page=many", "per_page=", "per_page=0", "page=first"])
    func invalidNumberReturns500(_ query: String) throws {
        var ada = Caller.whale()
        let answer = try ada.call("GET", "/api/v1/answers?\(query)")
        #expect(answer.status == 500)
        #expect(ada.simulator.violations.isEmpty)
    }

    @Test func nextPageRepeatsARowAfterOneIsAdded() throws {
        var ada = Caller.whale()
        let last = try ada.page("answers?per_page=10").numbers("id").last
        let open = try #require(ada.open(to: 2).first)
        ada.simulator.world.answers.append(
            WhaleWorld.Answer(
                id: 900, question: open, videoURL: "", thumbnailURL: "", insertedAt: ada.now))
        #expect(try ada.page("answers?per_page=10&page=1").numbers("id").first == last)
    }

    @Test func responsesContainNoDates() throws {
        var ada = Caller.whale()
        for path in ["answers", "questions", "users", "answers/3/comments", "answers/2/likes"] {
            let text = try ada.call("GET", "/api/v1/\(path)").text
            #expect(!text.contains("inserted") && !text.contains("_at\""))
        }
    }

    @Test func countsAreNullInsteadOfZero() throws {
        var ada = Caller.whale()
        let rows = try ada.page("answers?per_page=100")
        for name in ["likes_count", "comment_count"] {
            #expect(rows.contains { $0[name] is NSNull })
            #expect(rows.contains { ($0[name] as? Int ?? 0) > 0 })
            #expect(!rows.contains { $0[name] as? Int == 0 })
        }
    }

    @Test func userCountsAreOnlyOnTheUsersOwnPage() throws {
        var ada = Caller.whale()
        #expect(try ada.call("GET", "/api/v1/sessions").object["follower_count"] as? Int == 1)
        let alone = try ada.call("GET", "/api/v1/users/2").object
        #expect(alone["follower_count"] as? Int == 1 && alone["following_count"] is NSNull)
        let listed = try #require(try ada.page("users").first)
        #expect(listed["follower_count"] == nil)
        _ = try ada.call("POST", "/api/v1/answers/1/comments", form: ["comment": "Ahoy"])
        let comment = try #require(try ada.page("answers/1/comments").first)
        let commenter = try #require(comment["commenter"] as? [String: Any])
        #expect(commenter["follower_count"] is NSNull)
    }

    @Test func newbiesSignedUpInTheLastWeek() throws {
        var ada = Caller.whale()
        #expect(try ada.page("users").count == 6)
        #expect(Set(try ada.page("users/newbies").numbers("id")) == [5, 6])
    }

    @Test func questionsPageIncludesQuestionsToDifferentUsers() throws {
        var ada = Caller.whale()
        let rows = try ada.page("questions?per_page=100")
        #expect(rows.count == 30)
        let receivers = rows.compactMap { ($0["receiver"] as? [String: Any])?["id"] as? Int }
        #expect(Set(receivers).count > 1)
    }
}
