public import TapedeckModel
public import TapedeckProjections

/// Follows or unfollows a user.
///
/// ```swift
/// let follow = FollowUser("7")
/// try await store.decide { try follow.decide(VideoQueries($0)) }
/// ```
public struct FollowUser: Sendable {
    /// The id of the user to follow or unfollow.
    public var user: String
    /// Whether to follow the user.
    public var isOn: Bool

    /// Creates the command.
    public init(_ user: String, isOn: Bool = true) {
        self.user = user
        self.isOn = isOn
    }

    /// A reason why the command is refused.
    public enum Refusal: CommandRefusal {
        /// The user is unknown.
        case unknownUser
        /// The user to follow is the account's own user.
        case isOneself

        /// The error message.
        public var message: String {
            switch self {
            case .unknownUser: "unknown user"
            case .isOneself: "users cannot follow themselves"
            }
        }

        /// `.notFound` for an unknown user, `.invalidPayload` for the account's own user.
        public var code: ErrorCode { self == .unknownUser ? .notFound : .invalidPayload }

        /// A hint for the user.
        public var hint: String? {
            self == .unknownUser
                ? "sync with the remote that has the user, or check the id" : "name another user"
        }
    }

    /// Returns the event to record, or nothing if there is no change.
    ///
    /// Throws a `Refusal`; `ModelError` with `.signInRequired` if the account's user is unknown or if
    /// the store now belongs to another account; or errors from reading the store. The cost is a few
    /// lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try queries.requireDeviceAccount(at: Whale.system)
        let own = try queries.requireOwnUser()
        guard own != user else { throw Refusal.isOneself }
        guard try queries.shownProfile(user) != nil else { throw Refusal.unknownUser }
        guard try queries.isFollowing(own, user) != isOn else { return [] }
        return [FollowToggled.with { ($0.user, $0.follower, $0.isOn) = (user, own, isOn) }]
    }
}
