import TapedeckConnectors
import TapedeckModel
import TapedeckVideo
import Testing

@Suite struct ShelbyDocumentTests {
    private func read(_ json: String, observedAt: Int64? = nil) throws -> [BroadcastReceived] {
        let result = try IngestResource.named("shelby/broadcasts")
            .read(Array(json.utf8), observedAt: observedAt)
        #expect(result.refused.isEmpty, "\(result.refused)")
        return try result.proposals.map { try BroadcastReceived(payload: $0.payload, version: 1) }
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

    @Test func equalSightingsInAFileAreReadOnce() throws {
        let one = #"{\#(head):"12","video_title":"T"}"#
        #expect(try read("[\(one),\(one)]").count == 1)
    }
}
