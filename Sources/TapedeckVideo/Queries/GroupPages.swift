internal import TapedeckModel
internal import TapedeckProjections

/// A page of a group of videos.
public struct GroupPage: Codable, Hashable, Sendable {
    /// The name of the group.
    public var group: String
    /// The videos, in the group's order.
    public var videos: [GroupEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
    /// The cursor of the previous page; nil on the first page.
    @NullWhenNil public var previous: String?
}

/// A video in a group.
public struct GroupEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var key: String
    /// The video's title.
    @NullWhenNil public var title: String?
    /// The user who shared or submitted the video.
    @NullWhenNil public var sharer: String?
    /// The URL of the sharer's picture.
    @NullWhenNil public var sharerImageUrl: String?
    /// The URL of the video's still picture.
    @NullWhenNil public var thumbnailUrl: String?
    /// The video's duration, in seconds.
    @NullWhenNil public var durationSeconds: Double?
    /// The number of broadcasts of the video.
    public var broadcasts: Int
    /// The time at which the video was last shared or, if it was never shared, the time at which it
    /// was submitted.
    @NullWhenNil public var newestAt: UTCTime?
    /// The time at which the video was added to the remote's list; nil if the group is not a
    /// remote's list or the time is unknown.
    @NullWhenNil public var listedAt: UTCTime?
    /// Whether the user likes the video.
    public var liked: Bool
    /// Whether the video is on the watch-later list.
    public var watchLater: Bool
    /// Whether the user has watched the video.
    public var watched: Bool
    /// Whether the video can be played.
    public var playability: PlayabilityState
}

extension QueryLimits {
    /// The maximum value of `newest` for a group.
    public static let groupCountMax = 10_000
    /// The maximum number of videos that are examined for a page of playable videos.
    public static let groupScanMax = 5_000

    static func check(newest: Int?) throws(ModelError) {
        guard let newest, !(1...groupCountMax).contains(newest) else { return }
        throw ModelError(
            .usage, "the limit must be 1 to \(groupCountMax) entries, not \(newest)")
    }

    /// Returns the number of broadcasts that the 2012 app kept on a device.
    ///
    /// - Parameter memoryBytes: The device's memory in bytes.
    public static func broadcastsOf2012(memoryBytes: UInt64) -> Int {
        switch memoryBytes {
        case ...(128 << 20): 60
        case ...(256 << 20): 200
        default: 300
        }
    }
}

