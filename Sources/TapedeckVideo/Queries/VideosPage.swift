internal import TapedeckModel
internal import TapedeckProjections

/// A page of shared videos.
public struct VideosPage: Codable, Hashable, Sendable {
    /// The videos, most recently shared first.
    public var videos: [VideoEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A video that was shared.
public struct VideoEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var key: String
    /// The title in the broadcast that represents the video (see `WinnerRule`) or, if that
    /// broadcast has no title, in the description of the video.
    @NullWhenNil public var title: String?
    /// The user who shared the broadcast that represents the video; see `WinnerRule`.
    @NullWhenNil public var sharer: String?
    /// The URL of the sharer's picture.
    @NullWhenNil public var sharerImageUrl: String?
    /// The URL of the video's still picture.
    @NullWhenNil public var thumbnailUrl: String?
    /// The video's duration, in seconds.
    @NullWhenNil public var durationSeconds: Double?
    /// The number of broadcasts of the video.
    public var broadcasts: Int
    /// The first comments on the video, oldest first.
    public var comments: [CommentEntry]
    /// The total number of comments; the text of a broadcast counts as one comment.
    public var commentCount: Int
    /// The time at which the video was last shared.
    @NullWhenNil public var newestAt: UTCTime?
    /// Whether the video is on the watch-later list.
    public var watchLater: Bool
    /// Whether the user has watched the video.
    public var watched: Bool
}

/// A page of comments.
public struct CommentsPage: Codable, Hashable, Sendable {
    /// The comments, oldest first.
    public var comments: [CommentEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A comment, or the text of a broadcast.
public struct CommentEntry: Codable, Hashable, Sendable {
    /// The state of a comment.
    public enum State: String, Codable, Sendable {
        /// The comment was posted in this store, and no remote shows it yet.
        case waiting
        /// The comment was posted in this store, and a remote refused it.
        case refused
        /// A remote shows the comment or the broadcast.
        case shown
    }

    /// The id of the broadcast or comment or, until a remote shows the comment, the id of the event
    /// that posted it.
    public var id: String
    /// The author.
    @NullWhenNil public var author: String?
    /// The text; for a broadcast without a comment, the video's title.
    @NullWhenNil public var text: String?
    /// The time of the comment or broadcast.
    @NullWhenNil public var at: UTCTime?
    /// The state of the comment.
    public var state: State
    /// The error code if the comment was refused.
    @NullWhenNil public var code: String?
    /// The error message if the comment was refused.
    @NullWhenNil public var message: String?
}

extension VideoQueries {
    /// Returns the shared videos, most recently shared first.
    public func videos(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> VideosPage {
        let (rows, next) = try page(
            of: projections.videos, .videos, limit: limit, cursor: cursor)
        return VideosPage(videos: try rows.map { try videoEntry($0) }, next: next)
    }

    /// Returns the entry for a row of the list of shared videos.
    func videoEntry(_ row: Row) throws -> VideoEntry {
        let tag = tag("video", in: row, after: 8)
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try VideoList.State(reading: &reader)
        }
        let marked = try reader.state(of: projections.watchLater, key: tag)
        return VideoEntry(
            key: String(tag.name), title: state.shownTitle?.utf8Text,
            sharer: state.sharer?.utf8Text, sharerImageUrl: state.sharerImage?.utf8Text,
            thumbnailUrl: state.about.thumbnail?.utf8Text,
            durationSeconds: state.about.durationSeconds,
            broadcasts: Int(clamping: state.broadcasts),
            comments: try comments(
                of: projections.videos, tag, after: nil, limit: QueryLimits.commentsPerVideoMax
            ).map(\.entry),
            commentCount: Int(clamping: state.comments),
            newestAt: state.newestAt.map(UTCTime.init), watchLater: marked?.since != nil,
            watched: state.isWatched)
    }

    /// Returns the comments on a video, oldest first; the page is empty if the video has none.
    ///
    /// - Parameter video: The video's key, or any of its URLs.
    public func comments(
        video: String, limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> CommentsPage {
        try comments(
            of: projections.videos, VideoKey(video).tag, limit: limit, cursor: cursor)
    }

    /// Returns the comments on an answer, oldest first; the page is empty if the remote has removed
    /// the answer.
    public func comments(
        answer: String, limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> CommentsPage {
        try comments(of: projections.answers, Tag("answer", answer), limit: limit, cursor: cursor)
    }

    private func comments(
        of projection: some Projection, _ key: Tag, limit: Int, cursor: String?
    ) throws -> CommentsPage {
        try QueryLimits.check(limit)
        var found = try comments(
            of: projection, key, after: PageCursor.key(.comments, cursor), limit: limit + 1)
        var next: String?
        if found.count > limit {
            found.removeLast(found.count - limit)
            next = found.last.map { PageCursor.text(.comments, $0.place) }
        }
        return CommentsPage(comments: found.map(\.entry), next: next)
    }

    /// Returns the text of broadcasts, comments from remotes, and comments posted here, sorted by
    /// time.
    ///
    /// Broadcasts and the two kinds of comments are stored in three lists, each sorted by time and
    /// id. Comments without a known time come first. A broadcast whose text also exists as a
    /// comment is left out.
    ///
    /// - Parameter after: The name of the item to start after, without the leading letter that
    ///   identifies its list; nil to start at the beginning.
    private func comments(
        of projection: some Projection, _ key: Tag, after: [UInt8]?, limit: Int
    ) throws -> [(place: [UInt8], entry: CommentEntry)] {
        var found: [(place: [UInt8], entry: CommentEntry)] = []
        for list in CommentItems.lists {
            var (place, count) = (after.map { list + $0 }, 0)
            while count < limit {
                let rows = try reader.items(
                    of: projection, key: key, prefix: RowKey(list), after: place, limit: limit)
                for row in rows.prefix(while: { _ in count < limit }) {
                    guard let entry = try comment(row, of: projection, key) else { continue }
                    found.append((Array(row.key.dropFirst()), entry))
                    count += 1
                }
                guard rows.count == limit else { break }
                place = rows.last?.key
            }
        }
        found.sort { $0.place.lexicographicallyPrecedes($1.place) }
        return Array(found.prefix(limit))
    }

    /// Returns the comment in an item of one of `CommentItems.lists`; nil for a broadcast whose
    /// text also exists as a comment.
    func comment(
        _ row: Row, of projection: some Projection, _ key: Tag
    ) throws -> CommentEntry? {
        let id = row.key.dropFirst(9)
        switch row.key.prefix(1) {
        case BroadcastItems.byTime[...]:
            let record = try BroadcastRecord(decoding: row.value)
            guard !record.isToldByMessage else { return nil }
            return CommentEntry(
                id: Array(id).utf8Text, author: record.sharer?.utf8Text,
                text: record.text?.utf8Text, at: record.createdAt.map(UTCTime.init), state: .shown)
        case BroadcastItems.posted[...]:
            let comment = try PostedComment(decoding: row.value)
            return CommentEntry(
                id: PostedComment.id(id).utf8Text, author: comment.author?.utf8Text,
                text: comment.text.utf8Text,
                at: BroadcastItems.place(name: row.key).map { UTCTime(milliseconds: $0.time) },
                state: comment.refusal == nil ? .waiting : .refused, code: comment.refusal?.code,
                message: comment.refusal?.message)
        default: return try entry(try ObservedComment(decoding: row.value), of: projection, key)
        }
    }

    /// Returns a comment that a remote shows.
    ///
    /// If the remote does not report the comment's time and the comment was posted here, the time
    /// of posting is used.
    private func entry(
        _ comment: ObservedComment, of projection: some Projection, _ key: Tag
    ) throws -> CommentEntry {
        var time = comment.at
        if time == nil, let event = comment.postedAs?.value,
            let posted = try reader.item(
                of: projection, key: key, name: CommentItems.echo(of: event)), !posted.isEmpty
        {
            time = try BroadcastPlace.time(posted)
        }
        return CommentEntry(
            id: comment.id.utf8Text, author: comment.author?.value.utf8Text,
            text: comment.text.value.utf8Text, at: time.map(UTCTime.init), state: .shown)
    }
}
