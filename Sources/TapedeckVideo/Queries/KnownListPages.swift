internal import TapedeckModel
internal import TapedeckProjections

/// A page of the lists that remotes keep.
public struct ListsPage: Codable, Hashable, Sendable {
    /// The lists, by title; lists without a title come last.
    public var lists: [ListEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A list that a remote keeps: a channel's dashboard or a roll.
public struct ListEntry: Codable, Hashable, Sendable {
    /// The list's name in the format of `VideoGroup`, such as `roll/ID`.
    public var list: String
    /// The title; nil if it is unknown.
    @NullWhenNil public var title: String?
    /// The id of the user who owns the list; nil if it is unknown.
    @NullWhenNil public var owner: String?
    /// The name of the user who owns the list; nil if it is unknown.
    @NullWhenNil public var ownerName: String?
    /// The URL of the list's picture; nil if it is unknown.
    @NullWhenNil public var thumbnailUrl: String?
    /// Whether the account's user follows the list; nil if it is unknown.
    @NullWhenNil public var isFollowed: Bool?

    init(_ list: ListObserved) {
        self.list = list.list
        title = list.hasTitle ? list.title : nil
        owner = list.hasOwner ? list.owner : nil
        ownerName = list.hasOwnerName ? list.ownerName : nil
        thumbnailUrl = list.hasThumbnailURL ? list.thumbnailURL : nil
        isFollowed = list.hasFollowed ? list.followed : nil
    }
}

extension VideoQueries {
    /// Returns the lists that remotes keep, by title.
    ///
    /// The videos of a list are in the group of the same name; see `videos(in:at:)`. The cost
    /// depends on the size of the page.
    public func lists(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> ListsPage {
        let (rows, next) = try page(
            of: projections.knownLists, .lists, limit: limit, cursor: cursor)
        return ListsPage(lists: try rows.map { try listEntry($0) }, next: next)
    }

    /// Returns the list in a row.
    func listEntry(_ row: Row) throws -> ListEntry {
        ListEntry(
            try StateReader.read(row.value) { (reader) throws(ModelError) in
                try reader.message() as ListObserved
            })
    }
}