extension VideoQueries {
    /// Returns a page of a group's videos, starting at any position and reading in either
    /// direction.
    ///
    /// The `next` cursor of a page stores the position of the page's last row, and `previous` the
    /// position of the first row, as of the time of reading. A row is repeated or skipped only if
    /// it has moved since the page was read. The method reads the rows of the page and the rows
    /// before `index`.
    ///
    /// Throws the reader's errors, and `ModelError` with `.usage` for arguments that are out of
    /// range.
    ///
    /// - Parameters:
    ///   - group: The group.
    ///   - now: The time at which to judge whether a video can be played.
    ///   - index: The number of rows to skip at the front; must be 0 if there is a cursor.
    ///   - newest: The maximum size of the group; nil for no limit. In groups in timeline
    ///     order, the size is measured in broadcasts: the group is limited to the videos of the
    ///     `newest` most recent broadcasts. Any other group is limited to its first `newest`
    ///     entries. The limit deletes nothing.
    ///   - playableOnly: Whether to leave out videos that are not known to be playable. At most
    ///     `QueryLimits.groupScanMax` videos are examined, so a page may be shorter than `limit`
    ///     even if there is a next page.
    ///   - limit: The maximum number of videos.
    ///   - cursor: The `next` or `previous` of a page of the same group.
    public func videos(
        in group: VideoGroup, at now: UTCTime, from index: Int = 0, newest: Int? = nil,
        playableOnly: Bool = false, limit: Int = QueryLimits.pageCountDefault,
        cursor: String? = nil
    ) throws -> GroupPage {
        try QueryLimits.check(limit)
        guard index >= 0, index == 0 || cursor == nil else {
            throw ModelError(
                .usage, "the index must be 0 or more, and cannot be combined with a cursor")
        }
        try QueryLimits.check(newest: newest)
        var rows = GroupRows(GroupTable(group, projections), reader)
        if let newest { try rows.cut(to: newest, share: cutTime(newest)) }
        let name = Array(group.name.utf8) + [0]
        func text(_ list: PageCursor.List, _ row: Row?) -> String? {
            row.map { PageCursor.text(list, name + $0.key) }
        }
        func place(_ list: PageCursor.List) throws -> [UInt8] {
            let key = try PageCursor.key(list, cursor) ?? []
            guard key.starts(with: name) else {
                throw ModelError(
                    .usage, "the cursor belongs to another group",
                    hint: "pass the \"next\" or \"previous\" value of a page of \(group.name)")
            }
            return Array(key.dropFirst(name.count))
        }
        func collect(isBackwards: Bool, from place: [UInt8]?) throws -> GroupScan {
            try scan(
                rows, at: now, isBackwards: isBackwards, from: place, playableOnly: playableOnly,
                limit: limit)
        }
        if let cursor, PageCursor.isOf(.groupBackwards, cursor) {
            let found = try collect(isBackwards: true, from: place(.groupBackwards))
            let hasNext = try found.first.map { try rows.hasRow(after: $0.key) } ?? false
            return GroupPage(
                group: group.name, videos: found.entries.reversed(),
                next: hasNext ? text(.group, found.first) : nil,
                previous: found.hasMore ? text(.groupBackwards, found.last) : nil)
        }
        let start = try cursor == nil ? rows.key(at: index) : .some(place(.group))
        let found = try collect(isBackwards: false, from: start)
        var previous: String?
        if start != nil, let first = found.first {
            previous = try rows.hasRow(before: first.key) ? text(.groupBackwards, first) : nil
        } else if let start {
            // The page is after the last row, and the previous page ends with that row.
            previous = PageCursor.text(.groupBackwards, name + start + [0])
        }
        return GroupPage(
            group: group.name, videos: found.entries,
            next: found.hasMore ? text(.group, found.last) : nil,
            previous: previous)
    }

    private func scan(
        _ rows: GroupRows<Reader>, at now: UTCTime, isBackwards: Bool, from place: [UInt8]?,
        playableOnly: Bool, limit: Int
    ) throws -> GroupScan {
        var found = GroupScan()
        let wanted = limit + 1
        var (place, count) = (place, 0)
        while true {
            let chunk =
                try isBackwards
                ? rows.rows(before: place, limit: wanted) : rows.rows(after: place, limit: wanted)
            let entries = try entries(chunk, rows.table, at: now)
            for (row, (entry, _)) in zip(chunk, entries) {
                guard found.entries.count < limit, count < QueryLimits.groupScanMax else {
                    found.hasMore = true
                    return found
                }
                count += 1
                if found.first == nil { found.first = row }
                found.last = row
                if !playableOnly || entry.playability == .playable { found.entries.append(entry) }
            }
            guard chunk.count == wanted else { return found }
            place = chunk.last?.key
        }
    }

    /// Returns the entries of rows, each with the time at which it will change without new events;
    /// the time is nil if the entry will not change.
    func entries(
        _ rows: [Row], _ table: GroupTable, at now: UTCTime
    ) throws -> [(entry: GroupEntry, until: UTCTime?)] {
        let keys = rows.map { tag("video", in: $0, after: table.prefixCount) }
        var entries = zip(rows, keys).map { row, key in
            (entry: GroupEntry(of: key, listedAt: table.listedAt(row)), until: UTCTime?.none)
        }
        if table.holdsState {
            for (index, row) in rows.enumerated() {
                entries[index].entry.add(
                    try StateReader.read(row.value) { (reader) throws(ModelError) in
                        try VideoList.State(reading: &reader)
                    })
            }
        } else {
            try reader.forEachState(of: projections.videos, keys: keys) { index, state in
                entries[index].entry.add(try VideoList.State(reading: &state))
            }
        }
        try reader.forEachState(of: projections.watchLater, keys: keys) { index, state in
            entries[index].entry.watchLater = try WatchLater.State(decoding: &state).since != nil
        }
        try reader.forEachState(of: projections.playability, keys: keys) { index, state in
            let known = try Playability.State(reading: &state).resolved(at: now)
            (entries[index].entry.playability, entries[index].until) = (known.state, known.until)
        }
        guard table.isOfSubmissions else { return entries }
        return try entries.map { (try submitted($0.entry), $0.until) }
    }

