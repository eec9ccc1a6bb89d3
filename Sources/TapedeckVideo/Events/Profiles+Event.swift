public import TapedeckModel

extension ProfileEdited: VideoEvent {
    /// The event type `ProfileEdited`.
    public static let eventType: EventType = "ProfileEdited"

    /// The tag of the user.
    public var tags: [Tag] { get throws { [try Tag("user", user)] } }

    /// Checks the id, the text fields and the URL, and that at least one field changes.
    public func normalized() throws(ModelError) -> ProfileEdited {
        try FieldChecks.id(user, "user")
        for (value, field) in [
            (username, "username"), (firstName, "firstName"), (lastName, "lastName"),
            (email, "email"), (about, "about"),
        ] { try FieldChecks.text(value, field) }
        if hasUsername { try FieldChecks.saying(username, "username") }
        if hasImageURL { try FieldChecks.url(imageURL, "imageUrl") }
        let written = ProfileField.allCases.filter { $0.written(by: self) != nil }
        for name in cleared {
            guard let field = ProfileField(rawValue: name), field != .username else {
                throw FieldChecks.invalid(
                    "cleared", "contains \"\(name.prefix(40))\", which cannot be cleared")
            }
            guard !written.contains(field) else {
                throw FieldChecks.invalid("cleared", "contains \(name), which is also set")
            }
        }
        guard !written.isEmpty || !cleared.isEmpty else {
            throw FieldChecks.invalid("cleared", "is empty, and no field is set")
        }
        var copy = self
        copy.cleared = Set(cleared).sorted()
        return copy
    }
}

extension FollowToggled: VideoEvent {
    /// The event type `FollowToggled`.
    public static let eventType: EventType = "FollowToggled"

    /// The number of the field that contains the follower.
    package static let followerField = 2

    /// The tags of the followed user and the follower.
    public var tags: [Tag] {
        get throws { [try Tag("user", user), try Tag("follower", follower)] }
    }

    /// Checks the ids, and that `isOn` is set.
    public func normalized() throws(ModelError) -> FollowToggled {
        try FieldChecks.follow(user, follower)
        guard hasIsOn else { throw FieldChecks.invalid("isOn", "is missing") }
        return self
    }
}

extension FollowObserved: Observation {
    /// The event type `FollowObserved`.
    public static let eventType: EventType = "FollowObserved"

    /// The tags of the followed user and the follower.
    public var tags: [Tag] {
        get throws { [try Tag("user", user), try Tag("follower", follower)] }
    }

    /// The entity name, `whale/follow/<follower>/<user>`.
    public var entity: String { "whale/follow/\(follower)/\(user)" }

    /// Always nil, because the remote does not assign versions to follow relationships.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the ids, and that `isOn` is set.
    public func normalized() throws(ModelError) -> FollowObserved {
        try FieldChecks.follow(user, follower)
        guard hasIsOn else { throw FieldChecks.invalid("isOn", "is missing") }
        return self
    }
}

extension FieldChecks {
    /// Checks a user and a follower, who must be different.
    static func follow(_ user: String, _ follower: String) throws(ModelError) {
        try id(user, "user")
        try id(follower, "follower")
        guard user != follower else {
            throw invalid("follower", "is the user: users cannot follow themselves")
        }
    }
}
