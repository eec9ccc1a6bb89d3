/// How long to wait before what has failed is tried again: twice as long each time, up to a limit.
///
/// There is no chance in it: the account's devices share one log, and one of them tries.
public struct RetryDelay: Hashable, Sendable {
    /// The seconds behind the first failure; above 0.
    public var firstSeconds: Double
    /// The most seconds behind any failure.
    public var secondsMax: Double

    /// Makes a rule.
    public init(firstSeconds: Double, secondsMax: Double) {
        precondition(
            firstSeconds > 0 && secondsMax >= firstSeconds, "a delay is above 0 and below its limit"
        )
        self.firstSeconds = firstSeconds
        self.secondsMax = secondsMax
    }

    /// Half a minute, doubled up to six hours.
    public static let standard = RetryDelay(firstSeconds: 30, secondsMax: 21_600)

    /// The seconds behind the `attempt`-th failure in a row, which counts from 1.
    public func seconds(behind attempt: Int) -> Double {
        var seconds = firstSeconds
        var doubled = 1
        while doubled < attempt, seconds < secondsMax {
            seconds *= 2
            doubled += 1
        }
        return min(seconds, secondsMax)
    }
}
