/// Computes the wait after each failure, with decorrelated jitter.
///
/// Each wait is random between the minimum and three times the previous wait, so devices that
/// failed at the same time do not retry at the same time (Brooker, "Exponential Backoff and
/// Jitter", 2015).
package struct Backoff: Hashable, Sendable {
    /// The minimum wait, in milliseconds.
    package static let waitMin: UInt64 = 500
    /// The default maximum wait, in milliseconds, for an unattended device.
    package static let waitMax: UInt64 = 300_000

    /// The maximum wait, in milliseconds.
    package var longest: UInt64
    /// The number of consecutive failures.
    package private(set) var failures: UInt32 = 0
    private var last: UInt64 = 0

    package init(longest: UInt64 = Backoff.waitMax) { self.longest = longest }

    /// Records a failure and returns the wait in milliseconds.
    package mutating func fail(
        retryAfter: UInt64?, _ random: inout some RandomNumberGenerator
    ) -> UInt64 {
        failures = failures == .max ? .max : failures + 1
        let upper = max(Backoff.waitMin, min(longest, last == 0 ? 0 : last * 3))
        last = UInt64.random(in: Backoff.waitMin...upper, using: &random)
        // A wait that the server or remote requests applies even if it is longer than `longest`.
        return max(last, retryAfter ?? 0)
    }

    /// Records a success.
    package mutating func succeed() {
        failures = 0
        last = 0
    }
}
