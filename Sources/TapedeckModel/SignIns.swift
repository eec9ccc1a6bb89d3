/// The sign-ins to a system that the log contains.
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
    package var hasSeveral: Bool { accountCount > 1 }

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

    /// Returns the account that a change belongs to; nil if the device that made it has never signed
    /// in.
    package func author(of change: EventID) -> Account? {
        guard let signIns = bySequence[change.origin] else { return nil }
        return (signIns.last { $0.sequence < change.sequence } ?? signIns[0]).account
    }

    /// Returns whether a change belongs, or may belong, to another account.
    ///
    /// The changes of a device that has never signed in are its user's only while the log contains
    /// sign-ins to no more than one account. The changes of this device belong to its login even if
    /// an older version did not record the sign-in.
    ///
    /// - Parameters:
    ///   - change: The event with which the user made the change.
    ///   - user: The account's name on the remote.
    ///   - device: This device; nil if it is unknown.
    package func isOthers(_ change: EventID, than user: String, on device: OriginID?) -> Bool {
        guard let author = author(of: change) else {
            return hasSeveral && change.origin != device
        }
        return author.user != user
    }

    /// Returns the name by which the user knows an account.
    package func shown(_ user: String) -> String {
        bySequence.values.joined().first { $0.account.user == user }?.account.shown ?? user
    }
}
