internal import TapedeckModel
internal import TapedeckProjections

/// A page of what the user has shared.
public struct SharesPage: Codable, Hashable, Sendable {
    /// The shares, the last first.
    public var shares: [ShareEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// Something that the user has shared.
public struct ShareEntry: Codable, Hashable, Sendable {
    /// The id of the event; `outbox` and `explain` tell what became of it.
    public var id: String
    /// The video, as `provider:id`.
    public var video: String
    /// Where it was shared.
    public var destinations: [String]
    /// What was said.
    public var text: String
    /// To whom, for an e-mail.
    public var recipients: [String]
    /// When.
    public var at: UTCTime
}

/// The people to whom the user has sent videos.
public struct RecipientsPage: Codable, Hashable, Sendable {
    /// The addresses, the one written to last first.
    public var recipients: [RecipientEntry]
}

/// Somebody to whom the user has sent a video.
public struct RecipientEntry: Codable, Hashable, Sendable {
    /// The address, as it was written last.
    public var address: String
    /// When the last video was sent there.
    public var lastAt: UTCTime
    /// How many were, as far as was looked.
    public var shares: Int
}

extension QueryLimits {
    /// How many shares `recipients` looks at.
    public static let recipientScanMax = 5_000
}

extension VideoQueries {
    /// What the user has shared, the last first.
    ///
    /// Costs what the page holds.
    public func shares(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> SharesPage {
        let (rows, next) = try page(of: projections.shares, .shares, limit: limit, cursor: cursor)
        return SharesPage(shares: try rows.map { try shareEntry($0) }, next: next)
    }

    /// To whom the user has sent videos lately, for proposals while an address is written.
    ///
    /// Looks at the last `QueryLimits.recipientScanMax` shares; addresses that differ in case only are one.
    ///
    /// - Parameters:
    ///   - prefix: how the address begins, in any case.
    ///   - limit: how many at the most.
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

    /// The share of a row.
    func shareEntry(_ row: Row) throws -> ShareEntry {
        let share = try ShareList.Share(decoding: row.value)
        let said = try VideoShared(payload: share.payload)
        return ShareEntry(
            id: share.event, video: said.video, destinations: said.destinations, text: said.text,
            recipients: said.recipients, at: UTCTime(milliseconds: share.at))
    }
}

extension RecipientEntry {
    /// The recipients of some shares, the last of which stand in front.
    ///
    /// - Parameter prefix: how an address begins, in any case.
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
