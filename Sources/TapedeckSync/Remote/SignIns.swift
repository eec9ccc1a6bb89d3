package import TapedeckModel

/// The sign-ins to a remote's system that the log contains.
///
/// They determine whose change an event is: the change belongs to the account to which the device
/// that made it last signed in before the change. A change from before the first sign-in belongs to
/// the account of that sign-in, because the user may work offline first. Sequence numbers determine
/// what came first on a device, so no clock matters.
package struct SignIns: Sendable {
    /// The sign-ins of each device, in the order in which the device recorded them.
    private var bySequence: [OriginID: [(sequence: UInt64, account: Account)]] = [:]
    private let accountCount: Int

    /// Whether the log contains sign-ins to several accounts.
    var hasSeveral: Bool { accountCount > 1 }

    /// An account to which users have signed in.
    package struct Account: Hashable, Sendable {
        /// The account's name on the remote.
        package var user: String
        /// The name that the user knows, for messages.
        package var shown: String
        /// The events that record the sign-ins.
        package var events: [EventID]

        package init(user: String, shown: String, events: [EventID]) {
            (self.user, self.shown, self.events) = (user, shown, events)
        }
    }

    /// - Parameter accounts: All accounts of the system with sign-ins.
    package init(_ accounts: [Account]) {
        accountCount = accounts.count
        for account in accounts {
            for event in account.events {
                bySequence[event.origin, default: []].append((event.sequence, account))
            }
        }
        for device in bySequence.keys {
            bySequence[device]?.sort { $0.sequence < $1.sequence }
        }
    }

    /// Returns the reason why a change must not be sent from an account; nil if there is none.
    ///
    /// A change of a device that has never signed in may be sent only while the log contains
    /// sign-ins to no more than one account, because then all changes are its user's. The changes of
    /// this device belong to its login even if an older version did not record the sign-in.
    ///
    /// - Parameters:
    ///   - change: The event with which the user made the change.
    ///   - user: The account's name on the remote.
    ///   - device: This device.
    package func refusal(
        of change: EventID, from user: String, at remote: Remote, on device: OriginID
    ) -> SyncFailure? {
        guard let signIns = bySequence[change.origin] else {
            guard hasSeveral, change.origin != device else { return nil }
            return SyncFailure(
                .conditionFailed,
                "the device that made this change has not logged in to \(own: remote.name), so it is"
                    + " unknown whose change it is; log in on that device, or drop the change")
        }
        let author = SignIns.author(of: change, signIns)
        guard author.user != user else { return nil }
        return SyncFailure(
            .conditionFailed,
            "this change belongs to account \(author.shown), but this store belongs to another"
                + " account on \(own: remote.name); the change waits until you drop it")
    }

    /// Returns whether a change is known to belong to another account.
    func isOthers(_ change: EventID, than user: String) -> Bool {
        bySequence[change.origin].map { SignIns.author(of: change, $0).user != user } ?? false
    }

    private static func author(
        of change: EventID, _ signIns: [(sequence: UInt64, account: Account)]
    ) -> Account {
        (signIns.last { $0.sequence < change.sequence } ?? signIns[0]).account
    }

    /// Returns the name by which the user knows an account.
    package func shown(_ user: String) -> String {
        bySequence.values.joined().first { $0.account.user == user }?.account.shown ?? user
    }
}
