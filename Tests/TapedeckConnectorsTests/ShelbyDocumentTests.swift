import TapedeckConnectors
import TapedeckModel
import TapedeckVideo
import Testing

@Suite struct ShelbyDocumentTests {
    private func read(_ json: String, observedAt: Int64? = nil) throws -> [BroadcastReceived] {
        let result = try IngestResource.named("shelby/broadcasts")
            .read(Array(json.utf8), observedAt: observedAt)
        #expect(result.refused.isEmpty, "\(result.refused)")
        return try result.proposals.filter { $0.type == BroadcastReceived.eventType }.map {
            try BroadcastReceived(payload: $0.payload, version: 1)
        }
    }

    private let head = #""_id":"b1","video_provider_name":"vimeo","video_id_at_provider""#

    @Test func nullAndAbsentMembersLeaveFieldsUnset() throws {
        let json = """
            [{\(head):"12","description":null,"video_title":null,"liked_by_owner":null,
              "created_at":null}]
            """
        let broadcast = try #require(try read(json).first)
        #expect(broadcast.video == "vimeo:12")
        #expect(!broadcast.hasComment && !broadcast.hasTitle && !broadcast.hasLiked)
        #expect(!broadcast.hasCreatedAt && !broadcast.hasWatched)
    }

    @Test func picturesAreKept() throws {
        let json = """
            [{\(head):"12","video_title":"T","video_thumbnail_url":"http://i.example.org/12.jpg",
              "video_description":"About T.","shortened_permalink":"http://shl.by/a",
              "video_originator_user_image":"http://i.example.org/ann.jpg"},
             {"_id":"b2","video_provider_name":"vimeo","video_id_at_provider":"13",
              "video_thumbnail_url":"/missing.jpg","video_originator_user_image":"","video_title":""}]
            """
        let result = try IngestResource.named("shelby/broadcasts").read(Array(json.utf8))
        #expect(result.refused.isEmpty)
        let broadcasts = try read(json)
        #expect(broadcasts.first?.sharerImageURL == "http://i.example.org/ann.jpg")
        #expect(broadcasts.first?.shortLink == "http://shl.by/a")
        #expect(broadcasts.last?.hasSharerImageURL == false)
        let described = try result.proposals.filter { $0.type == VideoDescribed.eventType }.map {
            try VideoDescribed(payload: $0.payload, version: 1)
        }
        #expect(described.map(\.video) == ["vimeo:12"])
        #expect(described.first?.thumbnailURL == "http://i.example.org/12.jpg")
        #expect(described.first?.description_p == "About T.")
    }

    @Test func flagsAreReadFromNumbersAndBooleans() throws {
        let json = """
            {\(head):12,"liked_by_owner":1,"owner_watch_later":true,"watched_by_owner":0}
            """
        let broadcast = try #require(try read(json).first)
        #expect(broadcast.liked && broadcast.watchLater)
        #expect(broadcast.hasWatched && !broadcast.watched)
    }

    @Test func rfc3339TimesAreRead() throws {
        for time in [
            "2011-09-15T04:06:16.000Z", "2011-09-15T06:06:16+02:00", "2011-09-15T04:06:16Z",
        ] {
            let broadcast = try #require(
                try read("[{\(head):\"1\",\"created_at\":\"\(time)\"}]").first)
            #expect(broadcast.createdAt.seconds == 1_316_059_576)
        }
    }

    @Test func equalObservationsInAFileAreReadOnce() throws {
        let one = #"{\#(head):"12","video_title":"T"}"#
        #expect(try read("[\(one),\(one)]").count == 1)
    }
}
