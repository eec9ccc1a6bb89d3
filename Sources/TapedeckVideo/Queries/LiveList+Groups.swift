public import TapedeckProjections

internal import TapedeckModel

extension LiveArrangement where Self == ArrangedList<GroupEntry, GroupEntry> {
    /// A part of a group; see `VideoQueries.videos(in:at:from:newest:playableOnly:limit:cursor:)`.
    ///
    /// The rows in front of it are kept in memory, too, and where only what can be played is shown,
    /// `QueryLimits.groupScanMax` of them.
    ///
    /// - Parameters:
    ///   - index: how many rows are left out in front; `QueryLimits.groupCountMax` at the most.
    ///   - newest: of the groups in the order of the timeline, only the videos with one of the so many
    ///     broadcasts that were shared last, which are looked through for each that comes; of the others, the
    ///     so many first entries.
    ///   - playableOnly: leaves out what is not known to be playable.
    ///   - limit: how many at the most.
    ///
    /// Throws `ModelError` with `.usage` for figures outside their bounds.
    public static func part(
        of group: VideoGroup, from index: Int = 0, newest: Int? = nil, playableOnly: Bool = false,
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) throws -> Self {
        try QueryLimits.check(newest: newest)
        guard (0...QueryLimits.groupCountMax).contains(index) else {
            throw ModelError(
                .usage, "a part begins at an index from 0 to \(QueryLimits.groupCountMax)")
        }
        let table = GroupTable(group, projections)
        let wanted = index + (playableOnly ? QueryLimits.groupScanMax : limit)
        // Groups in another order than that of sharing end behind so many entries.
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
                // Whether what is behind a full page can be played is not asked.
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
