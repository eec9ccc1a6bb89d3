/// The faults that a simulator injects; none by default.
///
/// Rates are probabilities from 0 to 1. All faults are determined by the simulator's seed. Actions
/// of other users depend only on the seed and the time, not on the requests.
public struct SimulatorAdversary: Codable, Hashable, Sendable {
    /// The rate of connections closed before the request takes effect.
    public var cutBeforeRate = 0.0
    /// The rate of connections closed without a response after the request took effect.
    public var cutAfterRate = 0.0
    /// The rate of HTTP 500 responses sent before the request takes effect.
    public var serverErrorRate = 0.0
    /// The rate of HTTP 500 responses sent after the request took effect.
    public var serverErrorAfterRate = 0.0
    /// The rate of HTTP 503 responses with Retry-After.
    public var unavailableRate = 0.0
    /// The value of Retry-After in a 503 response, in seconds.
    public var retryAfterSeconds = 2
    /// The number of requests allowed per quota window before a 429 response; nil for no limit.
    public var quotaMax: Int?
    /// The length of a quota window, in milliseconds.
    public var quotaMilliseconds: Int64 = 10_000
    /// The lifetime of a token, in milliseconds; nil for the system's default.
    public var tokenLifeMilliseconds: Int64?
    /// The maximum extra delay before a Whale upload becomes visible, in milliseconds.
    public var uploadDelayMillisecondsMax: Int64 = 0
    /// The rate of Whale uploads that are acknowledged but never become visible.
    public var uploadLossRate = 0.0
    /// The mean time between actions of other users, in milliseconds; nil for no actions.
    public var othersMilliseconds: Int64?
    /// The rate of other users' actions that remove something without notice.
    public var deletionRate = 0.0
    /// The rate of other users' rows that appear late, with a date before that of existing rows.
    public var lateRate = 0.0
    /// The maximum delay of a late row, in milliseconds.
    public var lateMillisecondsMax: Int64 = 3_600_000
    /// The rate of other users' rows with the same date as the newest row.
    public var tieRate = 0.0
    /// Whether the order of rows with the same date changes from request to request.
    public var shufflesTies = false
    /// The rate of pages that begin with the last row of the previous page.
    public var duplicateRate = 0.0

    /// Creates an adversary without faults.
    public init() {}

    /// No faults.
    public static let none = SimulatorAdversary()

    /// A mix of all faults, as used by `storectl simulate --adversary`.
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
