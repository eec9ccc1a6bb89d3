import Tapedeck
import TapedeckTesting
import Testing

/// SR3: Playback resumes at the last position, on any device.
@Suite struct SR3Tests {
    private let stage: PlaybackStage

    init() throws { stage = try PlaybackStage("sr3") }

    private func entry(_ video: String) async throws -> PlaybackEntry {
        try await stage.ask { queries, _ in try queries.playback(of: video) }
    }

    private func inProgress() async throws -> [String] {
        try await stage.ask { queries, _ in try queries.inProgress().videos.map(\.video) }
    }

    @Test func resumePositionIsTheLastNotTheFurthest() async throws {
        #expect(try await entry("vimeo:7").state == .unwatched)
        try await stage.progress("vimeo:7", 400, viewing: "tv")
        try await stage.progress("vimeo:7", 120, viewing: "phone")
        let found = try await entry("https://vimeo.com/7")
        #expect(found.state == .inProgress && found.resumeSeconds == 120)
        #expect(found.viewing == "phone" && found.viewings == 2 && found.durationSeconds == 600)
        #expect(found.playedAt == stage.now)
    }

    @Test func lateReportsDoNotMoveTheResumePosition() async throws {
        try await stage.progress("vimeo:7", 120, viewing: "phone")
        let before = UInt64(stage.now.milliseconds - 60_000)
        try await stage.store.append(
            [
                PlaybackProgressed.with {
                    ($0.video, $0.viewing) = ("vimeo:7", "tv")
                    ($0.positionSeconds, $0.durationSeconds) = (400, 600)
                }
            ], atMilliseconds: before)
        let found = try await entry("vimeo:7")
        #expect(found.resumeSeconds == 120 && found.viewings == 2)
    }

    @Test func videosInProgressAreListedNewestFirst() async throws {
        try await stage.progress("vimeo:1", 10)
        try await stage.progress("vimeo:2", 10, viewing: "v2")
        try await stage.progress("vimeo:3", 0, viewing: "v3")
        #expect(try await inProgress() == ["vimeo:2", "vimeo:1"])
        try await stage.progress("vimeo:1", 20)
        #expect(try await inProgress() == ["vimeo:1", "vimeo:2"])
        try await stage.progress("vimeo:1", 600)
        #expect(try await inProgress() == ["vimeo:2"])
    }
}