    /// Returns the entry of a submitted video, with the facts of the submission if the video was
    /// not shared.
    private func submitted(_ entry: GroupEntry) throws -> GroupEntry {
        guard entry.broadcasts == 0, let submission = try submission(video: entry.key) else {
            return entry
        }
        var entry = entry
        entry.title = submission.title ?? entry.title
        entry.thumbnailUrl = submission.thumbnail ?? entry.thumbnailUrl
        entry.sharer = submission.nickname ?? submission.owner
        entry.newestAt = submission.createdAt
        return entry
    }

    /// Returns the time of the oldest of the `count` most recently shared broadcasts, or nil if
    /// there are fewer broadcasts.
    func cutTime(_ count: Int) throws -> Int64? {
        let rows = try sharedLast(count)
        let least = rows.count < count ? nil : rows.last.map { Int64(descending: $0.key) }
        let newest = try broadcasts(from: BroadcastPlace(time: least ?? 0, id: []), of: rows)
        return newest.count < count ? nil : newest[newest.count - count].time
    }

    /// Returns the rows of the `count` most recently shared videos.
    private func sharedLast(_ count: Int) throws -> [Row] {
        try reader.rows(
            of: projections.videos, table: VideoList.Table.newest, lower: nil, upper: nil,
            after: nil, limit: count)
    }

    /// Returns the places, after `place`, of the broadcasts of the `count` most recently shared
    /// videos, earliest first.
    ///
    /// If at most `count` broadcasts come after `place`, the result is complete: the videos of all
    /// these broadcasts are then among the `count` most recently shared.
    func broadcasts(from place: BroadcastPlace, ofFirst count: Int) throws -> [BroadcastPlace] {
        try broadcasts(from: place, of: sharedLast(count))
    }

    private func broadcasts(
        from place: BroadcastPlace, of rows: [Row]
    ) throws -> [BroadcastPlace] {
        var found: [BroadcastPlace] = []
        for row in rows {
            let items = try reader.items(
                of: projections.videos, key: tag("video", in: row, after: 8),
                prefix: RowKey(BroadcastItems.byTime), after: BroadcastItems.name(place).bytes,
                limit: .max)
            found += items.compactMap { BroadcastItems.place(name: $0.key) }
        }
        return found.sorted()
    }
}

extension GroupEntry {
    /// Creates the entry of a video of which nothing else is known.
    fileprivate init(of key: Tag, listedAt: UTCTime?) {
        self.init(
            key: String(key.name), title: nil, sharer: nil, sharerImageUrl: nil, thumbnailUrl: nil,
            durationSeconds: nil, broadcasts: 0, newestAt: nil, listedAt: listedAt, liked: false,
            watchLater: false, watched: false, playability: .unknown)
    }

    /// Adds the facts of a video.
    fileprivate mutating func add(_ video: VideoList.State) {
        title = video.shownTitle?.utf8Text
        sharer = video.sharer?.utf8Text
        sharerImageUrl = video.sharerImage?.utf8Text
        thumbnailUrl = video.about.thumbnail?.utf8Text
        durationSeconds = video.about.durationSeconds
        broadcasts = Int(clamping: video.broadcasts)
        newestAt = video.newestAt.map(UTCTime.init)
        (liked, watched) = (video.isLiked, video.isWatched)
    }
}

/// The result of scanning a group.
private struct GroupScan {
    var entries: [GroupEntry] = []
    /// The first and last rows examined.
    var first: Row?
    var last: Row?
    var hasMore = false
}

