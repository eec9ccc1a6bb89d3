internal import TapedeckModel
internal import TapedeckProjections

/// A page of a user's followers, or of the users whom a user follows.
public struct FollowsPage: Codable, Hashable, Sendable {
    /// The user's id.
    public var user: String
    /// The number of known followers.
    public var followerCount: Int
    /// The number of users whom the user is known to follow.
    public var followingCount: Int
    /// The followers or followed users, sorted by the number in their ids.
    public var users: [FollowEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A follower or a followed user.
public struct FollowEntry: Codable, Hashable, Sendable {
    /// The state of a follow.
    public enum State: String, Codable, Sendable {
        /// The follow was requested here, and no remote shows it yet.
        case waiting
        /// The follow was requested here, and a remote refused it, so it exists only in this store.
        case refused
        /// A remote shows the follow or has confirmed it.
        case shown
    }

    /// The user's id.
    public var id: String
    /// The user's name.
    @NullWhenNil public var username: String?
    /// The user's first name.
    @NullWhenNil public var firstName: String?
    /// The user's last name.
    @NullWhenNil public var lastName: String?
    /// The URL of the user's picture.
    @NullWhenNil public var imageUrl: String?
    /// The state of the follow.
    public var state: State
    /// The error code if the follow was refused.
    @NullWhenNil public var code: String?
    /// The error message if the follow was refused.
    @NullWhenNil public var message: String?
}

extension VideoQueries {
    /// Returns a user's followers, or the users whom a user follows, sorted by the number in their
    /// ids.
    ///
    /// Changes by this store's user take effect immediately, whatever a remote reports. The counts
    /// are computed from the lists in this store; `user` returns the remote's counts. The cost
    /// depends on the size of the page.
    ///
    /// - Parameters:
    ///   - user: The user's id.
    ///   - direction: Whether to return followers or followed users.
    public func follows(
        of user: String, _ direction: FollowList.Direction = .followers,
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> FollowsPage {
        try QueryLimits.check(limit)
        let (list, letter): (FollowList, PageCursor.List) =
            direction == .followers
            ? (projections.followers, .followers) : (projections.following, .following)
        let key = try Tag(list.tagKind, user)
        var rows = try reader.items(
            of: list, key: key, prefix: RowKey(FollowList.Edge.listedPrefix),
            after: PageCursor.key(letter, cursor), limit: limit + 1)
        var next: String?
        if rows.count > limit {
            rows.removeLast(rows.count - limit)
            next = rows.last.map { PageCursor.text(letter, $0.key) }
        }
        let users = try rows.compactMap { try followEntry($0, key, list) }
        return FollowsPage(
            user: user, followerCount: try followCount(user, projections.followers),
            followingCount: try followCount(user, projections.following), users: users, next: next)
    }

    /// Returns the user that a list item refers to, or nil if the follow is unknown.
    func followEntry(_ item: Row, _ key: Tag, _ list: FollowList) throws -> FollowEntry? {
        try edge(item.value.utf8Text, key, list).map { try entry(item.value.utf8Text, $0) }
    }

    /// Returns whether, according to this store, one user follows another.
    func isFollowing(_ follower: String, _ user: String) throws -> Bool {
        guard let key = try? Tag("follower", follower) else { return false }
        return try edge(user, key, projections.following)?.isOn ?? false
    }

    private func edge(
        _ other: String, _ key: Tag, _ list: FollowList
    ) throws -> FollowList.Edge? {
        try reader.item(of: list, key: key, name: FollowList.Edge.name(other)).map {
            try FollowList.Edge(decoding: $0)
        }
    }

    private func entry(_ id: String, _ edge: FollowList.Edge) throws -> FollowEntry {
        let refusal = edge.isShown ? nil : edge.own?.refusal
        let isWaiting = !edge.isShown && edge.own?.isWanted == true
        var entry = FollowEntry(
            id: id, state: refusal != nil ? .refused : isWaiting ? .waiting : .shown,
            code: refusal?.code, message: refusal?.message)
        guard let profile = try shownProfile(id)?.user else { return entry }
        entry.username = profile.hasUsername ? profile.username : nil
        entry.firstName = profile.hasFirstName ? profile.firstName : nil
        entry.lastName = profile.hasLastName ? profile.lastName : nil
        entry.imageUrl = profile.hasImageURL ? profile.imageURL : nil
        return entry
    }

    private func followCount(_ user: String, _ list: FollowList) throws -> Int {
        let state = try reader.state(of: list, key: Tag(list.tagKind, user))
        return Int(clamping: state?.count ?? 0)
    }
}
