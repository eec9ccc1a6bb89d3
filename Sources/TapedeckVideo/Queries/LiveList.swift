public import TapedeckProjections

internal import TapedeckModel

/// A list of this domain that can be followed.
///
/// ```swift
/// var videos: [GroupEntry] = []
/// for try await update in store.live(.group(.timeline)) {
///     update.apply(to: &videos)
/// }
/// ```
public struct LiveList<Entry: Hashable & Sendable>: LiveQuery {
    /// The rows of the list.
    public let list: RowRange
    /// What its entries are made of beside them.
    public let details: [RowRange]
    /// Further projections that they are made of.
    public let others: [any Projection]
    /// How many rows at the most.
    public let limit: Int
    private let projections: VideoProjections
    private let prefixCount: Int
    private let prefixCounts: [Int?]
    private let make: @Sendable (Row, VideoQueries<Views>, UTCTime) throws -> LiveEntry<Entry>

    /// - Parameters:
    ///   - prefix: how many bytes stand in front of a row's video.
    ///   - details: the same of other rows; nil where they name none.
    init(
        _ list: RowRange, prefix: Int, details: [(RowRange, prefix: Int?)] = [],
        others: [any Projection] = [], limit: Int, _ projections: VideoProjections,
        _ make: @escaping @Sendable (Row, VideoQueries<Views>, UTCTime) throws -> LiveEntry<Entry>
    ) {
        (self.list, self.others, self.limit, self.make) = (list, others, limit, make)
        self.projections = projections
        self.details = details.map(\.0)
        prefixCount = prefix
        prefixCounts = details.map(\.prefix)
    }

    /// The video of a row.
    public func subject(ofListed key: [UInt8]) -> [UInt8] { Array(key.dropFirst(prefixCount)) }

    /// The video of a row elsewhere.
    public func subject(ofDetail key: [UInt8], in index: Int) -> [UInt8]? {
        prefixCounts[index].map { Array(key.dropFirst($0)) }
    }

    /// Makes the entry of a row.
    public func entry(
        _ row: Row, at now: Int64, from views: Views
    ) throws -> LiveEntry<Entry> {
        try make(
            row, VideoQueries(views, projections: projections), UTCTime(milliseconds: now))
    }
}

extension LiveQuery where Self == LiveList<GroupEntry> {
    /// The first videos of a group; see `VideoQueries.videos(in:)`.
    ///
    /// - Parameter limit: how many at the most.
    public static func group(
        _ group: VideoGroup, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) -> Self {
        let table = GroupTable(group, projections)
        let (videos, playability) = (projections.videos, projections.playability)
        var details: [(RowRange, prefix: Int?)] = [
            // A video has a row in one of these wherever anything is shown of it.
            (RowRange(of: videos, table: VideoList.Table.newest), 8),
            (RowRange(of: videos, table: VideoList.Table.likes), 8),
            (RowRange(of: projections.watchLater), 8),
            (RowRange(of: playability, table: Playability.playable), 8),
            (RowRange(of: playability, table: Playability.unplayable), 8),
            (RowRange(of: playability, table: Playability.failed), 8),
        ]
        var others: [any Projection] = []
        if table.isOfSubmissions {
            // The names of accounts; which videos are theirs is in no key.
            details.append((RowRange(of: projections.accounts), nil))
            others.append(projections.viewCounts)
        }
        return LiveList(
            table.rows, prefix: table.prefixCount, details: details, others: others, limit: limit,
            projections
        ) { row, queries, now in
            let (entry, until) = try queries.entry(row, table, at: now)
            return LiveEntry(entry, nextChangeAt: until?.milliseconds)
        }
    }
}

extension LiveQuery where Self == LiveList<QueuePageEntry> {
    /// The first videos of a queue; see `VideoQueries.queue`.
    public static func queue(
        _ queue: String = PlayQueue.defaultName, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) throws -> Self {
        let name = RowKey().text(try PlayQueue.tag(queue).name)
        return LiveList(
            RowRange(of: projections.queue, from: name, below: name.end),
            prefix: name.bytes.count + 8, limit: limit, projections
        ) { row, queries, _ in
            LiveEntry(try queries.queueEntry(row, behind: name.bytes.count + 8))
        }
    }
}

extension LiveQuery where Self == LiveList<PlaybackEntry> {
    /// The first videos in progress; see `VideoQueries.inProgress`.
    public static func inProgress(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        LiveList(RowRange(of: projections.playback), prefix: 8, limit: limit, projections) {
            row, queries, _ in LiveEntry(try queries.playbackEntry(row))
        }
    }
}

extension LiveQuery where Self == LiveList<SubmissionEntry> {
    /// The first videos that users have handed in and that a remote lists; see `VideoQueries.submissions`.
    public static func submissions(
        order: SubmissionOrder = .popular, limit: Int = QueryLimits.submissionsCountDefault,
        projections: VideoProjections = .standard
    ) -> Self {
        let isPopular = order == .popular
        let table = isPopular ? SubmissionList.Table.popular : SubmissionList.Table.new
        let prefix = isPopular ? 16 : 8
        return LiveList(
            RowRange(of: projections.submissions, table: table), prefix: prefix,
            details: [
                (RowRange(of: projections.viewCounts), 0),
                // The names of accounts; which videos are theirs is in no key.
                (RowRange(of: projections.accounts), nil),
            ], limit: limit, projections
        ) { row, queries, _ in
            guard let entry = try queries.submissionEntry(row, behind: prefix) else {
                throw ModelError(.damaged, "a submission has a row and nothing to show")
            }
            return LiveEntry(entry)
        }
    }
}
