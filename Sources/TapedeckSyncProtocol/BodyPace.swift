/// Detects that the body of a request or response arrives too slowly.
///
/// The other side of a connection can keep sending one byte a second forever; neither a time limit
/// for the headers nor one for silence would stop it. A fixed limit for the whole body would either
/// be long or cut off slow links, so the limit grows with the received bytes.
///
/// `BodyDeadlines` ends the reading at the deadline, which the reader moves whenever a part arrives.
package struct BodyPace: Sendable {
    /// The time that may pass between two parts of a body, and between its last part and its end,
    /// however fast the body has arrived until then.
    package static let silenceMax = Duration.seconds(30)

    package let clock: ConnectionClock
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
        bytesPerSecondMin: Int? = SyncLimits.bodyBytesPerSecondMin, clock: ConnectionClock
    ) {
        self.clock = clock
        self.limit = limit
        self.bytesPerSecondMin = bytesPerSecondMin
        start = clock.now()
    }

    /// Returns the time at which a body of which only `count` bytes have arrived by now becomes too
    /// slow.
    package func deadline(afterBytes count: Int) -> ContinuousClock.Instant {
        min(
            start + limit + BodyPace.time(for: count, at: bytesPerSecondMin),
            clock.now() + BodyPace.silenceMax)
    }

    /// Returns the time that a slow link may take for a number of bytes.
    package static func time(
        for count: Int, at bytesPerSecondMin: Int? = SyncLimits.bodyBytesPerSecondMin
    ) -> Duration {
        bytesPerSecondMin.map { .milliseconds(count * 1_000 / $0) } ?? .zero
    }
}
