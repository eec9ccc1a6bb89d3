import TapedeckTesting
import Testing

/// Reading from Shelby's 2012 system.
struct ShelbyV2ReadTests {
    @Test func everyReadReturnsAnArray() throws {
        var ada = Caller.shelby()
        let users = try ada.call("GET", "/v2/users.json").list
        #expect(users.texts("nickname") == ["ada"])
        #expect(
            try ada.call("GET", "/v2/authentications.json").json as? [String]
                == ["twitter", "facebook"])
        let channels = try ada.call("GET", "/v2/channels.json").list
        #expect(channels.numbers("public") == [1, 0])
        #expect(channels.texts("_id").last == ada.channel())
        #expect(try !ada.broadcasts().isEmpty)
        #expect(ada.simulator.violations.isEmpty)
    }

    @Test func broadcastsAreNotPagedAndCanBeFilteredByPlayer() throws {
        var ada = Caller.shelby()
        let asked = try ada.broadcasts()
        #expect(Set(asked.texts("video_player")) == ["youtube", "vimeo"])
        let all = try ada.call("GET", "/v2/channels/\(ada.channel())/broadcasts.json").list
        #expect(all.count == ShelbyV2World.madeBroadcasts)
        #expect(all.count > asked.count)
        #expect(all.texts("created_at") == all.texts("created_at").sorted(by: >))
    }

    @Test func pagingAndSinceParametersAreViolations() throws {
        for query in ["limit=10", "skip=20", "since_id=4e7179b8fa44c4166b005e8c", "page=2"] {
            var ada = Caller.shelby()
            let target = "/v2/channels/\(ada.channel())/broadcasts.json?\(query)"
            #expect(try ada.call("GET", target).status == 400)
            #expect(ada.simulator.violations.count == 1)
        }
    }

    @Test func datesAreTruncatedToSeconds() throws {
        var ada = Caller.shelby()
        var row = ShelbyV2World.Broadcast(
            id: "4e7179b8fa44c4166b005e8c", channel: ada.channel(), createdAt: 1_316_059_576_999,
            providerID: "BmzSEYNTkHA")
        row.updatedAt = 1_330_560_000_001
        ada.simulator.world.broadcasts = [row]
        let read = try ada.broadcasts()
        #expect(read.texts("created_at") == ["2011-09-15T04:06:16.000Z"])
        #expect(read.texts("updated_at") == ["2012-03-01T00:00:00.000Z"])
    }

    @Test func broadcastHasTheMembersOfARecordedOne() throws {
        let recorded: Set = [
            "_id", "channel_id", "created_at", "description", "liked_by_owner", "name",
            "total_plays", "updated_at", "user_id", "user_nickname", "user_thumbnail",
            "video_description", "video_id_at_provider", "video_origin",
            "video_originator_network_object_id", "video_originator_user_image",
            "video_originator_user_name", "video_originator_user_nickname", "video_player",
            "video_provider_name", "video_thumbnail_url", "video_title", "video_user_id",
            "video_user_nickname", "video_user_thumbnail", "watched_by_owner",
        ]
        var ada = Caller.shelby()
        for row in try ada.broadcasts() {
            let later = Set(row.keys).subtracting(recorded)
            #expect(recorded.subtracting(row.keys).isEmpty)
            #expect(later.isEmpty || later == ["owner_watch_later", "shortened_permalink"])
        }
    }

    @Test func olderRowsLackLaterFields() throws {
        var ada = Caller.shelby()
        let rows = try ada.broadcasts()
        #expect(rows.contains { $0["owner_watch_later"] == nil })
        #expect(rows.contains { $0["owner_watch_later"] as? Int == 0 })
    }

    @Test func someVideosAreSharedMoreThanOnce() throws {
        var ada = Caller.shelby()
        let keys = try ada.broadcasts().texts("video_id_at_provider")
        #expect(Set(keys).count < keys.count)
    }

    @Test func unknownUsersGetAnErrorObjectInsteadOfAnArray() throws {
        var nobody = Caller.shelby()
        nobody.sign = { request, _ in request }
        for path in ["users", "authentications", "channels"] {
            let answer = try nobody.call("GET", "/v2/\(path).json")
            #expect(try answer.object["err"] is String)
        }
        nobody.authorize("made-up", "made-up")
        #expect(try nobody.call("GET", "/v2/users.json").object["err"] is String)
        #expect(nobody.simulator.violations.isEmpty)
    }

    @Test func failureHasStatus200() throws {
        var ada = Caller.shelby()
        let answer = try ada.call("GET", "/v2/channels/4e385abdf6db24106c0000ff/broadcasts.json")
        #expect(answer.status == 200)
        #expect(try answer.object["err"] is String)
    }

    @Test func removedBroadcastIsSimplyMissingFromTheList() throws {
        var ada = Caller.shelby()
        let before = try ada.broadcasts().texts("_id")
        ada.simulator.world.broadcasts.removeAll { $0.id == before[0] }
        #expect(try ada.broadcasts().texts("_id") == Array(before.dropFirst()))
    }
}
