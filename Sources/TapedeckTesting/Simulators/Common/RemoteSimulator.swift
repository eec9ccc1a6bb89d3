/// An in-memory simulation of a remote system, which turns requests into responses.
///
/// A simulator is a value type. It reads no clock, opens no socket and uses no randomness beyond
/// its seed, so the same requests at the same times get the same responses. A copy of a simulator
/// changes independently of the original.
///
/// ```swift
/// var whale = WhaleSimulator(seed: 1, at: 1_700_000_000_000)
/// let answer = whale.respond(to: SimulatedRequest("GET", "/api/v1/users"), at: 1_700_000_000_500)
/// ```
///
/// A request that the system's API description does not cover (an unknown path, method, parameter
/// or body field) gets a 400 response and is recorded in `violations`. Writes are recorded in
/// `effects`, in order.
public protocol RemoteSimulator: Sendable {
    /// The requests that the system's API description does not cover.
    var violations: [SimulatorViolation] { get }
    /// The writes that took effect, in order.
    var effects: [SimulatorEffect] { get }
    /// The injected faults; checkers set `.none` to let the system settle.
    var adversary: SimulatorAdversary { get set }
    /// Handles a request that arrives at `now`, in milliseconds since 1970.
    mutating func respond(to request: SimulatedRequest, at now: Int64) -> SimulatedAnswer
    /// Applies changes that need no request, such as finished uploads and actions of other users.
    ///
    /// `respond` first advances the simulator in the same way. Checkers call this method before
    /// they read the ledger at the end.
    mutating func advance(to now: Int64)
    /// Invalidates every token, so that users have to log in again.
    mutating func expireTokens()
}

/// A request that the system's API description does not cover.
public struct SimulatorViolation: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The request's method.
    public var method: String
    /// The request's path, without the query, which may contain a token.
    public var path: String
    /// The part of the request that the API description does not cover.
    public var what: String
    /// The time of the request, in milliseconds since 1970.
    public var atMilliseconds: Int64

    /// The violation as one line.
    public var description: String { "\(method) \(path): \(what)" }
}

/// The reason why a request is a violation.
struct OutsideTables: Error {
    var what: String

    init(_ what: String) { self.what = what }

    static let route = OutsideTables("unknown route")
}
