public import TapedeckProjections

internal import TapedeckModel

/// A live list of the video domain that is derived from the rows of other lists.
///
/// ```swift
/// var episodes: [ScheduleWeek.Episode] = []
/// for try await update in store.live(.onNow(scope: try ScheduleScope())) {
///     update.apply(to: &episodes)
/// }
/// ```
public struct ArrangedList<Row: Hashable & Sendable, Entry: Hashable & Sendable>: LiveArrangement {
    /// Additional rows that determine which rows are passed to `arranged`.
    public let basis: [RowRange]
    private let choose: @Sendable (Int64) -> LiveList<Row>
    private let read: (@Sendable (Views) throws -> LiveList<Row>)?
    private let arrange: @Sendable ([Row], Bool, UTCTime) -> LiveArranged<Entry>
    private let name: @Sendable (Entry) -> String

    /// Creates a list.
    ///
    /// - Parameters:
    ///   - choose: Returns the rows to arrange at a given time, in milliseconds since 1970.
    ///   - basis: The rows from which `read` determines the rows to arrange.
    ///   - read: Returns the rows to arrange, which are in the same tables as the rows of `choose`;
    ///     nil if the rows depend only on the time.
    ///   - name: Returns the identity of an entry.
    ///   - arrange: Returns the list, given the rows, whether there are more rows, and the time.
    init(
        of choose: @escaping @Sendable (Int64) -> LiveList<Row>, basis: [RowRange] = [],
        read: (@Sendable (Views) throws -> LiveList<Row>)? = nil,
        by name: @escaping @Sendable (Entry) -> String,
        _ arrange: @escaping @Sendable ([Row], Bool, UTCTime) -> LiveArranged<Entry>
    ) {
        (self.choose, self.arrange, self.name) = (choose, arrange, name)
        (self.basis, self.read) = (basis, read)
    }

    /// Returns the rows to arrange at a time.
    public func rows(at now: Int64) -> LiveList<Row> { choose(now) }

    /// Returns the rows to arrange at a time, determined from `views` if the rows depend on them.
    public func rows(at now: Int64, from views: Views) throws -> LiveList<Row> {
        try read?(views) ?? choose(now)
    }

    /// Arranges the rows.
    public func arranged(_ rows: [Row], hasMore: Bool, at now: Int64) -> LiveArranged<Entry> {
        arrange(rows, hasMore, UTCTime(milliseconds: now))
    }

    /// Returns the identity of an entry.
    public func subject(of entry: Entry) -> String { name(entry) }
}

/// A row of a live list; it may yield no entry.
public struct LiveRow<Shown: Hashable & Sendable>: Hashable, Sendable {
    let shown: Shown?
    /// The time in the row's key, in milliseconds since 1970; 0 if the key contains no time.
    var at: Int64 = 0
}

extension LiveArrangement where Self == ArrangedList<LiveRow<LikerEntry>, LikerEntry> {
    /// The first page of users who like an answer; see `VideoQueries.likers`.
    ///
    /// Throws `ModelError` with `.invalidTag`.
    public static func likers(
        of answer: String, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) throws -> Self {
        let key = try Tag("answer", answer)
        let answers = projections.answers
        typealias Likers = LiveList<LiveRow<LikerEntry>>
        let own = Likers.Part(RowRange(of: answers, stateOf: key)) { _, queries, _ in
            LiveEntry(LiveRow(shown: try queries.waitingLike(key)), keys: [key])
        }
        let shown = Likers.Part(
            RowRange(of: answers, itemsOf: key, prefix: RowKey(AnswerItems.likes))
        ) { row, queries, _ in
            LiveEntry(LiveRow(shown: try queries.shownLiker(row, key)), keys: [key])
        }
        let details: [(RowRange, prefix: Int?)] = [
            // These rows determine whether the user's own like is shown.
            (RowRange(keysOf: answers), nil),
            (RowRange(keysOf: answers, itemsWith: RowKey(AnswerItems.likers)), nil),
        ]
        // Read one extra row because a row may have no entry, and another extra row to detect
        // whether there are more entries.
        let rows = Likers(
            [own, shown], details: details + people(projections), limit: limit + 2, projections)
        return Self(
            of: { _ in rows }, by: { $0.state == .shown ? "\($0.like ?? "") \($0.user ?? "")" : "" }
        ) { rows, _, _ in
            let likers = rows.compactMap(\.shown)
            return LiveArranged(Array(likers.prefix(limit)), hasMore: likers.count > limit)
        }
    }
}

/// A contact or a share; the list of recipients is built from these rows.
public struct RecipientRow: Hashable, Sendable {
    var contact: ContactList.State?
    var share: ShareEntry?
}

