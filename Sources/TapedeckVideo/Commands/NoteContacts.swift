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
    /// The cost depends on the size of the address book.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        var noted: [String: ContactList.State] = [:]
        for contact in try queries.contacts() where contact.isNoted {
            noted[EmailAddress.name(of: contact.address)] = contact
        }
        let listed = Set(try queries.recipientList().map { EmailAddress.name(of: $0.address) })
        return contacts.filter { contact in
            let name = EmailAddress.name(of: contact.address)
            guard !contact.removed else { return listed.contains(name) }
            return noted[name].map { ($0.address, $0.name) != (contact.address, contact.name) }
                ?? true
        }
    }
}
