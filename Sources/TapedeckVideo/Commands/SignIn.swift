public import TapedeckModel
public import TapedeckProjections

/// Says that the user is signed in with an account of a system, and with no other one there.
///
/// ```swift
/// let signIn = try SignIn("ada@example.org", at: "birdtube")
/// try await store.decide { try signIn.decide(VideoQueries($0)) }
/// ```
///
/// What signs in is not its affair: that lies outside of the log.
public struct SignIn: Sendable {
    /// What is recorded.
    public let signedIn: SignedIn

    /// Makes the command.
    ///
    /// - Parameters:
    ///   - account: the account, by its system's name for it.
    ///   - system: the system, such as `birdtube`.
    ///
    /// Throws `ModelError`: `.invalidPayload`, `.tooLarge`.
    public init(_ account: String, at system: String) throws(ModelError) {
        signedIn = try SignedIn.with { ($0.account, $0.system) = (account, system) }.normalized()
    }

    /// What happens: other accounts of the system are signed out, and this one is signed in; nothing where
    /// it is so already.
    ///
    /// Costs a look-up for each account that is signed in.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        let held = try queries.signedInAccounts(at: signedIn.system)
        var events: [any Event] = held.filter { $0.account != signedIn.account }.map(\.signedOut)
        if events.count == held.count { events.append(signedIn) }
        return events
    }
}

/// Says that the user is signed in with no account of a system any more.
///
/// ```swift
/// let signOut = SignOut(at: "birdtube")
/// try await store.decide { try signOut.decide(VideoQueries($0)) }
/// ```
public struct SignOut: Sendable {
    /// The system.
    public let system: String

    /// Makes the command; `system` is such as `birdtube`.
    public init(at system: String) { self.system = system }

    /// What happens: every account of the system that is signed in is signed out.
    ///
    /// Costs a look-up for each.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try queries.signedInAccounts(at: system).map(\.signedOut)
    }
}

extension AccountEntry {
    fileprivate var signedOut: any Event {
        SignedOut.with { ($0.account, $0.system) = (account, system) }
    }
}
