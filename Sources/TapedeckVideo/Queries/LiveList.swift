public import TapedeckProjections

internal import TapedeckModel

/// A live list of the video domain.
///
/// ```swift
/// var videos: [GroupEntry] = []
/// for try await update in store.live(.group(.timeline)) {
///     update.apply(to: &videos)
/// }
/// ```
public struct LiveList<Entry: Hashable & Sendable>: LiveQuery {
    /// The ranges of rows in the list.
    public let lists: [RowRange]
    /// The order of rows from different ranges.
    public let order: LiveOrder
    /// Additional rows from which entries are built.
    public let details: [RowRange]
    /// Additional projections from which entries are built.
    public let dependencies: [any Projection]
    /// The maximum number of rows.
    public let limit: Int
    private let parts: [Part]
    private let projections: VideoProjections
    private let prefixCounts: [Int?]

    typealias Make =
        @Sendable (Row, VideoQueries<Views>, UTCTime) throws -> LiveEntry<Entry>

    /// A range of the list, and the function that builds entries from its rows.
    struct Part {
        let rows: RowRange
        /// The number of bytes before the subject in a row's key.
        let prefix: Int
        let make: Make

        init(_ rows: RowRange, prefix: Int = 0, _ make: @escaping Make) {
            (self.rows, self.prefix, self.make) = (rows, prefix, make)
        }
    }

    /// Creates a list.
    ///
    /// - Parameters:
    ///   - details: Ranges of additional rows, each with the number of bytes before the subject in
    ///     its keys, or nil if a row may affect every entry.
    init(
        _ parts: [Part], _ order: LiveOrder = .concatenated,
        details: [(RowRange, prefix: Int?)] = [], dependencies: [any Projection] = [], limit: Int,
        _ projections: VideoProjections
    ) {
        (self.parts, self.order, self.dependencies, self.limit) = (
            parts, order, dependencies, limit
        )
        self.projections = projections
        lists = parts.map(\.rows)
        self.details = details.map(\.0)
        prefixCounts = details.map(\.prefix)
    }

    /// The systems whose remotes provide the listed facts.
    public var systems: [String] {
        Set(lists.compactMap { VideoProjections.system(of: $0.projection) }).sorted()
    }

    /// Returns the subject of a row, such as its video.
    public func subject(ofListed key: [UInt8], in list: Int) -> [UInt8] {
        let subject = Array(key.dropFirst(parts[list].prefix))
        return parts.count == 1 ? subject : [UInt8(list)] + subject
    }

    /// Returns the subject that an additional row affects, or nil if the row may affect every
    /// entry.
    public func subject(ofDetail key: [UInt8], in index: Int) -> [UInt8]? {
        prefixCounts[index].map { Array(key.dropFirst($0)) }
    }

    /// Builds the entry of a row.
    public func entry(
        _ row: Row, in list: Int, at now: Int64, from views: Views
    ) throws -> LiveEntry<Entry> {
        try parts[list].make(
            row, VideoQueries(views, projections: projections), UTCTime(milliseconds: now))
    }
}

extension LiveQuery where Self == LiveList<GroupEntry> {
    /// The first page of a group's videos; see `VideoQueries.videos(in:)`.
    ///
    /// - Parameter limit: The maximum number of videos.
    public static func group(
        _ group: VideoGroup, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) -> Self {
        self.group(GroupTable(group, projections), limit: limit, projections)
    }

    static func group(
        _ table: GroupTable, limit: Int, _ projections: VideoProjections
    ) -> Self {
        let (videos, playability) = (projections.videos, projections.playability)
        var details: [(RowRange, prefix: Int?)] = [
            // If an entry shows any facts about its video, the video has a row in one of these
            // ranges.
            (RowRange(of: videos, table: VideoList.Table.newest), 8),
            (RowRange(of: videos, table: VideoList.Table.likes), 8),
            (RowRange(of: videos, table: VideoList.Table.others), 0),
            (RowRange(of: projections.watchLater), 8),
            (RowRange(of: playability, table: Playability.playable), 8),
            (RowRange(of: playability, table: Playability.unplayable), 8),
            (RowRange(of: playability, table: Playability.failed), 8),
        ]
        var dependencies: [any Projection] = []
        if table.isOfSubmissions {
            // Account names may affect every entry, because the keys do not show which videos
            // belong to an account.
            details.append((RowRange(of: projections.accounts), nil))
            dependencies.append(projections.viewCounts)
        }
        let part = Self.Part(table.rows, prefix: table.prefixCount) {
            row, queries, now in
            let (entry, until) = try queries.entries([row], table, at: now)[0]
            return LiveEntry(entry, nextChangeAt: until?.milliseconds)
        }
        return Self([part], details: details, dependencies: dependencies, limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<QueuePageEntry> {
    /// The first page of a queue's videos; see `VideoQueries.queue`.
    public static func queue(
        _ queue: String = PlayQueue.defaultName, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) throws -> Self {
        let name = RowKey().text(try PlayQueue.tag(queue).name)
        let prefix = name.bytes.count + 8
        let rows = RowRange(of: projections.queue, from: name, below: name.end)
        let part = Self.Part(rows, prefix: prefix) { row, queries, _ in
            LiveEntry(try queries.queueEntry(row, behind: prefix))
        }
        return Self([part], limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<PlaybackEntry> {
    /// The first page of videos in progress; see `VideoQueries.inProgress`.
    public static func inProgress(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let part = Self.Part(RowRange(of: projections.playback), prefix: 8) { row, queries, _ in
            LiveEntry(try queries.playbackEntry(row))
        }
        // The statistics contain the time watched.
        let watched = RowRange(of: projections.statistics)
        return Self([part], details: [(watched, 8)], limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<SubmissionEntry> {
    /// The first page of submitted videos that a remote lists; see `VideoQueries.submissions`.
    public static func submissions(
        order: SubmissionOrder = .popular, limit: Int = QueryLimits.submissionsCountDefault,
        projections: VideoProjections = .standard
    ) -> Self {
        let isPopular = order == .popular
        let table = isPopular ? SubmissionList.Table.popular : SubmissionList.Table.new
        let prefix = isPopular ? 16 : 8
        let rows = RowRange(of: projections.submissions, table: table)
        let part = Self.Part(rows, prefix: prefix) { row, queries, _ in
            guard let entry = try queries.submissionEntry(row, behind: prefix) else {
                throw Self.nothingToShow("a submission")
            }
            return LiveEntry(entry)
        }
        return Self(
            [part],
            details: [
                (RowRange(of: projections.viewCounts), 0),
                // Account names may affect every entry, because the keys do not show which videos
                // belong to an account.
                (RowRange(of: projections.accounts), nil),
            ], limit: limit, projections)
    }
}

extension LiveList {
    static func nothingToShow(_ what: String) -> ModelError {
        ModelError(
            .damaged, "\(what) is listed, but its data is missing",
            hint: "run storectl replay to rebuild the projections")
    }
}
