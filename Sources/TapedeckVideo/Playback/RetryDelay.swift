/// The delay before a failed attempt is repeated.
///
/// The delay doubles after each failure, up to a limit.
///
/// The delay is not randomized: an account's devices share one log, and only one of them retries.
public struct RetryDelay: Hashable, Sendable {
    /// The delay after the first failure, in seconds; it must be above 0.
    public var firstSeconds: Double
    /// The maximum delay in seconds.
    public var secondsMax: Double

    /// Creates a delay.
    public init(firstSeconds: Double, secondsMax: Double) {
        precondition(
            firstSeconds > 0 && secondsMax >= firstSeconds,
            "firstSeconds must be above 0 and at most secondsMax")
        self.firstSeconds = firstSeconds
        self.secondsMax = secondsMax
    }

    /// A delay of half a minute that doubles up to six hours.
    public static let standard = RetryDelay(firstSeconds: 30, secondsMax: 21_600)

    /// Returns the delay in seconds after the given number of consecutive failures.
    public func seconds(after attempt: Int) -> Double {
        var seconds = firstSeconds
        var doubled = 1
        while doubled < attempt, seconds < secondsMax {
            seconds *= 2
            doubled += 1
        }
        return min(seconds, secondsMax)
    }

    /// The former name of `seconds(after:)`.
    @available(*, deprecated, renamed: "seconds(after:)")
    public func seconds(behind attempt: Int) -> Double { seconds(after: attempt) }
}
