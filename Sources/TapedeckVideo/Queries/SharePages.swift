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

    /// Returns the share in a row.
    func shareEntry(_ row: Row) throws -> ShareEntry {
        let share = try ShareList.Share(decoding: row.value)
        let said = try VideoShared(payload: share.payload)
        return ShareEntry(
            id: share.event, video: said.video, destinations: said.destinations, text: said.text,
            recipients: said.recipients, at: UTCTime(milliseconds: share.at))
    }
}
