internal import TapedeckModel

/// Decides when a session opens its live connection again, and when it polls in the meantime.
struct Listening: Sendable {
    /// Grows with each connection that ends early, even if everything else succeeds.
    private var backoff: Backoff
    /// The time since which the session has been listening, in milliseconds since 1970.
    private var since: UInt64?
    /// The time before which the connection is not opened again, and the reason.
    private var wait: SyncWait?
    /// The time of the next poll, in milliseconds since 1970.
    private var pollAt: UInt64 = 0

    /// The time, in milliseconds, after which a connection is considered to have worked.
    ///
    /// A server or proxy that ends every connection early must not cause a pull at each end.
    private static let workedMin: UInt64 = 10_000

    /// - Parameter longest: The maximum time between two polls, in milliseconds.
    init(pollsWithin longest: UInt64) { backoff = Backoff(longest: longest) }

    /// Returns the wait until the next poll; nil if the connection may be opened now.
    mutating func pause(
        at now: UInt64, _ random: inout some RandomNumberGenerator
    ) -> SyncWait? {
        // If the clock has been set back, the ends of the waits are too far away.
        guard var wait, wait.until > now, wait.until - now <= RetryAfter.secondsMax * 1_000 else {
            wait = nil
            since = since ?? now
            return nil
        }
        if pollAt <= now || pollAt - now > backoff.longest {
            pollAt = now + backoff.fail(retryAfter: nil, &random)
        }
        wait.until = min(wait.until, pollAt)
        return wait
    }

    /// Records that the connection ended, or could not be opened.
    mutating func ended(
        _ failure: SyncFailure, _ now: UInt64, _ random: inout some RandomNumberGenerator
    ) {
        if let since, now >= since + Listening.workedMin { backoff.succeed() }
        since = nil
        let pause = backoff.fail(retryAfter: nil, &random)
        pollAt = now + pause
        // A plain sync needs no live connection, so the wait does not apply to later syncs.
        wait = SyncWait(
            reason: failure.code, message: failure.message,
            until: now + max(pause, failure.retryAfter ?? 0))
    }
}
