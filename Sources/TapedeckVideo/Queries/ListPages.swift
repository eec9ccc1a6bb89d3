internal import TapedeckModel
internal import TapedeckProjections

/// A page of the videos that were shared more than once.
public struct DuplicatesPage: Codable, Hashable, Sendable {
    /// The videos, by their keys.
    public var videos: [DuplicateEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// A video that was shared more than once.
public struct DuplicateEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var key: String
    /// The id of the broadcast that stands for all.
    @NullWhenNil public var winner: String?
    /// The ids of its broadcasts, oldest first.
    public var broadcasts: [String]
    /// How many broadcasts there are of it.
    public var broadcastCount: Int
}

/// A page of the videos to be seen later.
public struct WatchLaterPage: Codable, Hashable, Sendable {
    /// The videos, the one marked first in front.
    public var videos: [WatchLaterEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// A video to be seen later.
public struct WatchLaterEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var key: String
    /// When the earliest mark that still stands was set.
    public var since: UTCTime
}

extension VideoQueries {
    /// The videos that were shared more than once, by their keys.
    ///
    /// A page ends early once it holds `QueryLimits.broadcastsPerPageMax` ids; a single video's ids
    /// beyond that number are left out, and `broadcastCount` says so.
    public func duplicates(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> DuplicatesPage {
        let (rows, next) = try page(
            of: projections.videos, table: VideoList.Table.duplicates, .duplicates, limit: limit,
            cursor: cursor)
        var entries: [DuplicateEntry] = []
        var ids = 0
        for (index, row) in rows.enumerated() {
            let entry = try duplicateEntry(row)
            entries.append(entry)
            ids += entry.broadcasts.count
            if ids >= QueryLimits.broadcastsPerPageMax, index + 1 < rows.count {
                return DuplicatesPage(
                    videos: entries, next: PageCursor.text(.duplicates, row.key))
            }
        }
        return DuplicatesPage(videos: entries, next: next)
    }

    /// The video of a row of those that were shared more than once.
    func duplicateEntry(_ row: Row) throws -> DuplicateEntry {
        let tag = tag("video", in: row, after: 0)
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try VideoList.State(reading: &reader)
        }
        let items = try reader.items(
            of: projections.videos, key: tag, prefix: RowKey(BroadcastItems.byTime), after: nil,
            limit: QueryLimits.broadcastsPerPageMax)
        return DuplicateEntry(
            key: String(tag.name), winner: state.winner?.id.utf8Text,
            broadcasts: items.map { Array($0.key.dropFirst(9)).utf8Text },
            broadcastCount: Int(clamping: state.broadcasts))
    }

    /// The videos to be seen later, the one marked first in front.
    public func watchLater(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> WatchLaterPage {
        let (rows, next) = try page(
            of: projections.watchLater, .watchLater, limit: limit, cursor: cursor)
        return WatchLaterPage(videos: rows.map { watchLaterEntry($0) }, next: next)
    }

    /// The video of a row of those to be seen later.
    func watchLaterEntry(_ row: Row) -> WatchLaterEntry {
        WatchLaterEntry(
            key: String(tag("video", in: row, after: 8).name),
            since: UTCTime(milliseconds: Int64(ascending: row.key)))
    }
}
