internal import TapedeckModel
internal import TapedeckProjections

/// A page of the people to whom the user may send a video by email.
public struct RecipientsPage: Codable, Hashable, Sendable {
    /// The recipients: the most recent first, then the address book by name.
    public var recipients: [RecipientEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A person to whom the user has sent a video, or who is in the address book.
public struct RecipientEntry: Codable, Hashable, Sendable {
    /// The address, spelled as in the last share to it or, without a share, as in the address book.
    public var address: String
    /// The person's name in the address book.
    @NullWhenNil public var name: String?
    /// The time at which a video was last sent to the address; nil if never.
    @NullWhenNil public var lastAt: UTCTime?
    /// The number of shares to the address among the examined shares.
    public var shares: Int
}

extension QueryLimits {
    /// The maximum number of shares that `recipients` examines.
    public static let recipientScanMax = 5_000
    /// The maximum number of contacts that `recipients` examines.
    public static let contactScanMax = 50_000
}

extension VideoQueries {
    /// Returns the people to whom the user may send a video by email, as suggestions while the user
    /// types.
    ///
    /// The most recent recipients come first, then the rest of the address book by name; an entry
    /// without a name is sorted by its address. Each address is listed once; addresses that differ
    /// only in case are the same address. A removed contact is listed again only after a later
    /// share to the address, or if the contact is added again.
    ///
    /// Examines the last `QueryLimits.recipientScanMax` shares and `QueryLimits.contactScanMax`
    /// contacts. If a video is sent between two requests, its recipient moves to the front and may
    /// be missing from the later pages.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of the address or of any word of the name, ignoring case and
    ///     accents.
    ///   - limit: The maximum number of recipients.
    ///   - cursor: The `next` of the previous page, with the same prefix.
    public func recipients(
        prefix: String = "", limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> RecipientsPage {
        try QueryLimits.check(limit)
        let last = try PageCursor.key(.recipients, cursor)
        let rest = try recipientList(prefix: prefix).drop { entry in
            last.map { !$0.lexicographicallyPrecedes(entry.place) } ?? false
        }
        let page = rest.prefix(limit)
        return RecipientsPage(
            recipients: Array(page),
            next: rest.count > limit
                ? page.last.map { PageCursor.text(.recipients, $0.place) } : nil)
    }

    /// Returns all recipients whose address, or a word of whose name, begins with a prefix.
    func recipientList(prefix: String = "") throws -> [RecipientEntry] {
        let shares = try reader.rows(
            of: projections.shares, table: 0, lower: nil, upper: nil, after: nil,
            limit: QueryLimits.recipientScanMax)
        return RecipientEntry.list(
            try contacts(), try shares.map { try shareEntry($0) }, prefix: prefix)
    }

    /// Returns the known facts about all contacts, including removed ones.
    func contacts() throws -> [ContactList.State] {
        try reader.rows(
            of: projections.contacts, table: 0, lower: nil, upper: nil, after: nil,
            limit: QueryLimits.contactScanMax
        ).map { try contact($0) }
    }

    /// Returns the known facts about a contact; nil if there are none.
    func contact(_ address: String) throws -> ContactList.State? {
        try reader.state(of: projections.contacts, key: try EmailAddress.tag(address))
    }

    /// Returns the contact in a row.
    func contact(_ row: Row) throws -> ContactList.State {
        try StateReader.read(row.value) { (reader) throws(ModelError) in
            try ContactList.State(reading: &reader)
        }
    }
}

extension RecipientEntry {
    /// Returns the recipients whose address, or a word of whose name, begins with a prefix, in the
    /// order of the list.
    ///
    /// - Parameter shares: The shares, newest first.
    static func list(
        _ contacts: [ContactList.State], _ shares: [ShareEntry], prefix: String
    ) -> [RecipientEntry] {
        var found: [String: RecipientEntry] = [:]
        var removals: [String: Int64] = [:]
        for contact in contacts {
            let name = EmailAddress.name(of: contact.address)
            if let removedAt = contact.removedAt {
                removals[name] = removedAt
            } else {
                found[name] = RecipientEntry(contact)
            }
        }
        for share in shares {
            for address in share.recipients {
                let name = EmailAddress.name(of: address)
                if let removedAt = removals[name], share.at.milliseconds <= removedAt { continue }
                var entry = found[name] ?? RecipientEntry(address: address, shares: 0)
                if entry.lastAt == nil { (entry.address, entry.lastAt) = (address, share.at) }
                entry.shares += 1
                found[name] = entry
            }
        }
        let start = SearchText(String(prefix.drop(while: \.isWhitespace))).bytes
        return found.values.filter { $0.begins(with: start) }.map { ($0, $0.place) }
            .sorted { $0.1.lexicographicallyPrecedes($1.1) }.map(\.0)
    }

    private init(_ contact: ContactList.State) {
        self.init(
            address: contact.address, name: contact.name.isEmpty ? nil : contact.name, shares: 0)
    }

    /// A sort key for the entry: comparing the bytes of two keys gives the order of the list.
    fileprivate var place: [UInt8] {
        RowKey().descending(lastAt?.milliseconds ?? .min)
            .text(SearchText(name ?? address).bytes.utf8Text)
            .text(EmailAddress.name(of: address)).bytes
    }

    /// Returns whether the address, or any word of the name, begins with `start`, ignoring case and
    /// accents; `start` is the text in `SearchText` form.
    private func begins(with start: [UInt8]) -> Bool {
        if SearchText(address).bytes.starts(with: start) { return true }
        let name = SearchText(name ?? "")
        return name.bytes.starts(with: start)
            || name.terms.contains { name.bytes[$0.lowerBound...].starts(with: start) }
    }
}
