public import TapedeckModel
public import TapedeckProjections

/// Follows somebody, or no longer.
///
/// ```swift
/// let follow = FollowUser("7")
/// try await store.decide { try follow.decide(VideoQueries($0)) }
/// ```
public struct FollowUser: Sendable {
    /// The id of the user who is followed.
    public var user: String
    /// Whether from now on.
    public var isOn: Bool

    /// Makes the command.
    public init(_ user: String, isOn: Bool = true) {
        self.user = user
        self.isOn = isOn
    }

    /// Why nothing is recorded.
    public enum Refusal: CommandRefusal {
        /// Nobody has told of the user.
        case unknownUser
        /// It is the user of the account.
        case isOneself

        /// What does not allow it.
        public var message: String {
            switch self {
            case .unknownUser: "nobody has told of this user"
            case .isOneself: "nobody follows themselves"
            }
        }

        /// `.notFound`, or `.invalidPayload` for oneself.
        public var code: ErrorCode { self == .unknownUser ? .notFound : .invalidPayload }

        /// What to do.
        public var hint: String? {
            self == .unknownUser
                ? "sync with the remote that has the user, or name another" : "name another user"
        }
    }

    /// What is to be recorded; nothing where it is so already.
    ///
    /// Throws a `Refusal`; `ModelError` with `.signInRequired` where nobody knows who follows; or what reading
    /// throws. Costs a few look-ups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        let own = try queries.requireOwnUser()
        guard own != user else { throw Refusal.isOneself }
        guard try queries.shownProfile(user) != nil else { throw Refusal.unknownUser }
        guard try queries.isFollowing(own, user) != isOn else { return [] }
        return [FollowToggled.with { ($0.user, $0.follower, $0.isOn) = (user, own, isOn) }]
    }
}
