public import TapedeckModel
public import TapedeckProjections

/// Records that the user has started using the app, so that the system counts a visit.
///
/// ```swift
/// try await store.decide { try StartVisit().decide(VideoQueries($0)) }
/// ```
///
/// Record a visit when the app becomes active after a pause; the 2013 app recorded a visit after a
/// pause of one hour.
public struct StartVisit: Sendable {
    /// The system that counts the visit.
    public let system: String

    /// Creates the command for a system.
    public init(at system: String = Shelby.system) { self.system = system }

    /// Returns the event to record.
    ///
    /// Throws `ModelError` with `.signInRequired` if the user is not signed in to the system.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        let account = try queries.requireSignedIn(at: system)
        return [VisitStarted.with { ($0.account, $0.system) = (account.account, account.system) }]
    }
}
