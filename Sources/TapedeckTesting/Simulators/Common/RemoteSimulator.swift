/// A remote system that lives in memory: requests in, answers out, nothing else.
///
/// It is a value. It reads no clock, opens no socket and draws from nothing but its seed, so the same
/// requests at the same times get the same answers, and a copy is a fork of the world.
///
/// ```swift
/// var whale = WhaleSimulator(seed: 1, at: 1_700_000_000_000)
/// let answer = whale.respond(to: SimulatedRequest("GET", "/api/v1/users"), at: 1_700_000_000_500)
/// ```
///
/// What the system's description does not know (a path, a method, a parameter, a field of a body) is
/// answered with 400 and noted in `violations`. What was written stands in `effects`, in order.
public protocol RemoteSimulator: Sendable {
    /// Requests that the described system does not know.
    var violations: [SimulatorViolation] { get }
    /// Every write that took effect, in order.
    var effects: [SimulatorEffect] { get }
    /// How the system makes life hard; a checker that waits for calm sets `.none`.
    var adversary: SimulatorAdversary { get set }
    /// Takes a request at a time, in Unix milliseconds.
    mutating func respond(to request: SimulatedRequest, at now: Int64) -> SimulatedAnswer
    /// Lets happen what happens without a request: uploads that end, what other users do.
    ///
    /// `respond` does this first. A checker calls it before it reads the ledger at the end.
    mutating func advance(to now: Int64)
    /// Makes every token that was given out worthless; users have to log in again.
    mutating func expireTokens()
}

/// A request that the described system does not know.
public struct SimulatorViolation: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The request's method.
    public var method: String
    /// The request's path, without the query: that may hold a token.
    public var path: String
    /// What is not known of it.
    public var what: String
    /// When it came, in Unix milliseconds.
    public var atMilliseconds: Int64

    /// The violation in a line.
    public var description: String { "\(method) \(path): \(what)" }
}

/// What makes a request a violation.
struct OutsideTables: Error {
    var what: String

    init(_ what: String) { self.what = what }

    static let route = OutsideTables("there is no such route")
}
