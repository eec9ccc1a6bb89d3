import Tapedeck
import TapedeckModel
import Testing

/// SH2: All broadcasts of a video are one entry, whatever form of URL they use, with the comments of every
/// sharer.
@Suite struct SH2Tests {
    private let stage: GroupStage

    init() throws { stage = try GroupStage("sh2") }

    private func share(
        _ id: String, _ video: String, at seconds: Int64, by sharer: String, _ comment: String?
    ) async throws {
        var said = BroadcastReceived()
        (said.broadcast, said.video, said.sharer) = (id, video, sharer)
        said.title = "as \(sharer) calls it"
        if let comment { said.comment = comment }
        said.createdAt = .init(seconds: seconds)
        try await stage.store.append([said])
    }

    private func videos(_ winner: WinnerRule = .oldest) async throws -> [VideoEntry] {
        let projections = VideoProjections(winner: winner)
        let store = try stage.place.open(projections: projections.all)
        defer { store.close() }
        return try await store.query { views in
            try VideoQueries(views, projections: projections).videos().videos
        }
    }

    @Test func everyURLFormIsTheSameVideo() async throws {
        let forms = [
            "youtube:dQw4w9WgXcQ", "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
            "http://youtu.be/dQw4w9WgXcQ?t=42", "https://www.youtube.com/embed/dQw4w9WgXcQ",
        ]
        for (number, form) in forms.enumerated() {
            try await share("b\(number)", form, at: Int64(number), by: "u\(number)", "c\(number)")
        }
        // The same id from another provider is a different video.
        try await share("v", "vimeo:1084537", at: 9, by: "v", nil)
        stage.store.close()
        let found = try await videos()
        #expect(found.map(\.key) == ["vimeo:1084537", "youtube:dQw4w9WgXcQ"])
        #expect(found.last?.broadcasts == 4)
    }

    @Test func winnerRuleChoosesTheTitleAndKeepsAllComments() async throws {
        try await share("b2", "youtube:a", at: 2, by: "second", "")
        try await share("b1", "youtube:a", at: 1, by: "first", "look")
        try await share("b3", "youtube:a", at: 3, by: "third", "again")
        stage.store.close()
        let oldest = try #require(try await videos().first)
        #expect(oldest.sharer == "first" && oldest.title == "as first calls it")
        // A broadcast without a comment shows its title instead.
        #expect(oldest.comments.map(\.author) == ["first", "second", "third"])
        #expect(oldest.comments.map(\.text) == ["look", "as second calls it", "again"])
        let newest = try #require(try await videos(.newest).first)
        #expect(newest.sharer == "third" && newest.comments == oldest.comments)
    }

    @Test func duplicateBroadcastsAreListed() async throws {
        try await share("b2", "youtube:a", at: 2, by: "second", nil)
        try await share("b1", "youtube:a", at: 1, by: "first", nil)
        try await share("b3", "youtube:once", at: 3, by: "third", nil)
        let found = try await stage.store.query { try VideoQueries($0).duplicates().videos }
        #expect(found.map(\.key) == ["youtube:a"])
        #expect(found.first?.winner == "b1" && found.first?.broadcasts == ["b1", "b2"])
    }
}
