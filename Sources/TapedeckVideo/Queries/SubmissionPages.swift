internal import TapedeckModel
internal import TapedeckProjections

/// The order of a list of submissions.
public enum SubmissionOrder: String, Sendable, CaseIterable {
    /// By the number of views on the remote, most viewed first, then by time of submission, newest
    /// first, then by key.
    case popular
    /// By time of submission, newest first, then by key.
    case new
}

/// A page of submitted videos.
public struct SubmissionsPage: Codable, Hashable, Sendable {
    /// The videos, in the requested order.
    public var videos: [SubmissionEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A submitted video.
public struct SubmissionEntry: Codable, Hashable, Sendable {
    /// The state of a submission.
    public enum State: String, Codable, Sendable {
        /// The user submitted the video, and no remote shows it yet.
        case submitted
        /// A remote lists the video.
        case registered
        /// A remote refused the user's submission.
        case refused
    }

    /// The video, as `provider:id`.
    public var key: String
    /// The URL of the video's page.
    @NullWhenNil public var url: String?
    /// The title of the video.
    @NullWhenNil public var title: String?
    /// The URL of the still picture.
    @NullWhenNil public var thumbnail: String?
    /// The remote's name for the account that submitted the video.
    @NullWhenNil public var owner: String?
    /// The nickname of the account that submitted the video.
    @NullWhenNil public var nickname: String?
    /// The time of submission.
    @NullWhenNil public var createdAt: UTCTime?
    /// The number of views that the remote counts, plus the user's own views that the remote does
    /// not count yet.
    @NullWhenNil public var views: Int?
    /// The number of the user's own views that the remote does not count yet.
    public var ownViews: Int
    /// The channel of the video's chat.
    @NullWhenNil public var channel: String?
    /// The state of the submission.
    public var state: State
    /// The id of the event with which the user submitted the video; nil if the user did not submit
    /// it.
    @NullWhenNil public var submission: String?
    /// The error code if the submission was refused.
    @NullWhenNil public var code: String?
    /// The error message if the submission was refused.
    @NullWhenNil public var message: String?
}

extension QueryLimits {
    /// The default number of submissions on a page.
    public static let submissionsCountDefault = 20
}

extension VideoQueries {
    /// Returns the user's own submissions that no remote lists yet, followed by the submitted
    /// videos that a remote lists.
    ///
    /// The user's own submissions are sorted newest first. A page continues after the last row of
    /// the previous page, from the position that the row had when that page was read. With `.new`,
    /// the order is fixed, so no video is repeated, and only submissions newer than the first page
    /// are missed. With `.popular`, videos move up as their view counts increase. A video that
    /// moves past the end of a page between two requests is on neither page. A video is repeated
    /// only if the remote lowers the video's view count.
    ///
    /// In both orders, one of the user's own submissions may appear twice if a remote begins to
    /// list it between two requests: first as submitted, then as registered. The cost depends on
    /// the size of the page.
    ///
    /// - Parameters:
    ///   - order: The order of the list.
    ///   - limit: The maximum number of videos.
    ///   - cursor: The `next` of the previous page, in the same order.
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

    /// Returns the known facts about a submitted video, or nil if the video was not submitted.
    ///
    /// - Parameter video: The video's key, or any of its URLs.
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
        if let shown = state.observations.merged {
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
        let refusal = state.outcome?.refusal
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
