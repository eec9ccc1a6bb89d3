/// How long to wait after failures: decorrelated jitter.
///
/// Each wait is drawn between the shortest and three times the last one, so that many devices that
/// failed together do not come back together (Brooker, "Exponential Backoff and Jitter", 2015).
package struct Backoff: Hashable, Sendable {
    /// In milliseconds.
    package static let waitMin: UInt64 = 500
    /// In milliseconds; for a device that nobody watches.
    package static let waitMax: UInt64 = 300_000

    /// The longest wait, in milliseconds.
    package var longest: UInt64
    /// Failures in a row.
    package private(set) var failures: UInt32 = 0
    private var last: UInt64 = 0

    package init(longest: UInt64 = Backoff.waitMax) { self.longest = longest }

    /// Takes in a failure; gives the wait in milliseconds.
    package mutating func fail(
        retryAfter: UInt64?, _ random: inout some RandomNumberGenerator
    ) -> UInt64 {
        failures = failures == .max ? .max : failures + 1
        let upper = max(Backoff.waitMin, min(longest, last == 0 ? 0 : last * 3))
        last = UInt64.random(in: Backoff.waitMin...upper, using: &random)
        // What the other side asked for holds even beyond our own longest.
        return max(last, retryAfter ?? 0)
    }

    /// Takes in a success.
    package mutating func succeed() {
        failures = 0
        last = 0
    }
}
