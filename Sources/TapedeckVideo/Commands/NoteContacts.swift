public import TapedeckModel
public import TapedeckProjections

/// Adds people to the user's address book, renames them, or removes them.
///
/// ```swift
/// let grace = ContactNoted.with {
///     ($0.address, $0.name) = ("grace@example.org", "Grace Hopper")
/// }
/// let note = try NoteContacts([grace])
/// try await store.decide { try note.decide(VideoQueries($0)) }
/// ```
public struct NoteContacts: Sendable {
    private let contacts: [ContactNoted]

    /// Creates the command.
    ///
    /// - Parameter contacts: The entries to add, rename or remove; if an address occurs more than
    ///   once, its last entry is used.
    ///
    /// Throws `ModelError` with `.invalidPayload` or `.tooLarge` for the first invalid entry.
    public init(_ contacts: [ContactNoted]) throws(ModelError) {
        var last: [ContactNoted] = []
        var seen: Set<String> = []
        for contact in contacts.reversed() {
            let checked = try contact.normalized()
            if seen.insert(EmailAddress.name(of: checked.address)).inserted { last.append(checked) }
        }
        self.contacts = last.reversed()
    }

    /// Returns an event for each entry that changes the address book or the list of recipients.
    ///
    /// Costs a lookup for each entry; a removal also reads the list of recipients.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        let isRemoving = contacts.contains(where: \.removed)
        let listed = Set(
            try isRemoving
                ? queries.recipientList().map { EmailAddress.name(of: $0.address) } : [])
        return try contacts.filter { contact in
            let known = try queries.contact(contact.address)
            guard !contact.removed else {
                return known.map { $0.removedAt == nil } ?? false
                    || listed.contains(EmailAddress.name(of: contact.address))
            }
            guard let known, known.isNoted else { return true }
            return (known.address, known.name) != (contact.address, contact.name)
        }
    }
}
