internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// Changes the profile of the account's user, field by field.
///
/// ```swift
/// let edit = EditProfile {
///     $0.about = "I answer on Sundays."
///     $0.cleared = ["imageUrl"]
/// }
/// try await store.decide { try edit.decide(VideoQueries($0)) }
/// ```
public struct EditProfile: Sendable {
    /// The requested changes; `decide` fills in the user.
    public var changes: ProfileEdited

    /// Creates the command.
    ///
    /// - Parameter write: Sets the fields to change, and lists the fields to remove in `cleared`.
    public init(_ write: (inout ProfileEdited) -> Void) {
        var changes = ProfileEdited()
        write(&changes)
        self.changes = changes
    }

    /// Returns an edit with only the fields that differ from the current profile, or nothing if no
    /// field differs.
    ///
    /// Throws `ModelError`: `.signInRequired` if the account's user is unknown or if the store now
    /// belongs to another account, `.invalidPayload`, `.tooLarge`; or errors from reading the store.
    /// The cost is a few lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try queries.requireDeviceAccount(at: Whale.system)
        var edit = changes
        edit.user = try queries.requireOwnUser()
        edit = try edit.normalized()
        guard let shown = try queries.shownProfile(edit.user) else { return [edit] }
        var isEmpty = true
        for field in ProfileField.allCases {
            guard let value = field.written(by: edit) else { continue }
            if value == field.value(in: shown) {
                field.remove(from: &edit)
            } else {
                isEmpty = false
            }
        }
        edit.cleared.removeAll { ProfileField(rawValue: $0)?.value(in: shown) == nil }
        return isEmpty && edit.cleared.isEmpty ? [] : [edit]
    }
}

extension ProfileField {
    /// Removes the field from an edit, so that the edit leaves the field unchanged.
    fileprivate func remove(from edit: inout ProfileEdited) {
        switch self {
        case .username: edit.clearUsername()
        case .firstName: edit.clearFirstName()
        case .lastName: edit.clearLastName()
        case .imageUrl: edit.clearImageURL()
        case .email: edit.clearEmail()
        case .about: edit.clearAbout()
        }
    }
}
