internal import TapedeckModel
internal import TapedeckProjections

/// By what a list of submissions is ordered.
public enum SubmissionOrder: String, Sendable, CaseIterable {
    /// By the views that the remote counts, the most first; of equal ones the newest first, then by key.
    case popular
    /// By the time at which they were handed in, the last first; of one time by key.
    case new
}

/// A page of the videos that users have handed in.
public struct SubmissionsPage: Codable, Hashable, Sendable {
    /// The videos, in the order that was asked for.
    public var videos: [SubmissionEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// A video that was handed in.
public struct SubmissionEntry: Codable, Hashable, Sendable {
    /// How far a submission is.
    public enum State: String, Codable, Sendable {
        /// The user has handed it in, and no remote shows it.
        case submitted
        /// A remote lists it.
        case registered
        /// A remote has refused the user's submission.
        case refused
    }

    /// The video, as `provider:id`.
    public var key: String
    /// The address of its page.
    @NullWhenNil public var url: String?
    /// Its title.
    @NullWhenNil public var title: String?
    /// Where its still picture is.
    @NullWhenNil public var thumbnail: String?
    /// The account that handed it in, by the remote's name for it.
    @NullWhenNil public var owner: String?
    /// What that account is called.
    @NullWhenNil public var nickname: String?
    /// When it was handed in.
    @NullWhenNil public var createdAt: UTCTime?
    /// How often it was opened: what the remote counts, and the user's own openings that are not in it.
    @NullWhenNil public var views: Int?
    /// How many of these are the user's own that the remote does not count yet.
    public var ownViews: Int
    /// Where its chat is held.
    @NullWhenNil public var channel: String?
    /// How far it is.
    public var state: State
    /// The id of the event by which the user handed it in; nil where the user did not.
    @NullWhenNil public var submission: String?
    /// Why it was refused, as a code.
    @NullWhenNil public var code: String?
    /// Why it was refused, as a sentence.
    @NullWhenNil public var message: String?
}

extension QueryLimits {
    /// How many submissions a page has where nothing is said.
    public static let submissionsCountDefault = 20
}

extension VideoQueries {
    /// The videos that users have handed in; in front of them the user's own that no remote lists yet, the
    /// last first.
    ///
    /// Pages go on behind the last row that was given, by its place then. A video's age does not change, so
    /// by `.new` no page repeats what one before it had, and none is left out but those that are newer than
    /// the first page. By `.popular` a video moves while its views grow: it is never given twice, but one
    /// that overtakes the page's end between two pages is in neither; only where the remote takes views back
    /// can one come again. In both, one of the user's own that a remote comes to list between two pages may
    /// be in them twice: once waiting, once listed. Costs what the page holds.
    ///
    /// - Parameters:
    ///   - order: the order of the list.
    ///   - limit: how many at the most.
    ///   - cursor: the `next` of the page before, of the same order.
    public func submissions(
        order: SubmissionOrder = .popular, limit: Int = QueryLimits.submissionsCountDefault,
        cursor: String? = nil
    ) throws -> SubmissionsPage {
        let list: (cursor: PageCursor.List, table: Int) =
            order == .popular
            ? (.popular, SubmissionList.Table.popular) : (.new, SubmissionList.Table.new)
        let (entries, next) = try page(
            .waitingSubmissions,
            of: {
                try submissions(
                    .waitingSubmissions, SubmissionList.Table.waiting, limit: $0, cursor: $1)
            },
            then: { try submissions(list.cursor, list.table, limit: $0, cursor: $1) },
            limit: limit, cursor: cursor)
        return SubmissionsPage(videos: entries, next: next)
    }

    /// What is known of a video that was handed in; nil for one that was not.
    ///
    /// - Parameter video: its key, or any URL form of it.
    public func submission(video: String) throws -> SubmissionEntry? {
        let key = try VideoKey(video).tag
        return try reader.state(of: projections.submissions, key: key).flatMap {
            try entry($0, key)
        }
    }

    private func submissions(
        _ list: PageCursor.List, _ table: Int, limit: Int, cursor: String?
    ) throws -> ([SubmissionEntry], next: String?) {
        let (rows, next) = try page(
            of: projections.submissions, table: table, list, limit: limit, cursor: cursor)
        let prefix = table == SubmissionList.Table.popular ? 16 : 8
        return (try rows.compactMap { try submissionEntry($0, behind: prefix) }, next)
    }

    func submissionEntry(_ row: Row, behind prefix: Int) throws -> SubmissionEntry? {
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try SubmissionList.State(reading: &reader)
        }
        return try entry(state, tag("video", in: row, after: prefix))
    }

    private func entry(_ state: SubmissionList.State, _ key: Tag) throws -> SubmissionEntry? {
        let name = String(key.name)
        let submission = state.own?.event.description
        let ownViews = try Int(
            clamping: reader.state(of: projections.viewCounts, key: key)?.uncounted ?? 0)
        if let shown = state.sightings.merged {
            return SubmissionEntry(
                key: name, url: shown.hasURL ? shown.url : nil,
                title: shown.hasTitle ? shown.title : nil,
                thumbnail: shown.hasThumbnail ? shown.thumbnail : nil,
                owner: shown.hasOwner ? shown.owner : nil,
                nickname: shown.hasOwner ? try nickname(of: shown.owner) : nil,
                createdAt: shown.hasCreatedAt
                    ? UTCTime(milliseconds: shown.createdAt.milliseconds) : nil,
                views: shown.hasViews || ownViews > 0
                    ? Int(clamping: shown.views).addingClamped(ownViews) : nil,
                ownViews: ownViews,
                channel: shown.hasChannel ? shown.channel : nil, state: .registered,
                submission: submission)
        }
        guard let own = state.own else { return nil }
        let posted = try VideoSubmitted(payload: own.payload)
        let refusal = state.outcome.flatMap { $0.kind == .refused ? $0 : nil }
        return SubmissionEntry(
            key: name,
            url: posted.url.isEmpty
                ? "https://www.youtube.com/watch?v=\(VideoKey(tag: key).id)" : posted.url,
            title: posted.hasTitle ? posted.title : nil,
            thumbnail: posted.hasThumbnail ? posted.thumbnail : nil,
            createdAt: UTCTime(milliseconds: own.at), views: ownViews > 0 ? ownViews : nil,
            ownViews: ownViews, state: refusal == nil ? .submitted : .refused,
            submission: submission,
            code: refusal?.code, message: refusal?.message)
    }
}
