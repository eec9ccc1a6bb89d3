internal import TapedeckModel
internal import TapedeckProjections

/// A page of the list of videos.
public struct VideosPage: Codable, Hashable, Sendable {
    /// The videos, the one shared last first.
    public var videos: [VideoEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// A video that was shared.
public struct VideoEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var key: String
    /// Its title, as the winner among its broadcasts says.
    @NullWhenNil public var title: String?
    /// Who shared it, as the winner says.
    @NullWhenNil public var sharer: String?
    /// How many broadcasts there are of it.
    public var broadcasts: Int
    /// The first of what was said about it, oldest first.
    public var comments: [CommentEntry]
    /// How much was said about it in all.
    public var commentCount: Int
    /// When it was shared last.
    @NullWhenNil public var newestAt: UTCTime?
    /// Whether it is on the list of videos to be seen later.
    public var watchLater: Bool
}

/// A page of comments.
public struct CommentsPage: Codable, Hashable, Sendable {
    /// The comments, oldest first.
    public var comments: [CommentEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// What somebody said: with a broadcast, or in a comment.
public struct CommentEntry: Codable, Hashable, Sendable {
    /// The id of the broadcast or of the comment; of a comment that no remote shows, that of the event.
    public var id: String
    /// Who said it.
    @NullWhenNil public var author: String?
    /// What was said; of a broadcast without a comment, the video's title.
    @NullWhenNil public var text: String?
    /// When it was said.
    @NullWhenNil public var at: UTCTime?
}

extension VideoQueries {
    /// The videos that were shared, the one shared last first.
    public func videos(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> VideosPage {
        let (rows, next) = try page(
            of: projections.videos, .videos, limit: limit, cursor: cursor)
        return VideosPage(videos: try rows.map { try videoEntry($0) }, next: next)
    }

    /// The video of a row of those that were shared.
    func videoEntry(_ row: Row) throws -> VideoEntry {
        let tag = tag("video", in: row, after: 8)
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try VideoList.State(reading: &reader)
        }
        let marked = try reader.state(of: projections.watchLater, key: tag)
        return VideoEntry(
            key: String(tag.name), title: state.title?.utf8Text,
            sharer: state.sharer?.utf8Text, broadcasts: Int(clamping: state.broadcasts),
            comments: try comments(
                of: projections.videos, tag, after: nil, limit: QueryLimits.commentsPerVideoMax
            ).map(\.entry),
            commentCount: Int(clamping: state.broadcasts &+ state.posted &+ state.observed),
            newestAt: state.newestAt.map(UTCTime.init), watchLater: marked?.since != nil)
    }

    /// What was said about a video, oldest first; nothing for a video that nobody shared.
    ///
    /// - Parameter video: its key, or any URL form of it.
    public func comments(
        video: String, limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> CommentsPage {
        try comments(
            of: projections.videos, VideoKey(video).tag, limit: limit, cursor: cursor)
    }

    /// What was said about an answer, oldest first.
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

    /// Merges what broadcasts say, what remotes tell of and what was posted here.
    ///
    /// They lie in three lists by (time, id). What no time is known of comes first.
    ///
    /// - Parameter after: the place behind which to begin: a name without its list's letter.
    private func comments(
        of projection: some Projection, _ key: Tag, after: [UInt8]?, limit: Int
    ) throws -> [(place: [UInt8], entry: CommentEntry)] {
        var found: [(place: [UInt8], entry: CommentEntry)] = []
        for list in CommentItems.lists {
            let rows = try reader.items(
                of: projection, key: key, prefix: RowKey(list), after: after.map { list + $0 },
                limit: limit)
            for row in rows {
                found.append((Array(row.key.dropFirst()), try comment(row, of: projection, key)))
            }
        }
        found.sort { $0.place.lexicographicallyPrecedes($1.place) }
        return Array(found.prefix(limit))
    }

    /// The comment of an item of one of `CommentItems.lists`.
    func comment(
        _ row: Row, of projection: some Projection, _ key: Tag
    ) throws -> CommentEntry {
        let id = row.key.dropFirst(9)
        switch row.key.prefix(1) {
        case BroadcastItems.byTime[...]:
            let record = try BroadcastRecord(decoding: row.value)
            return CommentEntry(
                id: Array(id).utf8Text, author: record.sharer?.utf8Text,
                text: record.text?.utf8Text, at: record.createdAt.map(UTCTime.init))
        case BroadcastItems.posted[...]:
            let comment = try PostedComment(decoding: row.value)
            return CommentEntry(
                id: PostedComment.id(id).utf8Text, author: comment.author?.utf8Text,
                text: comment.text.utf8Text,
                at: BroadcastItems.place(name: row.key).map { UTCTime(milliseconds: $0.time) })
        default: return try entry(try ObservedComment(decoding: row.value), of: projection, key)
        }
    }

    /// A comment that a remote tells of; where it does not tell when, one that was posted here was made then.
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
            text: comment.text.value.utf8Text, at: time.map(UTCTime.init))
    }
}
