public import TapedeckProjections

internal import TapedeckModel

extension LiveArrangement where Self == ArrangedList<GroupEntry, GroupEntry> {
    /// A part of a group; see `VideoQueries.videos(in:at:from:newest:playableOnly:limit:cursor:)`.
    ///
    /// The `index` rows before the part are also kept in memory. With `playableOnly`, up to
    /// `QueryLimits.groupScanMax` rows from the start of the part are kept instead of `limit` rows.
    /// Throws `ModelError` with `.usage` for arguments that are out of range.
    ///
    /// - Parameters:
    ///   - index: The number of rows to skip at the front; at most `QueryLimits.groupCountMax`.
    ///   - newest: The maximum size of the group; nil for no limit. If the group is in timeline
    ///     order, its size is measured in broadcasts: the group is limited to the videos of the
    ///     `newest` most recent broadcasts, and these broadcasts are read again after each new
    ///     broadcast. Otherwise, the group is limited to its first `newest` entries.
    ///   - playableOnly: Whether to leave out videos that are not known to be playable.
    ///   - limit: The maximum number of videos.
    public static func part(
        of group: VideoGroup, from index: Int = 0, newest: Int? = nil, playableOnly: Bool = false,
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) throws -> Self {
        try QueryLimits.check(newest: newest)
        guard (0...QueryLimits.groupCountMax).contains(index) else {
            throw ModelError(
                .usage, "the index must be between 0 and \(QueryLimits.groupCountMax)")
        }
        let table = GroupTable(group, projections)
        let wanted = index + (playableOnly ? QueryLimits.groupScanMax : limit)
        // Groups that are not in timeline order end after `newest` entries.
        let end = table.isTimed ? .max : newest ?? .max
        let count = min(wanted, end)
        @Sendable func rows(_ table: GroupTable) -> LiveList<GroupEntry> {
            .group(table, limit: count, projections)
        }
        @Sendable func arranged(
            _ rows: [GroupEntry], _ hasMore: Bool, _ now: UTCTime
        ) -> LiveArranged<GroupEntry> {
            var shown: [GroupEntry] = []
            for entry in rows.dropFirst(index) {
                // Rows after a full page are not checked for playability.
                guard shown.count < limit else { return LiveArranged(shown, hasMore: true) }
                if !playableOnly || entry.playability == .playable { shown.append(entry) }
            }
            return LiveArranged(shown, hasMore: hasMore && count < end)
        }
        guard let newest, table.isTimed else {
            return Self(of: { _ in rows(table) }, by: \.key, arranged)
        }
        let videos = projections.videos
        return Self(
            of: { _ in rows(table) },
            basis: [
                RowRange(of: videos, table: VideoList.Table.newest),
                RowRange(keysOf: videos, itemsWith: RowKey(BroadcastItems.byTime)),
            ],
            read: { views in
                var table = table
                let queries = VideoQueries(views, projections: projections)
                if let time = try queries.cutTime(newest) { table.cut(toSharedAt: time) }
                return rows(table)
            }, by: \.key, arranged)
    }
}
