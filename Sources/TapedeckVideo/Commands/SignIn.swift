public import TapedeckModel
public import TapedeckProjections

/// Records that the user is signed in to a system with this account and no other.
///
/// ```swift
/// let signIn = try SignIn("ada@example.org", at: "birdtube")
/// try await store.decide { try signIn.decide(VideoQueries($0)) }
/// ```
///
/// The command only records the sign-in: authentication happens outside the log.
public struct SignIn: Sendable {
    /// The event to record.
    public let signedIn: SignedIn

    /// Creates the command.
    ///
    /// - Parameters:
    ///   - account: The account's name in the system.
    ///   - system: The system, such as `birdtube`.
    ///
    /// Throws `ModelError`: `.invalidPayload`, `.tooLarge`.
    public init(_ account: String, at system: String) throws(ModelError) {
        signedIn = try SignedIn.with { ($0.account, $0.system) = (account, system) }.normalized()
    }

    /// Returns the events that sign in this account and sign out all other accounts of the system.
    ///
    /// Returns no events if this account is already the only signed-in account of the system. The
    /// cost is one lookup per signed-in account.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        let held = try queries.signedInAccounts(at: signedIn.system)
        var events: [any Event] = held.filter { $0.account != signedIn.account }.map(\.signedOut)
        if events.count == held.count { events.append(signedIn) }
        return events
    }
}

/// Records that the user is signed out of all accounts of a system.
///
/// ```swift
/// let signOut = SignOut(at: "birdtube")
/// try await store.decide { try signOut.decide(VideoQueries($0)) }
/// ```
public struct SignOut: Sendable {
    /// The system.
    public let system: String

    /// Creates the command for a system, such as `birdtube`.
    public init(at system: String) { self.system = system }

    /// Returns the events that sign out every signed-in account of the system.
    ///
    /// The cost is one lookup per signed-in account.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try queries.signedInAccounts(at: system).map(\.signedOut)
    }
}

extension AccountEntry {
    fileprivate var signedOut: any Event {
        SignedOut.with { ($0.account, $0.system) = (account, system) }
    }
}
