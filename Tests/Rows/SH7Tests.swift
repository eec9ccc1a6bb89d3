import Tapedeck
import Testing

/// SH7: The watch-later mark is set and cleared, clears itself at 75 % of a viewing, and applies to the video,
/// not to one broadcast.
@Suite struct SH7Tests {
    private let stage: PlaybackStage

    init() throws { stage = try PlaybackStage("sh7") }

    private func mark(_ video: String, _ isOn: Bool = true) async throws {
        stage.wait(1)
        var said = WatchLaterToggled()
        (said.video, said.isOn) = (video, isOn)
        try await stage.store.append([said])
    }

    private func marked() async throws -> [String] {
        try await stage.ask { queries, _ in try queries.watchLater().videos.map(\.key) }
    }

    @Test func aWatchedVideoIsMarked() async throws {
        let shared = BroadcastReceived.with { ($0.broadcast, $0.video) = ("b1", "vimeo:1") }
        try await stage.store.append([shared])
        func watched() async throws -> [Bool] {
            try await stage.ask { queries, now in
                try queries.videos(in: .timeline, at: now).videos.map(\.watched)
                    + queries.videos().videos.map(\.watched)
            }
        }
        #expect(try await watched() == [false, false])
        try await stage.store.append([VideoWatched.with { $0.video = "vimeo:1" }])
        #expect(try await watched() == [true, true])
    }

    @Test func aVideoWatchedElsewhereIsNotUnwatched() async throws {
        let shared = BroadcastReceived.with {
            ($0.broadcast, $0.video, $0.watched) = ("b1", "vimeo:1", true)
        }
        try await stage.store.append([shared])
        let state = try await stage.ask { queries, _ in try queries.playback(of: "vimeo:1").state }
        #expect(state == .watched)
    }

    @Test func marksAreSetAndCleared() async throws {
        try await mark("vimeo:1")
        try await mark("https://vimeo.com/2")
        #expect(try await marked() == ["vimeo:1", "vimeo:2"])
        try await mark("vimeo:1", false)
        #expect(try await marked() == ["vimeo:2"])
    }

    @Test func marksClearAtThreeQuarters() async throws {
        try await mark("vimeo:7")
        try await stage.progress("vimeo:7", 449.9)
        #expect(try await marked() == ["vimeo:7"])
        try await stage.progress("vimeo:7", 450)
        #expect(try await marked().isEmpty)
    }

    @Test func marksSetAfterTheThresholdLastUntilAnotherViewing() async throws {
        try await mark("vimeo:7")
        try await stage.progress("vimeo:7", 480)
        try await mark("vimeo:7")
        try await stage.progress("vimeo:7", 500)
        try await stage.progress("vimeo:7", 600)
        #expect(try await marked() == ["vimeo:7"])
        try await stage.progress("vimeo:7", 500, viewing: "another")
        #expect(try await marked().isEmpty)
    }

    @Test func videosOfUnknownDurationStayMarked() async throws {
        try await mark("vimeo:7")
        try await stage.progress("vimeo:7", 10_000, of: 0)
        #expect(try await marked() == ["vimeo:7"])
    }

    @Test func the2012RuleRequiresAMarkBeforeTheViewing() async throws {
        stage.store.close()
        let projections = VideoProjections(watchLaterRule: .rule2012)
        let store = try stage.place.open(projections: projections.all)
        func marked() async throws -> [String] {
            try await store.query {
                try VideoQueries($0, projections: projections).watchLater().videos.map(\.key)
            }
        }
        func play(_ video: String, _ position: Double, _ viewing: String) async throws {
            stage.wait(1)
            try await store.append([
                PlaybackProgressed.with {
                    ($0.video, $0.viewing) = (video, viewing)
                    ($0.positionSeconds, $0.durationSeconds) = (position, 600)
                }
            ])
        }
        func mark(_ video: String) async throws {
            stage.wait(1)
            try await store.append([
                WatchLaterToggled.with { ($0.video, $0.isOn) = (video, true) }
            ])
        }
        try await mark("vimeo:1")
        try await play("vimeo:1", 450, "a")
        #expect(try await marked() == ["vimeo:1"])
        try await play("vimeo:1", 451, "a")
        #expect(try await marked().isEmpty)
        try await play("vimeo:2", 1, "b")
        try await mark("vimeo:2")
        try await play("vimeo:2", 500, "b")
        #expect(try await marked() == ["vimeo:2"])
    }
}
