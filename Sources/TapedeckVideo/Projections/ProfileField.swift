internal import TapedeckModel
internal import TapedeckProjections

/// A field of a profile that the user can change; the raw value is its name in events.
enum ProfileField: String, CaseIterable {
    case username, firstName, lastName, imageUrl, email, about

    /// Returns the value that an edit sets; nil if the edit leaves the field unchanged or removes
    /// it.
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

    /// Returns the value in a profile observed on a remote.
    func shown(by profile: UserObserved) -> String? {
        switch self {
        case .username: profile.hasUsername ? profile.username : nil
        case .firstName: profile.hasFirstName ? profile.firstName : nil
        case .lastName: profile.hasLastName ? profile.lastName : nil
        case .imageUrl: profile.hasImageURL ? profile.imageURL : nil
        case .email: profile.hasEmail ? profile.email : nil
        // Remotes do not store this field.
        case .about: nil
        }
    }

    /// Returns the displayed value.
    func value(in profile: ShownProfile) -> String? {
        self == .about ? profile.about : shown(by: profile.user)
    }

    /// Sets the edited value in a profile.
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

/// The time at which the current value of a field was first observed at a remote, replacing an
/// earlier value.
struct ProfileChange: Equatable {
    var field: ProfileField
    /// The time in Unix milliseconds.
    var at: Int64
}

/// The user's last edit of a profile field.
struct ProfileEdit: Equatable {
    var field: ProfileField
    /// The time in Unix milliseconds.
    var at: Int64
    /// The new value; nil if the field was removed.
    var value: String?
}

/// A displayed profile: the values from remotes, some of them replaced by the user's later edits.
struct ShownProfile: Equatable {
    /// The fields that remotes also store.
    var user: UserObserved
    /// The user's description of themselves.
    var about: String?
    /// The fields that differ from what remotes show.
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
            throw ModelError(.damaged, "a state contains an unknown profile field")
        }
        return field
    }
}
