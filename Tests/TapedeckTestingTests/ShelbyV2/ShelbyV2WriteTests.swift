import Foundation
import TapedeckTesting
import Testing

/// Writes to the 2012 system.
struct ShelbyV2WriteTests {
    @Test(arguments: [
        ("watched_by_owner", "true", 1), ("liked_by_owner", "true", 1),
        ("liked_by_owner", "false", 0), ("owner_watch_later", "true", 1),
        ("owner_watch_later", "false", 0),
    ])
    func settingAFlagReturnsTheBroadcast(_ field: String, _ value: String, _ read: Int) throws {
        var ada = Caller.shelby()
        let id = try #require(ada.broadcasts().texts("_id").first)
        let answer = try ada.call("PUT", "/v2/broadcasts/\(id).json", form: [field: value])
        #expect(try answer.object[field] as? Int == read)
        let row = try ada.broadcasts().first { $0["_id"] as? String == id }
        #expect(row?[field] as? Int == read)
        let effect = try #require(ada.simulator.effects.last)
        #expect(effect.kind == .flag && effect.entity == id && effect.text == "\(field)=\(value)")
        #expect(effect.account == ada.simulator.world.users[0].id)
    }

    @Test(arguments: [
        ["liked_by_owner": "true", "owner_watch_later": "true"], [:],
        ["watched_by_owner": "false"], ["liked_by_owner": "1"], ["total_plays": "3"],
    ])
    func updateMustContainExactlyOneFlag(_ fields: [String: String]) throws {
        var ada = Caller.shelby()
        let id = try #require(ada.broadcasts().texts("_id").first)
        let body = fields.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        let request = SimulatedRequest(
            "PUT", "/v2/broadcasts/\(id).json",
            headers: [SimulatedField("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(body.utf8))
        #expect(ada.simulator.respond(to: request, at: ada.now).response?.status == 400)
        #expect(ada.simulator.violations.count == 1)
        #expect(ada.simulator.effects.isEmpty)
    }

    @Test func failedWriteReturnsErrWithStatus200() throws {
        var ada = Caller.shelby()
        let answer = try ada.call(
            "PUT", "/v2/broadcasts/4e7179b8fa44c4166b0000ff.json", form: ["liked_by_owner": "true"])
        #expect(answer.status == 200)
        #expect(try answer.object["err"] is String)
        #expect(ada.simulator.effects.isEmpty)
    }

    @Test func broadcastsOfOthersCannotBeFlagged() throws {
        var ada = Caller.shelby()
        let id = try #require(ada.broadcasts().texts("_id").first)
        ada.simulator.world.tokens["ben"] = ada.simulator.world.users[1].id
        ada.simulator.world.secrets["ben"] = "secret"
        ada.authorize("ben", "secret")
        let answer = try ada.call(
            "PUT", "/v2/broadcasts/\(id).json", form: ["liked_by_owner": "true"])
        #expect(try answer.object["err"] is String)
    }

    @Test func shareRecordsItsDestinations() throws {
        var ada = Caller.shelby()
        let id = try #require(ada.broadcasts().texts("_id").first)
        let answer = try ada.call(
            "POST", "/v2/socializations.json",
            form: [
                "destination": "twitter,email", "broadcast_id": id, "comment": "Look & see = 1+1",
                "to": "ben@example.org",
            ])
        #expect(try answer.object["err"] is NSNull)
        let effect = try #require(ada.simulator.effects.last)
        #expect(effect.kind == .share && effect.text == "Look & see = 1+1")
        #expect(effect.detail == "twitter,email to ben@example.org")
        #expect(
            try ada.call(
                "POST", "/v2/socializations.json",
                form: ["destination": "myspace", "broadcast_id": id, "comment": ""]
            ).status == 400)
    }
}
