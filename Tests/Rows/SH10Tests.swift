import Tapedeck
import TapedeckTesting
import Testing

/// SH10: Content URLs are cached until they expire; failed extractions report a reason and are retried.
@Suite struct SH10Tests {
    private let stage: PlaybackStage

    init() throws { stage = try PlaybackStage("sh10") }

    private func entry(_ window: Double = 300) async throws -> ExtractionEntry {
        try await stage.ask { try $0.extraction(of: "youtube:a", at: $1, windowSeconds: window) }
    }

    @Test func contentURLsExpireAtTheEndOfTheirWindow() async throws {
        #expect(try await entry().state == .unknown)
        #expect(try await entry().due)
        try await stage.extract("youtube:a")
        var found = try await entry()
        #expect(found.state == .good && found.url == "https://media.example.org/youtube:a")
        #expect(found.goodUntil == stage.later(300) && !found.due)
        stage.wait(299)
        #expect(try await entry().state == .good)
        stage.wait(1)
        found = try await entry()
        #expect(found.state == .expired && found.url == nil && found.due)
        #expect(try await entry(301).state == .good)
    }

    @Test func explicitExpiryOverridesTheWindow() async throws {
        try await stage.extract("youtube:a", expiresAt: stage.later(3_600))
        stage.wait(3_599)
        #expect(try await entry().state == .good)
        stage.wait(1)
        #expect(try await entry().state == .expired)
    }

    @Test func clocksAheadDoNotExtendTheWindow() async throws {
        var event = VideoExtracted()
        (event.video, event.url) = ("youtube:a", "https://media.example.org/a")
        event.extractedAt = .init(milliseconds: stage.later(1_000_000).milliseconds)
        try await stage.store.append([event])
        #expect(try await entry().goodUntil == stage.later(300))
    }

    @Test func failuresAreRetriedWithGrowingDelays() async throws {
        try await stage.fail("youtube:a")
        var found = try await entry()
        #expect(found.state == .failed && found.reason == "timeout" && found.failures == 1)
        #expect(found.nextTryAt == stage.later(30) && !found.due)
        let refusal = await #expect(throws: FailExtraction.Refusal.self) {
            try await stage.fail("youtube:a")
        }
        #expect(refusal == .notDue(until: stage.later(30)))
        stage.wait(30)
        #expect(try await entry().due)
        try await stage.fail("youtube:a", "refused")
        found = try await entry()
        #expect(found.failures == 2 && found.nextTryAt == stage.later(60))
        let listed = try await stage.ask { try $0.failedExtractions(at: $1).videos.map(\.video) }
        #expect(listed == ["youtube:a"])
        try await stage.extract("youtube:a")
        found = try await entry()
        #expect(found.state == .good && found.failures == 0 && found.reason == nil)
        #expect(try await stage.ask { try $0.failedExtractions(at: $1).videos.isEmpty })
    }

    @Test func goneVideosAreNotRetriedAutomatically() async throws {
        try await stage.fail("youtube:a", FailExtraction.gone)
        stage.wait(86_400)
        let found = try await entry()
        #expect(found.state == .failed && found.nextTryAt == nil && !found.due)
    }

    @Test func failedExtractionKeepsAURLThatIsStillValid() async throws {
        try await stage.extract("youtube:a")
        stage.wait(1)
        try await stage.fail("youtube:a")
        var found = try await entry()
        #expect(found.state == .good && found.reason == "timeout")
        stage.wait(299)
        found = try await entry()
        #expect(found.state == .failed && found.due)
    }
}
