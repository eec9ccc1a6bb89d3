public import TapedeckProjections

internal import TapedeckModel

/// A list of this domain that is followed and is arranged of the rows of others.
///
/// ```swift
/// var episodes: [ScheduleWeek.Episode] = []
/// for try await update in store.live(.onNow(scope: try ScheduleScope())) {
///     update.apply(to: &episodes)
/// }
/// ```
public struct ArrangedList<Row: Hashable & Sendable, Entry: Hashable & Sendable>: LiveArrangement {
    /// Rows elsewhere that decide of which rows it is made.
    public let basis: [RowRange]
    private let choose: @Sendable (Int64) -> LiveList<Row>
    private let read: (@Sendable (Views) throws -> LiveList<Row>)?
    private let arrange: @Sendable ([Row], Bool, UTCTime) -> LiveArranged<Entry>
    private let name: @Sendable (Entry) -> String

    /// - Parameters:
    ///   - choose: the rows at a time, in Unix milliseconds.
    ///   - basis: what decides of which rows it is made, as `read` finds out.
    ///   - read: the rows, of the same tables as those of `choose`; nil where the time alone decides.
    ///   - name: what an entry is about.
    ///   - arrange: the list of the rows, whether there are more of these, and the time.
    init(
        of choose: @escaping @Sendable (Int64) -> LiveList<Row>, basis: [RowRange] = [],
        read: (@Sendable (Views) throws -> LiveList<Row>)? = nil,
        by name: @escaping @Sendable (Entry) -> String,
        _ arrange: @escaping @Sendable ([Row], Bool, UTCTime) -> LiveArranged<Entry>
    ) {
        (self.choose, self.arrange, self.name) = (choose, arrange, name)
        (self.basis, self.read) = (basis, read)
    }

    /// The rows that it is made of at a time.
    public func rows(at now: Int64) -> LiveList<Row> { choose(now) }

    /// The same where views decide it.
    public func rows(at now: Int64, from views: Views) throws -> LiveList<Row> {
        try read?(views) ?? choose(now)
    }

    /// The list.
    public func arranged(_ rows: [Row], hasMore: Bool, at now: Int64) -> LiveArranged<Entry> {
        arrange(rows, hasMore, UTCTime(milliseconds: now))
    }

    /// What an entry is about.
    public func subject(of entry: Entry) -> String { name(entry) }
}

/// A row of a followed list, which may show nothing.
public struct LiveRow<Shown: Hashable & Sendable>: Hashable, Sendable {
    let shown: Shown?
    /// The time that it stands under, in Unix milliseconds; 0 where rows stand under none.
    var at: Int64 = 0
}

extension LiveArrangement where Self == ArrangedList<LiveRow<LikerEntry>, LikerEntry> {
    /// The first of those who like an answer; see `VideoQueries.likers`.
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
            // Whether the user's own like is shown.
            (RowRange(keysOf: answers), nil),
            (RowRange(keysOf: answers, itemsWith: RowKey(AnswerItems.likers)), nil),
        ]
        // A row that shows nothing, and one more to tell whether there are any.
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

extension LiveArrangement where Self == ArrangedList<ShareEntry, RecipientEntry> {
    /// To whom the user has sent videos lately; see `VideoQueries.recipients`.
    public static func recipients(
        prefix: String = "", limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) -> Self {
        let shares: LiveList<ShareEntry> = .shares(
            limit: QueryLimits.recipientScanMax, projections: projections)
        return Self(of: { _ in shares }, by: { $0.address.lowercased() }) { shares, _, _ in
            let found = RecipientEntry.recipients(of: shares, prefix: prefix)
            return LiveArranged(Array(found.prefix(limit)), hasMore: found.count > limit)
        }
    }
}

extension LiveArrangement where Self == ArrangedList<LiveRow<PlayabilityEntry>, PlayabilityEntry> {
    /// The first videos with whether they can be played, as the time is; see `VideoQueries.playability`.
    public static func playability(
        _ filter: PlayabilityFilter = .all, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) -> Self {
        let source = PlayabilityRows(projections)
        let (isShared, looked) = (
            filter == .all || filter == .unknown,
            filter == .unknown ? QueryLimits.pageCountMax : limit + 1
        )
        return Self(
            of: { now in
                isShared
                    ? source.shared(limit: looked)
                    // What ceases to hold leaves the front of its list.
                    : source.checked(
                        filter, from: filter == .unplayable ? now : nil, limit: looked)
            }, by: \.video
        ) { rows, hasMore, now in
            var (shown, nextChangeAt): (ArraySlice<LiveRow<PlayabilityEntry>>, Int64?) = (
                rows[...], nil
            )
            switch filter {
            case .all, .unknown: break
            case .playable, .due:
                shown = rows.prefix { $0.at <= now.milliseconds }
                nextChangeAt = rows.dropFirst(shown.count).first?.at
            case .unplayable: nextChangeAt = rows.first?.at
            case .failed: shown = shown.prefix(limit)
            }
            var entries = shown.compactMap(\.shown)
            var isFull = shown.count > limit || filter == .failed && rows.count > limit
            if filter == .unknown {
                entries.removeAll { $0.state != .unknown }
                isFull = entries.count >= limit || rows.count == looked
            }
            if filter == .failed { entries.removeAll { $0.state != .failed } }
            return LiveArranged(
                Array(entries.prefix(limit)), hasMore: isFull,
                nextChangeAt: nextChangeAt == .max ? nil : nextChangeAt)
        }
    }
}

/// The rows that lists of playability are arranged of.
private struct PlayabilityRows {
    private typealias Rows = LiveList<LiveRow<PlayabilityEntry>>
    private let projections: VideoProjections

    init(_ projections: VideoProjections) { self.projections = projections }

    /// The videos that were shared, checked or not.
    func shared(limit: Int) -> LiveList<LiveRow<PlayabilityEntry>> {
        let part = Rows.Part(RowRange(of: projections.videos), prefix: 8) { row, queries, now in
            entry(try queries.sharedPlayability(row, at: now), 0, now)
        }
        return Rows(
            [part], details: [(RowRange(keysOf: projections.playability), nil)], limit: limit,
            projections)
    }

    /// Those of a list of checks.
    ///
    /// - Parameter time: those that stand under a later one, in Unix milliseconds; nil for all.
    func checked(
        _ filter: PlayabilityFilter, from time: Int64?, limit: Int
    ) -> LiveList<LiveRow<PlayabilityEntry>> {
        let table =
            switch filter {
            case .playable: Playability.playable
            case .unplayable: Playability.unplayable
            default: Playability.failed
            }
        let rows = RowRange(
            of: projections.playability, table: table,
            from: time.map { RowKey().ascending($0).raw([0xFF]) })
        let part = Rows.Part(rows, prefix: 8) { row, queries, now in
            entry(
                try queries.checkedPlayability(row, at: now), Int64(ascending: row.key), now)
        }
        return Rows([part], limit: limit, projections)
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
