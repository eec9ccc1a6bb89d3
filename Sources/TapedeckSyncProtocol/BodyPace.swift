/// Detects that the body of a request or response arrives too slowly.
///
/// The other side of a connection can keep sending one byte a second forever; neither a time limit
/// for the headers nor one for silence would stop it. A fixed limit for the whole body would either
/// be long or cut off slow links, so the limit grows with the received bytes.
///
/// The pace can be checked whenever a part of the body arrives. If nothing more arrives, nothing
/// triggers a check, so the caller must also stop waiting at the deadline or after a limited time
/// of silence.
package struct BodyPace: Sendable {
    /// Returns the current time.
    package typealias Clock = @Sendable () -> ContinuousClock.Instant

    private let now: Clock
    private let start: ContinuousClock.Instant
    private let limit: Duration
    private let bytesPerSecondMin: Int?

    /// Starts to measure.
    ///
    /// - Parameters:
    ///   - limit: The time that a body may take however short it is.
    ///   - bytesPerSecondMin: The rate at which the limit grows with the received bytes; nil if the
    ///     limit is the same for all bodies.
    package init(
        limit: Duration = .seconds(SyncLimits.bodySecondsMax),
        bytesPerSecondMin: Int? = SyncLimits.bodyBytesPerSecondMin, now: @escaping Clock
    ) {
        self.now = now
        self.limit = limit
        self.bytesPerSecondMin = bytesPerSecondMin
        start = now()
    }

    /// Returns the time at which a body of which only `count` bytes have arrived becomes too slow.
    package func deadline(afterBytes count: Int) -> ContinuousClock.Instant {
        start + limit + BodyPace.time(for: count, at: bytesPerSecondMin)
    }

    /// Returns whether a body of which `count` bytes have arrived is too slow.
    package func isTooSlow(afterBytes count: Int) -> Bool {
        now() > deadline(afterBytes: count)
    }

    /// Returns the time that a slow link may take for a number of bytes.
    package static func time(
        for count: Int, at bytesPerSecondMin: Int? = SyncLimits.bodyBytesPerSecondMin
    ) -> Duration {
        bytesPerSecondMin.map { .milliseconds(count * 1_000 / $0) } ?? .zero
    }
}
