internal import TapedeckModel
internal import TapedeckProjections

/// A page of those who follow a user, or whom a user follows.
public struct FollowsPage: Codable, Hashable, Sendable {
    /// The user.
    public var user: String
    /// How many are known to follow the user.
    public var followerCount: Int
    /// How many the user is known to follow.
    public var followingCount: Int
    /// Who was asked for, by their ids' numbers.
    public var users: [FollowEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// Somebody who follows a user or is followed.
public struct FollowEntry: Codable, Hashable, Sendable {
    /// How far it is.
    public enum State: String, Codable, Sendable {
        /// It is wanted here, and no remote shows it.
        case waiting
        /// It is wanted here, and a remote has refused it: it holds here alone.
        case refused
        /// A remote shows it, or has said that it is done.
        case shown
    }

    /// The user's id.
    public var id: String
    /// The user's name.
    @NullWhenNil public var username: String?
    /// The first name.
    @NullWhenNil public var firstName: String?
    /// The last name.
    @NullWhenNil public var lastName: String?
    /// Where the user's picture is.
    @NullWhenNil public var imageUrl: String?
    /// How far it is.
    public var state: State
    /// Why it was refused, as a code.
    @NullWhenNil public var code: String?
    /// Why it was refused, as a sentence.
    @NullWhenNil public var message: String?
}

extension VideoQueries {
    /// Who follows a user, or whom a user follows, by their ids' numbers.
    ///
    /// What the user of this store wants counts at once, whatever a remote says of it; the counts are of what
    /// is listed, where `user` tells those of the remote. Costs what the page holds.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - direction: which of the two.
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

    /// Who is listed by an item; nil where nothing is known of the two.
    func followEntry(_ item: Row, _ key: Tag, _ list: FollowList) throws -> FollowEntry? {
        try edge(item.value.utf8Text, key, list).map { try entry(item.value.utf8Text, $0) }
    }

    /// Whether one user follows another, as far as is known here.
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
