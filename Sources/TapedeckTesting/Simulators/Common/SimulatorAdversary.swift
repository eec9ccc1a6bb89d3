/// How a simulated system makes life hard; by default it does not.
///
/// Rates are shares of 1. All of it follows from the simulator's seed. What others do follows from the
/// seed and the time alone, so it is the same whatever is requested.
public struct SimulatorAdversary: Codable, Hashable, Sendable {
    /// Connections that end before anything is written.
    public var cutBeforeRate = 0.0
    /// Connections that end after the effect, without an answer.
    public var cutAfterRate = 0.0
    /// Answers 500 before anything is written.
    public var serverErrorRate = 0.0
    /// Answers 500 after the effect.
    public var serverErrorAfterRate = 0.0
    /// Answers 503 with Retry-After.
    public var unavailableRate = 0.0
    /// What Retry-After says after a 503, in seconds.
    public var retryAfterSeconds = 2
    /// Requests that a window of the quota allows before 429; nil for any number.
    public var quotaMax: Int?
    /// How long a window of the quota is, in milliseconds.
    public var quotaMilliseconds: Int64 = 10_000
    /// How long a token lives, in milliseconds; nil for as long as the system's usually do.
    public var tokenLifeMilliseconds: Int64?
    /// Whale: how much longer than usual an upload may take to become visible, in milliseconds.
    public var uploadDelayMillisecondsMax: Int64 = 0
    /// Whale: uploads that were acknowledged and never become visible.
    public var uploadLossRate = 0.0
    /// How often other users do something, as the mean of the pauses, in milliseconds; nil for never.
    public var othersMilliseconds: Int64?
    /// What others do that is the removal of something, without announcement.
    public var deletionRate = 0.0
    /// Others' rows that appear late, with an older id and date than rows that are there already.
    public var lateRate = 0.0
    /// How late such a row may be, in milliseconds.
    public var lateMillisecondsMax: Int64 = 3_600_000
    /// Others' rows that have the date of the newest row.
    public var tieRate = 0.0
    /// Whether rows with the same date come in another order with each call.
    public var shufflesTies = false
    /// Pages that begin with the last row of the page before.
    public var duplicateRate = 0.0

    /// Makes an adversary that does nothing.
    public init() {}

    /// Nothing at all.
    public static let none = SimulatorAdversary()

    /// Some of everything, as `storectl simulate --adversary` has it.
    public static let harsh: SimulatorAdversary = {
        var all = SimulatorAdversary()
        all.cutBeforeRate = 0.03
        all.cutAfterRate = 0.03
        all.serverErrorRate = 0.03
        all.serverErrorAfterRate = 0.02
        all.unavailableRate = 0.02
        all.quotaMax = 100
        all.tokenLifeMilliseconds = 3_600_000
        all.uploadDelayMillisecondsMax = 30_000
        all.uploadLossRate = 0.1
        all.othersMilliseconds = 5_000
        all.deletionRate = 0.1
        all.lateRate = 0.2
        all.tieRate = 0.2
        all.shufflesTies = true
        all.duplicateRate = 0.1
        return all
    }()
}