/// The table that contains a group's rows.
struct GroupTable {
    private(set) var rows: RowRange
    let group: VideoGroup
    /// The number of bytes before the video in a row's key.
    let prefixCount: Int
    /// Whether the value of each row is the state of the video.
    var holdsState: Bool { rows.projection is VideoList }
    var isOfSubmissions: Bool { rows.projection is SubmissionList }

    init(_ group: VideoGroup, _ projections: VideoProjections) {
        self.group = group
        let videos = projections.videos
        switch group {
        case .timeline: rows = RowRange(of: videos, table: VideoList.Table.newest)
        case .favourites: rows = RowRange(of: videos, table: VideoList.Table.favourites)
        case .likes: rows = RowRange(of: videos, table: VideoList.Table.likes)
        case .watchLater:
            rows = RowRange(of: projections.watchLater, table: WatchLater.Table.sharedLast)
        case .popular:
            rows = RowRange(of: projections.submissions, table: SubmissionList.Table.popular)
        case .new: rows = RowRange(of: projections.submissions, table: SubmissionList.Table.new)
        case .listed(let name):
            let name = RowKey().text(name)
            rows = RowRange(of: projections.lists, from: name, below: name.end)
        }
        prefixCount = (rows.lower?.bytes.count ?? 0) + (group == .popular ? 16 : 8)
    }

    /// Whether the rows are ordered by the time at which videos were shared.
    var isTimed: Bool { [.timeline, .favourites, .watchLater].contains(group) }

    /// Limits the rows to videos shared at or after a time.
    mutating func cut(toSharedAt time: Int64) {
        rows = RowRange(
            of: rows.projection, table: rows.table, from: rows.lower,
            below: RowKey().descending(time).raw([0xFF]))
    }

    func listedAt(_ row: Row) -> UTCTime? {
        guard case .listed = group else { return nil }
        let time = Int64(descending: row.key.dropFirst(prefixCount - 8))
        return time == 0 ? nil : UTCTime(milliseconds: time)
    }
}

/// The rows of a group, which may be limited to its first entries.
private struct GroupRows<Reader: ViewReader> {
    private(set) var table: GroupTable
    private let reader: Reader
    /// The exclusive upper bound of the rows' keys, if the group is limited to a number of entries.
    private var upper: RowKey?

    init(_ table: GroupTable, _ reader: Reader) {
        (self.table, self.reader) = (table, reader)
    }

    /// Limits a group in timeline order to the videos of the newest broadcasts, and other groups to
    /// their first entries.
    ///
    /// - Parameter share: The time of the oldest of the `count` newest broadcasts; nil if there are
    ///   fewer broadcasts.
    mutating func cut(to count: Int, share time: Int64?) throws {
        if table.isTimed {
            if let time { table.cut(toSharedAt: time) }
        } else if let last = try key(at: count) {
            upper = RowKey(last + [0])
        }
    }

    func rows(after key: [UInt8]?, limit: Int) throws -> [Row] {
        try reader.rows(
            of: table.rows.projection, table: table.rows.table, lower: table.rows.lower,
            upper: upper ?? table.rows.upper, after: key, limit: limit)
    }

    func rows(before key: [UInt8]?, limit: Int) throws -> [Row] {
        try reader.rows(
            of: table.rows.projection, table: table.rows.table, lower: table.rows.lower,
            upper: upper ?? table.rows.upper, before: key, limit: limit)
    }

    func hasRow(before key: [UInt8]) throws -> Bool {
        try !rows(before: key, limit: 1).isEmpty
    }

    func hasRow(after key: [UInt8]) throws -> Bool {
        try !rows(after: key, limit: 1).isEmpty
    }

    /// Returns the key of the row before `index`, or of the last row if there are fewer rows; nil
    /// if `index` is 0 or there are no rows.
    func key(at index: Int) throws -> [UInt8]? {
        var (left, key) = (index, [UInt8]?.none)
        while left > 0 {
            let chunk = try rows(after: key, limit: min(left, QueryLimits.groupCountMax))
            guard let last = chunk.last else { break }
            left -= chunk.count
            key = last.key
        }
        return key
    }
}
