import Tapedeck
import TapedeckTesting
import Testing

/// SR6: A finished video can be played again from the beginning.
@Suite struct SR6Tests {
    private let stage: PlaybackStage

    init() throws { stage = try PlaybackStage("sr6") }

    private func entry(_ video: String) async throws -> PlaybackEntry {
        try await stage.ask { queries, _ in try queries.playback(of: video) }
    }

    @Test func reachingTheCreditsFinishesAVideo() async throws {
        try await stage.progress("vimeo:7", 594.9)
        #expect(try await entry("vimeo:7").state == .inProgress)
        try await stage.progress("vimeo:7", 600 - Playback.endSeconds)
        let found = try await entry("vimeo:7")
        #expect(found.state == .finished && found.resumeSeconds == 0)
        #expect(found.finishedAt == stage.now && found.finishedViewings == 1)
    }

    @Test func videosOfUnknownOrShortDurationDoNotEndEarly() async throws {
        try await stage.progress("vimeo:7", 5_000, of: 0)
        #expect(try await entry("vimeo:7").state == .inProgress)
        try await stage.progress("vimeo:8", 2, of: 4)
        #expect(try await entry("vimeo:8").state == .inProgress)
        try await stage.progress("vimeo:8", 4, of: 4)
        #expect(try await entry("vimeo:8").state == .finished)
    }

    @Test func restartedVideosAreInProgress() async throws {
        try await stage.progress("vimeo:7", 600)
        let finished = stage.now
        try await stage.progress("vimeo:7", 30, viewing: "again")
        let found = try await entry("vimeo:7")
        #expect(found.state == .inProgress && found.resumeSeconds == 30)
        #expect(found.finishedAt == finished)
        #expect(found.viewings == 2 && found.finishedViewings == 1)
    }

    @Test func completeWatchIntervalsFinishAVideo() async throws {
        try await stage.progress("vimeo:7", 30)
        stage.wait(1)
        try await stage.store.append([
            VideoWatched.with {
                ($0.video, $0.isComplete) = ("vimeo:7", true)
                ($0.startSeconds, $0.endSeconds) = (30, 42.5)
            }
        ])
        let found = try await entry("vimeo:7")
        #expect(found.state == .finished && found.watchedSeconds == 12.5)
    }
}
