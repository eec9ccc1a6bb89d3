import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// WH6: Users are found by name, followed and unfollowed, even offline and on remotes without a
/// route for following.
@Suite struct WH6Tests {
    private let stage: WhaleStage

    init() throws { stage = try WhaleStage("wh6") }

    private func find(_ text: String) async throws -> [String] {
        try await stage.pages {
            let page = try $0.users(named: text, limit: 2, cursor: $1)
            return (page.users.map(\.id), page.next)
        }
    }

    private func follows(
        _ user: String, _ direction: FollowList.Direction = .followers
    ) async throws -> FollowsPage {
        try await stage.ask { try $0.follows(of: user, direction) }
    }

    @discardableResult
    private func follow(_ user: String, _ isOn: Bool = true) async throws -> EventID? {
        try await stage.decide { try FollowUser(user, isOn: isOn).decide($0) }
    }

    @Test func usersAreFoundByAnyPartOfTheirNames() async throws {
        try await stage.seeUser("1", "zoe", first: "Zoë", last: "Müller-Straße")
        try await stage.seeUser("2", "ÉCLAIR", first: "Łucja")
        try await stage.seeUser("3", "bob", first: "Иван", last: "Петров")
        try await stage.seeUser("4", "bobby")
        try await stage.seeUser("5", "bob3")
        #expect(try await find("zoe mull") == ["1"])
        #expect(try await find("STRASSE") == ["1"])
        #expect(try await find("eclair") == ["2"])
        #expect(try await find("иван ПЕТ") == ["3"])
        #expect(try await find(" Bob ") == ["3", "5", "4"])
        #expect(try await find("nobody") == [])
        #expect(try await find("") == ["3", "5", "4", "1", "2"])
        // Users are found by their current name.
        try await stage.seeUser("4", "robert")
        #expect(try await find("bobby") == [])
        #expect(try await find("robert") == ["4"])
    }

    @Test func followsApplyOfflineAndSurviveARefusal() async throws {
        try await stage.seeUser("2", "bob", first: "Bob")
        let nobody = await #expect(throws: StoreError.self) { try await follow("2") }
        #expect(nobody?.code == .signInRequired)
        try await stage.signIn()
        for (user, refusal) in [("1", FollowUser.Refusal.isOneself), ("77", .unknownUser)] {
            let found = await #expect(throws: FollowUser.Refusal.self) { try await follow(user) }
            #expect(found == refusal)
        }
        let intent = try #require(try await follow("2"))
        #expect(try await follow("2") == nil)
        var page = try await follows("2")
        #expect(page.users.map(\.id) == ["1"] && page.users.first?.username == "ada")
        #expect(page.users.first?.state == .waiting)
        #expect(page.followerCount == 1 && page.followingCount == 0)
        page = try await follows("1", .following)
        #expect(page.users.map(\.id) == ["2"] && page.users.first?.firstName == "Bob")
        #expect(page.followerCount == 0 && page.followingCount == 1)
        #expect(try await stage.ask { try $0.user("2")?.isFollowed } == true)

        try await stage.recordOutcome(
            .refused, of: intent, on: "user/2", "follower/1", code: "notFound",
            message: "there is no route")
        for list in [try await follows("2"), try await follows("1", .following)] {
            #expect(list.users.first?.state == .refused && list.users.first?.code == "notFound")
            #expect(list.users.first?.message == "there is no route")
        }
        try await follow("2", false)
        #expect(try await follows("2").users.isEmpty)
        #expect(try await follows("1", .following).followingCount == 0)
        #expect(try await stage.ask { try $0.user("2")?.isFollowed } == false)
        // After the intent is dropped, the remote's state applies: the user is not followed.
        let again = try #require(try await follow("2"))
        try await stage.recordOutcome(.dropped, of: again, on: "user/2", "follower/1")
        #expect(try await follows("2").followerCount == 0)
    }

    @Test func followersCombineRemoteStateAndLocalIntents() async throws {
        func see(_ user: String, by follower: String, _ isOn: Bool = true) async throws {
            try await stage.see(
                FollowObserved.with { ($0.user, $0.follower, $0.isOn) = (user, follower, isOn) })
        }
        try await stage.signIn()
        for number in 2...30 { try await see("1", by: "\(number)") }
        try await see("2", by: "1")
        try await stage.seeUser("2", "bob")
        #expect(try await follow("2") == nil)
        let all = try await stage.pages {
            let page = try $0.follows(of: "1", limit: 4, cursor: $1)
            return (page.users, page.next)
        }
        #expect(all.map(\.id) == (2...30).map(String.init))
        #expect(all.allSatisfy { $0.state == .shown } && all.first?.username == "bob")
        #expect(try await follows("1").followerCount == 29)
        // The local intent overrides the remote's state until the remote confirms it.
        let intent = try #require(try await follow("2", false))
        try await see("2", by: "1")
        #expect(try await follows("1").followingCount == 0)
        try await stage.recordOutcome(.confirmed, of: intent, on: "user/2", "follower/1")
        #expect(try await follows("2").followerCount == 0)
        try await see("2", by: "1")
        #expect(try await follows("2").followerCount == 1)
        try await see("1", by: "7", false)
        #expect(try await follows("1").followerCount == 28)
    }
}
