internal import TapedeckModel
internal import TapedeckProjections

/// A page of videos that were shared more than once.
public struct DuplicatesPage: Codable, Hashable, Sendable {
    /// The videos, sorted by key.
    public var videos: [DuplicateEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A video that was shared more than once.
public struct DuplicateEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var key: String
    /// The id of the broadcast that represents the video.
    @NullWhenNil public var winner: String?
    /// The ids of the video's broadcasts, oldest first.
    public var broadcasts: [String]
    /// The number of broadcasts of the video.
    public var broadcastCount: Int
}

/// A page of the watch-later list.
public struct WatchLaterPage: Codable, Hashable, Sendable {
    /// The videos, oldest mark first.
    public var videos: [WatchLaterEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A video on the watch-later list.
public struct WatchLaterEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var key: String
    /// The time of the earliest mark that has not been removed.
    public var since: UTCTime
}

extension VideoQueries {
    /// Returns the videos that were shared more than once, sorted by key.
    ///
    /// A page ends early when it contains `QueryLimits.broadcastsPerPageMax` ids. At most
    /// `QueryLimits.broadcastsPerPageMax` ids are listed for each video; `broadcastCount` is the
    /// total number.
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

    /// Returns the entry for a row of the table of duplicates.
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

    /// Returns the watch-later list, oldest mark first.
    public func watchLater(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> WatchLaterPage {
        let (rows, next) = try page(
            of: projections.watchLater, .watchLater, limit: limit, cursor: cursor)
        return WatchLaterPage(videos: rows.map { watchLaterEntry($0) }, next: next)
    }

    /// Returns the entry for a row of the watch-later list.
    func watchLaterEntry(_ row: Row) -> WatchLaterEntry {
        WatchLaterEntry(
            key: String(tag("video", in: row, after: 8).name),
            since: UTCTime(milliseconds: Int64(ascending: row.key)))
    }
}
