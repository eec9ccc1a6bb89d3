public import TapedeckProjections

internal import TapedeckModel

extension LiveQuery where Self == LiveList<VideoEntry> {
    /// The first page of shared videos, with their comments; see `VideoQueries.videos`.
    public static func videos(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let videos = projections.videos
        let part = Self.Part(RowRange(of: videos), prefix: 8) { row, queries, _ in
            LiveEntry(try queries.videoEntry(row), keys: [queries.tag("video", in: row, after: 8)])
        }
        let said = CommentItems.lists.map { RowRange(keysOf: videos, itemsWith: RowKey($0)) }
        return Self(
            [part],
            details: [(RowRange(of: projections.watchLater), 8)] + said.map { ($0, nil) },
            limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<DuplicateEntry> {
    /// The first page of videos that were shared more than once; see `VideoQueries.duplicates`.
    public static func duplicates(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let videos = projections.videos
        let rows = RowRange(of: videos, table: VideoList.Table.duplicates)
        let part = Self.Part(rows) { row, queries, _ in
            LiveEntry(
                try queries.duplicateEntry(row), keys: [queries.tag("video", in: row, after: 0)])
        }
        let broadcasts = RowRange(keysOf: videos, itemsWith: RowKey(BroadcastItems.byTime))
        return Self([part], details: [(broadcasts, nil)], limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<WatchLaterEntry> {
    /// The first page of videos on the watch-later list; see `VideoQueries.watchLater`.
    public static func watchLater(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let part = Self.Part(RowRange(of: projections.watchLater), prefix: 8) { row, queries, _ in
            LiveEntry(queries.watchLaterEntry(row))
        }
        return Self([part], limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<ShareEntry> {
    /// The user's most recent shares; see `VideoQueries.shares`.
    public static func shares(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let part = Self.Part(RowRange(of: projections.shares)) { row, queries, _ in
            LiveEntry(try queries.shareEntry(row))
        }
        return Self([part], limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<ListEntry> {
    /// The first page of the lists that remotes keep; see `VideoQueries.lists`.
    public static func lists(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let part = Self.Part(RowRange(of: projections.knownLists)) { row, queries, _ in
            LiveEntry(try queries.listEntry(row))
        }
        return Self([part], limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<AccountEntry> {
    /// The first page of the user's accounts; see `VideoQueries.accounts`.
    public static func accounts(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let rows = RowRange(of: projections.accounts, table: AccountList.Table.byName)
        let part = Self.Part(rows) { row, queries, _ in LiveEntry(try queries.accountEntry(row)) }
        return Self([part], limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<ExtractionEntry> {
    /// The first page of videos whose last extraction failed; see `VideoQueries.failedExtractions`.
    ///
    /// Throws `ModelError` with `.usage` if the window is negative or too long.
    public static func failedExtractions(
        windowSeconds: Double = QueryLimits.extractionWindowSeconds,
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) throws -> Self {
        try QueryLimits.check(windowSeconds: windowSeconds)
        let part = Self.Part(RowRange(of: projections.extractions), prefix: 8) {
            row, queries, now in
            let entry = try queries.extractionEntry(row, at: now, windowSeconds: windowSeconds)
            return LiveEntry(
                entry, nextChangeAt: now.first(of: [entry.goodUntil, entry.nextTryAt]))
        }
        return Self([part], limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<NowPlayingEntry> {
    /// The first page of devices and the videos that they play; see `VideoQueries.nowPlaying`.
    ///
    /// `estimatedSeconds` is the reported position; the caller can derive the current position from
    /// `at`.
    public static func nowPlaying(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let rows = RowRange(of: projections.nowPlaying, table: NowPlaying.newestFirst)
        return devices(rows, prefix: 8, limit, projections)
    }

    /// The first page of devices on which a video is playing or paused; see
    /// `VideoQueries.nowPlaying(video:)` and `nowPlaying(limit:)`.
    ///
    /// Throws `ModelError` with `.invalidVideo`.
    public static func nowPlaying(
        video: String, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) throws -> Self {
        let prefix = RowKey().text(try VideoKey(video).text)
        let rows = RowRange(
            of: projections.nowPlaying, table: NowPlaying.byVideo, from: prefix, below: prefix.end)
        return devices(rows, prefix: prefix.bytes.count, limit, projections)
    }

    private static func devices(
        _ rows: RowRange, prefix: Int, _ limit: Int, _ projections: VideoProjections
    ) -> Self {
        let part = Self.Part(rows, prefix: prefix) { row, queries, _ in
            LiveEntry(try queries.device(in: row, behind: prefix, at: nil))
        }
        return Self([part], limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<DownloadEntry> {
    /// The first page of downloads on a device's disk; see `VideoQueries.downloads`.
    ///
    /// Throws `ModelError` with `.invalidTag`.
    public static func downloads(
        device: String = Downloads.defaultDevice, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) throws -> Self {
        let tag = try Downloads.tag(device)
        let name = RowKey().text(tag.name)
        let prefix = name.bytes.count + 8
        let rows = RowRange(of: projections.downloads, from: name, below: name.end)
        let part = Self.Part(rows, prefix: prefix) { row, queries, _ in
            LiveEntry(
                try queries.downloadEntry(row, tag),
                keys: [queries.tag("video", in: row, after: prefix)])
        }
        // These rows determine whether a video was watched to the end.
        let watched = RowRange(keysOf: projections.playback)
        return Self([part], details: [(watched, nil)], limit: limit, projections)
    }
}

extension UTCTime {
    /// Returns the earliest of the given times that is after this time, in milliseconds since 1970,
    /// or nil if there is none.
    func first(of times: [UTCTime?]) -> Int64? {
        times.compactMap { $0?.milliseconds }.filter { $0 > milliseconds }.min()
    }
}
