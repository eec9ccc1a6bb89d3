public import TapedeckProjections

internal import TapedeckModel

extension LiveQuery where Self == LiveList<CommentEntry> {
    /// The first page of comments on a video; see `VideoQueries.comments(video:)`.
    ///
    /// Throws `ModelError` with `.invalidVideo`.
    public static func comments(
        video: String, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) throws -> Self {
        comments(of: projections.videos, try VideoKey(video).tag, limit, projections)
    }

    /// The first page of comments on an answer; see `VideoQueries.comments(answer:)`.
    ///
    /// Throws `ModelError` with `.invalidTag`.
    public static func comments(
        answer: String, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) throws -> Self {
        comments(of: projections.answers, try Tag("answer", answer), limit, projections)
    }

    private static func comments(
        of projection: some Projection, _ key: Tag, _ limit: Int, _ projections: VideoProjections
    ) -> Self {
        let parts = CommentItems.lists.map { list in
            let isOfBroadcasts = list == BroadcastItems.byTime
            let rows = RowRange(of: projection, itemsOf: key, prefix: RowKey(list)) {
                try !isOfBroadcasts || !BroadcastRecord(decoding: $0).isToldByMessage
            }
            return Self.Part(rows) { row, queries, _ in
                guard let comment = try queries.comment(row, of: projection, key) else {
                    throw Self.nothingToShow("a comment")
                }
                return LiveEntry(comment)
            }
        }
        return Self(parts, .merged(prefixCount: 1), limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<ChatEntry> {
    /// The chat of a video, newest message first.
    ///
    /// The user's messages that no remote shows yet come first, oldest first. Blocked messages are
    /// left out. Unlike `VideoQueries.chat`, this list does not require the user to be signed in.
    /// Throws `ModelError` with `.invalidVideo`.
    public static func chat(
        video: String, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) throws -> Self {
        let key = try VideoKey(video).tag
        func items(_ prefix: [UInt8]) -> RowRange {
            RowRange(of: projections.chat, itemsOf: key, prefix: RowKey(prefix))
        }
        let waiting = Self.Part(items(OwnIntents.waiting)) { row, queries, _ in
            guard let message = try queries.waitingMessage(row.value, key) else {
                throw Self.nothingToShow("a message")
            }
            return LiveEntry(message)
        }
        let shown = Self.Part(items(ChatItems.shown)) { row, queries, _ in
            LiveEntry(try queries.shownMessage(row.value))
        }
        return Self(
            [waiting, shown],
            details: [
                (items(OwnIntents.outcomes), nil), (RowRange(of: projections.accounts), nil),
            ], limit: limit, projections)
    }
}
