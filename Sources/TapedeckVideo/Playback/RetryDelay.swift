/// The delay before a failed attempt is repeated, which doubles each time, up to a limit.
///
/// The delay is not random: an account's devices share one log, and only one of them retries.
public struct RetryDelay: Hashable, Sendable {
    /// The number of seconds after the first failure; above 0.
    public var firstSeconds: Double
    /// The maximum number of seconds after any failure.
    public var secondsMax: Double

    /// Creates a delay.
    public init(firstSeconds: Double, secondsMax: Double) {
        precondition(
            firstSeconds > 0 && secondsMax >= firstSeconds,
            "firstSeconds must be above 0 and at most secondsMax")
        self.firstSeconds = firstSeconds
        self.secondsMax = secondsMax
    }

    /// Half a minute, doubled up to six hours.
    public static let standard = RetryDelay(firstSeconds: 30, secondsMax: 21_600)

    /// Returns the number of seconds after the given consecutive failure, which counts from 1.
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
