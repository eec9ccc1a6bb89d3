internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// Changes the profile of the user of the account, field by field.
///
/// ```swift
/// let edit = EditProfile {
///     $0.about = "I answer on Sundays."
///     $0.cleared = ["imageUrl"]
/// }
/// try await store.decide { try edit.decide(VideoQueries($0)) }
/// ```
public struct EditProfile: Sendable {
    /// What is to change; its user is filled in.
    public var changes: ProfileEdited

    /// Makes the command.
    ///
    /// - Parameter write: sets the fields that change, and names those that are taken away.
    public init(_ write: (inout ProfileEdited) -> Void) {
        var changes = ProfileEdited()
        write(&changes)
        self.changes = changes
    }

    /// What is to be recorded: the fields that differ from what is shown; nothing where none does.
    ///
    /// Throws `ModelError`: `.signInRequired` where nobody knows whose profile it is, `.invalidPayload`,
    /// `.tooLarge`; or what reading throws. Costs a few look-ups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
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
    /// Takes the field out of an edit: it stays as it is.
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
