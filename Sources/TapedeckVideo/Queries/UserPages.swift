internal import Foundation
internal import TapedeckModel
internal import TapedeckProjections

/// A page of users.
public struct UsersPage: Codable, Hashable, Sendable {
    /// The users, by their names.
    public var users: [UserEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// A user's profile: what remotes show, and in the place of some of it what was written here later.
public struct UserEntry: Codable, Hashable, Sendable {
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
    /// The user's address for e-mail.
    @NullWhenNil public var email: String?
    /// What the user says of themselves; no remote has a place for it.
    @NullWhenNil public var about: String?
    /// How many users follow this one; nil where the remote does not say.
    @NullWhenNil public var followerCount: Int?
    /// How many users this one follows; nil where the remote does not say.
    @NullWhenNil public var followingCount: Int?
    /// Whether it is the user of the account.
    public var isOwn: Bool
    /// Whether the user of the account follows this one.
    public var isFollowed: Bool
    /// The fields that were written here and that no remote shows so, by their names.
    public var edited: [String]

    init(_ profile: ShownProfile, isFollowed: Bool) {
        let user = profile.user
        id = user.user
        isOwn = user.isOwn
        self.isFollowed = isFollowed
        username = user.hasUsername ? user.username : nil
        firstName = user.hasFirstName ? user.firstName : nil
        lastName = user.hasLastName ? user.lastName : nil
        imageUrl = user.hasImageURL ? user.imageURL : nil
        email = user.hasEmail ? user.email : nil
        about = profile.about
        followerCount = user.hasFollowerCount ? Int(clamping: user.followerCount) : nil
        followingCount = user.hasFollowingCount ? Int(clamping: user.followingCount) : nil
        edited = ProfileField.allCases.filter(profile.edited.contains).map(\.rawValue)
    }
}

extension VideoQueries {
    /// A user's profile; nil for one of whom nothing is known.
    ///
    /// Costs a few look-ups.
    public func user(_ id: String) throws -> UserEntry? {
        try shownProfile(id).map { try userEntry($0, own: ownUser()) }
    }

    /// The users of the accounts with which remotes were read.
    public func ownUsers() throws -> [UserEntry] {
        let own = try ownUser()
        return try ownProfiles().map { try userEntry($0, own: own) }
    }

    /// The id of the user of the account: the one who is signed in, else the one whom a remote has told of as
    /// its reader; nil where nobody knows.
    ///
    /// Costs a look-up or two.
    public func ownUser() throws -> String? {
        try signedInAccount(at: Whale.system)?.account ?? ownProfiles(limit: 1).first?.user.user
    }

    /// The id of the user of the account.
    ///
    /// Throws `ModelError` with `.signInRequired` where nobody knows who that is.
    public func requireOwnUser() throws -> String {
        if let own = try ownUser() { return own }
        throw ModelError(
            .signInRequired,
            "nobody is signed in at \(Whale.system), and no remote has said who reads it",
            hint: "sync with the remote, or sign in; what does not need an account works without")
    }

    /// The users in whose names something stands, in any case and with or without accents, by their names.
    ///
    /// Looked through are the user's name, the first and the last name, and these two behind each other.
    /// Costs a look at every user behind the page before; `search` finds the beginnings of words by an index.
    ///
    /// - Parameter text: what to find; blank finds everybody.
    public func users(
        named text: String = "", limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> UsersPage {
        try QueryLimits.check(limit)
        let wanted = SearchText.folded(text.trimmingCharacters(in: .whitespacesAndNewlines))
        let own = try ownUser()
        var (users, after) = ([UserEntry](), try PageCursor.key(.users, cursor))
        while true {
            let rows = try reader.rows(
                of: projections.users, table: 0, lower: nil, upper: nil, after: after,
                limit: QueryLimits.pageCountMax)
            for row in rows {
                let profile = try shownProfile(row)
                guard profile.isNamed(wanted) else { continue }
                guard users.count < limit else {
                    return UsersPage(
                        users: users, next: after.map { PageCursor.text(.users, $0) })
                }
                users.append(try userEntry(profile, own: own))
                after = row.key
            }
            guard rows.count == QueryLimits.pageCountMax else { break }
            after = rows.last?.key
        }
        return UsersPage(users: users)
    }

    // MARK: - Profiles

    func shownProfile(_ id: String) throws -> ShownProfile? {
        guard !id.isEmpty, let key = try? Tag("user", id) else { return nil }
        return try reader.state(of: projections.users, key: key)?.shownProfile(key)
    }

    func username(_ id: String) throws -> String? {
        try shownProfile(id).flatMap { $0.user.hasUsername ? $0.user.username : nil }
    }

    private func shownProfile(_ row: Row) throws -> ShownProfile {
        try StateReader.read(row.value) { (reader) throws(ModelError) in
            try ShownProfile(decoding: &reader)
        }
    }

    private func ownProfiles(limit: Int = QueryLimits.pageCountMax) throws -> [ShownProfile] {
        try reader.rows(
            of: projections.users, table: UserList.Table.own, lower: nil, upper: nil, after: nil,
            limit: limit
        ).map(shownProfile)
    }

    /// The user of a row.
    func userEntry(_ row: Row) throws -> UserEntry {
        try userEntry(shownProfile(row), own: ownUser())
    }

    private func userEntry(_ profile: ShownProfile, own: String?) throws -> UserEntry {
        let isFollowed = try own.map { try isFollowing($0, profile.user.user) } ?? false
        return UserEntry(profile, isFollowed: isFollowed)
    }
}

extension ShownProfile {
    /// Whether a text stands in one of the names; the text is folded already.
    fileprivate func isNamed(_ text: [Unicode.Scalar]) -> Bool {
        guard !text.isEmpty else { return true }
        let (first, last) = (user.firstName, user.lastName)
        return [user.username, "\(first) \(last)"].contains {
            SearchText.folded($0).contains(text)
        }
    }
}
