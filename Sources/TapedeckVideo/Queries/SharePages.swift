internal import TapedeckModel
internal import TapedeckProjections

/// A page of the user's shares.
public struct SharesPage: Codable, Hashable, Sendable {
    /// The shares, newest first.
    public var shares: [ShareEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A share by the user.
public struct ShareEntry: Codable, Hashable, Sendable {
    /// The id of the share's event; `outbox` and `explain` show its delivery state.
    public var id: String
    /// The video, as `provider:id`.
    public var video: String
    /// The destinations of the share.
    public var destinations: [String]
    /// The text of the share.
    public var text: String
    /// The email addresses of the recipients.
    public var recipients: [String]
    /// The time of the share.
    public var at: UTCTime
}

/// The people to whom the user has sent videos.
public struct RecipientsPage: Codable, Hashable, Sendable {
    /// The addresses, most recently used first.
    public var recipients: [RecipientEntry]
}

/// A person to whom the user has sent a video.
public struct RecipientEntry: Codable, Hashable, Sendable {
    /// The address in its most recently used spelling.
    public var address: String
    /// The time at which a video was last sent to the address.
    public var lastAt: UTCTime
    /// The number of shares to the address among the examined shares.
    public var shares: Int
}

extension QueryLimits {
    /// The maximum number of shares that `recipients` examines.
    public static let recipientScanMax = 5_000
}

extension VideoQueries {
    /// Returns the user's shares, newest first.
    ///
    /// The cost depends on the size of the page.
    public func shares(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> SharesPage {
        let (rows, next) = try page(of: projections.shares, .shares, limit: limit, cursor: cursor)
        return SharesPage(shares: try rows.map { try shareEntry($0) }, next: next)
    }

    /// Returns the email addresses to which the user recently sent videos, as suggestions while the
    /// user types.
    ///
    /// Examines the last `QueryLimits.recipientScanMax` shares. Addresses that differ only in case
    /// count as one address.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the address, ignoring case.
    ///   - limit: the maximum number of addresses.
    public func recipients(
        prefix: String = "", limit: Int = QueryLimits.pageCountDefault
    ) throws -> RecipientsPage {
        try QueryLimits.check(limit)
        let rows = try reader.rows(
            of: projections.shares, table: 0, lower: nil, upper: nil, after: nil,
            limit: QueryLimits.recipientScanMax)
        let shares = try rows.map { try shareEntry($0) }
        return RecipientsPage(
            recipients: Array(RecipientEntry.recipients(of: shares, prefix: prefix).prefix(limit)))
    }

    /// Returns the share in a row.
    func shareEntry(_ row: Row) throws -> ShareEntry {
        let share = try ShareList.Share(decoding: row.value)
        let said = try VideoShared(payload: share.payload)
        return ShareEntry(
            id: share.event, video: said.video, destinations: said.destinations, text: said.text,
            recipients: said.recipients, at: UTCTime(milliseconds: share.at))
    }
}

extension RecipientEntry {
    /// Returns the recipients of some shares, in the order of their first appearance.
    ///
    /// - Parameter prefix: the beginning of an address, ignoring case.
    static func recipients(of shares: [ShareEntry], prefix: String) -> [RecipientEntry] {
        var found: [RecipientEntry] = []
        var places: [String: Int] = [:]
        let prefix = prefix.lowercased()
        for share in shares {
            for address in share.recipients {
                let name = address.lowercased()
                guard name.hasPrefix(prefix) else { continue }
                if let place = places[name] {
                    found[place].shares += 1
                } else {
                    places[name] = found.count
                    found.append(RecipientEntry(address: address, lastAt: share.at, shares: 1))
                }
            }
        }
        return found
    }
}
