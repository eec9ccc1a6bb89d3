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

    /// Returns the events that sign in this account and let it replace all other accounts with which
    /// the user has signed in to the system.
    ///
    /// Returns no events if the user is signed in with this account and there is no other. If
    /// `device` is given, the device itself must also be signed in to this account. The cost is one
    /// lookup per account of the system.
    ///
    /// - Parameter device: The origin of this store. Syncs with remotes send a change only from the
    ///   account to which the device of the change last signed in.
    public func decide(
        _ queries: VideoQueries<some ViewReader>, on device: OriginID? = nil
    ) throws -> [any Event] {
        let owners = try queries.owners(at: signedIn.system)
        var events: [any Event] = owners.filter { $0.account != signedIn.account }.map {
            $0.signedOut(replacedBy: signedIn.account)
        }
        let isSignedIn = owners.contains { $0.account == signedIn.account && $0.isSignedIn }
        // If two devices replace each other's account at the same time, the later sign-in wins.
        let isDeviceSignedIn = try device.map {
            try queries.isSignedIn(signedIn.account, on: $0, at: signedIn.system)
        }
        if !events.isEmpty || !isSignedIn || isDeviceSignedIn == false { events.append(signedIn) }
        return events
    }
}

/// Records that the user is signed out of all accounts of a system, on all devices or on one.
///
/// ```swift
/// let signOut = SignOut(at: "birdtube")
/// try await store.decide { try signOut.decide(VideoQueries($0)) }
/// ```
public struct SignOut: Sendable {
    /// The system.
    public let system: String
    /// The origin of this store, if the user stays signed in on other devices; otherwise nil.
    public let device: OriginID?

    /// Creates the command for a system, such as `birdtube`.
    ///
    /// - Parameter device: The origin of this store, if the user stays signed in on other devices.
    public init(at system: String, on device: OriginID? = nil) {
        (self.system, self.device) = (system, device)
    }

    /// Returns the events that sign out every account of the system that is signed in, on any device
    /// or on the given one.
    ///
    /// The cost is one lookup per account of the system.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        guard let device else {
            return try queries.signedInAccounts(at: system).map { $0.signedOut() }
        }
        return try queries.accounts(signedInOn: device, at: system).map {
            $0.signedOut(isDeviceOnly: true)
        }
    }
}

extension AccountEntry {
    fileprivate func signedOut(
        replacedBy other: String? = nil, isDeviceOnly: Bool = false
    ) -> any Event {
        SignedOut.with {
            ($0.account, $0.system, $0.deviceOnly) = (account, system, isDeviceOnly)
            if let other { $0.replacedBy = other }
        }
    }
}
