import Tapedeck
import TapedeckTesting

/// A store whose clock the scenario advances.
struct PlaybackStage {
    let place: TemporaryStore
    let store: TapedeckStore
    let projections = VideoProjections.standard

    init(_ name: String) throws {
        place = try TemporaryStore(name)
        store = try place.open()
    }

    var now: UTCTime { UTCTime(milliseconds: Int64(place.clock.milliseconds)) }

    /// Returns the time that is the given number of seconds after `now`.
    func later(_ seconds: Double) -> UTCTime {
        UTCTime(milliseconds: now.milliseconds + Int64(seconds * 1_000))
    }

    func wait(_ seconds: Int) { place.clock.advance(by: .seconds(seconds)) }

    /// Runs a query at the current time.
    func ask<R: Sendable>(
        _ question: @escaping @Sendable (VideoQueries<Views>, UTCTime) throws -> R
    ) async throws -> R {
        let now = now
        return try await store.query { try question(VideoQueries($0), now) }
    }

    /// Records a player's report, one second after the previous one.
    func progress(
        _ video: String, _ position: Double, of duration: Double = 600, viewing: String = "v1"
    ) async throws {
        wait(1)
        try await store.append([
            PlaybackProgressed.with {
                ($0.video, $0.viewing) = (video, viewing)
                ($0.positionSeconds, $0.durationSeconds) = (position, duration)
            }
        ])
    }

    /// Records a content URL that was found now.
    func extract(_ video: String, expiresAt: UTCTime? = nil) async throws {
        var event = VideoExtracted()
        (event.video, event.url) = (video, "https://media.example.org/\(video)")
        event.extractedAt = .init(milliseconds: now.milliseconds)
        if let expiresAt { event.expiresAt = .init(milliseconds: expiresAt.milliseconds) }
        try await store.append([event])
    }

    /// Records an extraction that failed now.
    func fail(_ video: String, _ reason: String = FailExtraction.timeout) async throws {
        let (key, now) = (try VideoKey(video), now)
        try await store.decide(projections.extractions, key: key.tag) { state in
            try FailExtraction(key, reason: reason, now: now).decide(state)
        }
    }
}