extension LiveArrangement where Self == ArrangedList<RecipientRow, RecipientEntry> {
    /// The first page of people to whom the user may send a video by email; see
    /// `VideoQueries.recipients`.
    public static func recipients(
        prefix: String = "", limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) -> Self {
        typealias Rows = LiveList<RecipientRow>
        let contacts = Rows.Part(RowRange(of: projections.contacts)) { row, queries, _ in
            LiveEntry(RecipientRow(contact: try queries.contact(row)))
        }
        let shares = Rows.Part(RowRange(of: projections.shares)) { row, queries, _ in
            LiveEntry(RecipientRow(share: try queries.shareEntry(row)))
        }
        let rows = Rows(
            [contacts, shares],
            limit: QueryLimits.contactScanMax + QueryLimits.recipientScanMax, projections)
        return Self(of: { _ in rows }, by: { EmailAddress.name(of: $0.address) }) { rows, _, _ in
            let found = RecipientEntry.list(
                rows.compactMap(\.contact),
                Array(rows.compactMap(\.share).prefix(QueryLimits.recipientScanMax)),
                prefix: prefix)
            return LiveArranged(Array(found.prefix(limit)), hasMore: found.count > limit)
        }
    }
}

extension LiveArrangement where Self == ArrangedList<LiveRow<PlayabilityEntry>, PlayabilityEntry> {
    /// The first page of videos and whether they can be played, updated as time passes; see
    /// `VideoQueries.playability`.
    public static func playability(
        _ filter: PlayabilityFilter = .all, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) -> Self {
        let source = PlayabilityRows(projections)
        return Self(
            of: { now in
                filter == .all
                    ? source.shared(limit: limit + 1)
                    // Expired entries are removed from the front of the list.
                    : source.checked(
                        filter, from: filter == .unplayable ? now : nil, limit: limit + 1)
            }, by: \.video
        ) { rows, hasMore, now in
            var (shown, nextChangeAt): (ArraySlice<LiveRow<PlayabilityEntry>>, Int64?) = (
                rows[...], nil
            )
            switch filter {
            case .all: break
            case .unknown, .playable, .due:
                shown = rows.prefix { $0.at <= now.milliseconds }
                nextChangeAt = rows.dropFirst(shown.count).first?.at
            case .unplayable: nextChangeAt = rows.first?.at
            case .failed: shown = shown.prefix(limit)
            }
            var entries = shown.compactMap(\.shown)
            let isFull = shown.count > limit || filter == .failed && rows.count > limit
            if filter == .failed { entries.removeAll { $0.state != .failed } }
            return LiveArranged(
                Array(entries.prefix(limit)), hasMore: isFull,
                nextChangeAt: nextChangeAt == .max ? nil : nextChangeAt)
        }
    }
}

/// The rows from which playability lists are built.
private struct PlayabilityRows {
    private typealias Rows = LiveList<LiveRow<PlayabilityEntry>>
    private let projections: VideoProjections

    init(_ projections: VideoProjections) { self.projections = projections }

    /// Returns the shared videos, whether or not they were checked.
    func shared(limit: Int) -> LiveList<LiveRow<PlayabilityEntry>> {
        let part = Rows.Part(RowRange(of: projections.videos), prefix: 8) { row, queries, now in
            entry(try queries.sharedPlayability(row, at: now), 0, now)
        }
        return Rows(
            [part], details: [(RowRange(keysOf: projections.playability), nil)], limit: limit,
            projections)
    }

    /// Returns the rows of the tables that contain the videos in a state.
    ///
    /// - Parameter time: The time, in milliseconds since 1970, up to which rows are skipped; nil to
    ///   skip none.
    func checked(
        _ filter: PlayabilityFilter, from time: Int64?, limit: Int
    ) -> LiveList<LiveRow<PlayabilityEntry>> {
        let tables =
            switch filter {
            case .unknown: [Playability.unchecked]
            case .playable: [Playability.playable]
            case .unplayable: [Playability.unplayable]
            case .due: [Playability.unchecked, Playability.planned]
            case .all, .failed: [Playability.failed]
            }
        let parts = tables.map { table in
            let rows = RowRange(
                of: projections.playability, table: table,
                from: time.map { RowKey().ascending($0).raw([0xFF]) })
            return Rows.Part(rows, prefix: Playability.prefixCount(of: table)) {
                row, queries, now in
                entry(
                    try queries.checkedPlayability(row, of: table, at: now),
                    Int64(ascending: row.key), now)
            }
        }
        return Rows(parts, .merged(prefixCount: 0), limit: limit, projections)
    }

    private func entry(
        _ shown: PlayabilityEntry, _ at: Int64, _ now: UTCTime
    ) -> LiveEntry<LiveRow<PlayabilityEntry>> {
        LiveEntry(
            LiveRow(shown: shown, at: at),
            nextChangeAt: now.first(of: [shown.until, shown.nextTryAt]),
            keys: [Tag(unchecked: "video/\(shown.video)")])
    }
}
