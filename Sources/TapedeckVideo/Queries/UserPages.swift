internal import Foundation
internal import TapedeckModel
internal import TapedeckProjections

/// A page of users.
public struct UsersPage: Codable, Hashable, Sendable {
    /// The users, sorted by name.
    public var users: [UserEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A user's profile as remotes show it, with later edits from this store.
public struct UserEntry: Codable, Hashable, Sendable {
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
    /// The user's email address.
    @NullWhenNil public var email: String?
    /// The user's self-description, which no remote stores.
    @NullWhenNil public var about: String?
    /// The number of users who follow this user; nil if the remote does not report it.
    @NullWhenNil public var followerCount: Int?
    /// The number of users whom this user follows; nil if the remote does not report it.
    @NullWhenNil public var followingCount: Int?
    /// Whether this user is the account's user.
    public var isOwn: Bool
    /// Whether the account's user follows this user.
    public var isFollowed: Bool
    /// The names of the fields that were edited in this store and whose new values no remote shows
    /// yet.
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

/// The account's user at Whale.
struct OwnUser {
    /// The account whose changes this device makes.
    let account: DeviceAccount
    /// The id of the user; nil if the user is unknown.
    let id: String?
}

extension VideoQueries {
    /// Returns a user's profile, or nil if the user is unknown.
    ///
    /// Costs a few lookups.
    public func user(_ id: String) throws -> UserEntry? {
        try shownProfile(id).map { try userEntry($0, own: ownUser()) }
    }

    /// Returns the users whose accounts were used to read remotes.
    public func ownUsers() throws -> [UserEntry] {
        let own = try ownUser()
        return try ownProfiles().map { try userEntry($0, own: own) }
    }

    /// Returns the id of the account's user, or nil if the user is unknown.
    ///
    /// The account's user is the user to whose account this device last signed in or, before the first
    /// sign-in, the user whose account was used to read a remote. Costs one lookup per account.
    public func ownUser() throws -> String? { try own().id }

    /// Returns the account's user; see `ownUser`.
    func own() throws -> OwnUser {
        let account = try deviceAccount(at: Whale.system)
        return OwnUser(account: account, id: try ownUser(account))
    }

    func ownUser(_ account: DeviceAccount) throws -> String? {
        guard let own = account.entry else { return try ownProfiles(limit: 1).first?.user.user }
        if own.isSignedIn || account.isReplaced { return own.account }
        // A user who has signed out is known as long as a remote has shown the own profile.
        return try shownProfile(own.account)?.user.isOwn == true ? own.account : nil
    }

    /// Returns the id of the account's user.
    ///
    /// Throws `ModelError` with `.signInRequired` if the user is unknown.
    public func requireOwnUser() throws -> String {
        if let own = try ownUser() { return own }
        throw ModelError(
            .signInRequired,
            "not signed in to \(Whale.system), and no remote has reported your user id",
            hint: "sync with the remote, or sign in; features that need no account still work")
    }

    /// Returns the users whose names contain the given text, ignoring case and accents, sorted by
    /// name.
    ///
    /// Searches the user name, and the first and last name joined by a space. This method examines
    /// every user after the previous page, whereas `search` uses an index to find words by prefix.
    ///
    /// - Parameter text: The text to find; blank text finds all users.
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

    /// Returns the user in a row.
    func userEntry(_ row: Row) throws -> UserEntry {
        try userEntry(shownProfile(row), own: ownUser())
    }

    private func userEntry(_ profile: ShownProfile, own: String?) throws -> UserEntry {
        let isFollowed = try own.map { try isFollowing($0, profile.user.user) } ?? false
        return UserEntry(profile, isFollowed: isFollowed)
    }
}

extension ShownProfile {
    /// Returns whether one of the user's names contains the given text, which must be in lowercase
    /// and without accents.
    fileprivate func isNamed(_ text: [Unicode.Scalar]) -> Bool {
        guard !text.isEmpty else { return true }
        let (first, last) = (user.firstName, user.lastName)
        return [user.username, "\(first) \(last)"].contains {
            SearchText.folded($0).contains(text)
        }
    }
}
