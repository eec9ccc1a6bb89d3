internal import TapedeckModel
internal import TapedeckProjections

/// A field of a profile that the user can change, by its name in events.
enum ProfileField: String, CaseIterable {
    case username, firstName, lastName, imageUrl, email, about

    /// What an edit gives it; nil where it leaves it alone or takes it away.
    func written(by edit: ProfileEdited) -> String? {
        switch self {
        case .username: edit.hasUsername ? edit.username : nil
        case .firstName: edit.hasFirstName ? edit.firstName : nil
        case .lastName: edit.hasLastName ? edit.lastName : nil
        case .imageUrl: edit.hasImageURL ? edit.imageURL : nil
        case .email: edit.hasEmail ? edit.email : nil
        case .about: edit.hasAbout ? edit.about : nil
        }
    }

    /// What a profile shows there.
    func shown(by profile: UserObserved) -> String? {
        switch self {
        case .username: profile.hasUsername ? profile.username : nil
        case .firstName: profile.hasFirstName ? profile.firstName : nil
        case .lastName: profile.hasLastName ? profile.lastName : nil
        case .imageUrl: profile.hasImageURL ? profile.imageURL : nil
        case .email: profile.hasEmail ? profile.email : nil
        // No remote has a place for it.
        case .about: nil
        }
    }

    /// What is shown there.
    func value(in profile: ShownProfile) -> String? {
        self == .about ? profile.about : shown(by: profile.user)
    }

    /// Puts what the user wrote into a profile.
    func set(_ value: String?, in profile: inout ShownProfile) {
        switch self {
        case .username: if let value { profile.user.username = value }
        case .firstName: profile.user.set(value, \.firstName) { $0.clearFirstName() }
        case .lastName: profile.user.set(value, \.lastName) { $0.clearLastName() }
        case .imageUrl: profile.user.set(value, \.imageURL) { $0.clearImageURL() }
        case .email: profile.user.set(value, \.email) { $0.clearEmail() }
        case .about: profile.about = value
        }
    }
}

extension UserObserved {
    fileprivate mutating func set(
        _ value: String?, _ field: WritableKeyPath<UserObserved, String>,
        clear: (inout UserObserved) -> Void
    ) {
        if let value { self[keyPath: field] = value } else { clear(&self) }
    }
}

/// When a remote was first seen to show what it shows in a field now, in the place of something else.
struct ProfileChange: Equatable {
    var field: ProfileField
    /// Unix milliseconds.
    var at: Int64
}

/// What the user wrote into a field of a profile last.
struct ProfileEdit: Equatable {
    var field: ProfileField
    /// Unix milliseconds.
    var at: Int64
    /// Nil where it was taken away.
    var value: String?
}

/// A profile as it is shown: what remotes tell, and in the place of some of it what the user wrote later.
struct ShownProfile: Equatable {
    /// The fields that remotes have, too.
    var user: UserObserved
    /// What the user says of themselves.
    var about: String?
    /// The fields in which it differs from what remotes show.
    var edited: [ProfileField] = []

    init(_ user: UserObserved) { self.user = user }

    init(decoding reader: inout StateReader) throws(ModelError) {
        user = try reader.message()
        about = try reader.optionalString()
        edited = try reader.array { (reader) throws(ModelError) in try reader.profileField() }
    }

    func encode(into writer: inout StateWriter) {
        writer.add(message: user)
        writer.add(about)
        writer.add(edited) { $0.add($1.rawValue) }
    }
}

extension StateReader {
    mutating func profileField() throws(ModelError) -> ProfileField {
        guard let field = ProfileField(rawValue: try string()) else {
            throw ModelError(.damaged, "a state names no field of a profile")
        }
        return field
    }
}
