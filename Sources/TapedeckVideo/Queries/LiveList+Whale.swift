public import TapedeckProjections

internal import TapedeckModel

extension LiveQuery where Self == LiveList<AnswerEntry> {
    /// The first page of answers; see `VideoQueries.answers`.
    public static func answers(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let recorded = Self.Part(
            RowRange(of: projections.questions, table: QuestionList.Table.recorded)
        ) { row, queries, _ in
            guard let answer = try queries.recordedAnswer(row) else {
                throw Self.nothingToShow("an answer")
            }
            return LiveEntry(answer)
        }
        let shown = Self.Part(RowRange(of: projections.answers)) { row, queries, _ in
            LiveEntry(try queries.shownAnswer(row, likedBy: queries.own()))
        }
        // These rows may affect every entry, because the keys do not show whom a question concerns
        // or who likes an answer.
        let details =
            people(projections) + [
                (RowRange(of: projections.questions), nil),
                (
                    RowRange(
                        of: projections.answers, itemsOf: nil, prefix: RowKey(AnswerItems.likers)),
                    nil
                ),
            ]
        return Self([recorded, shown], details: details, limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<QuestionEntry> {
    /// The first page of questions; see `VideoQueries.questions`.
    ///
    /// - Parameters:
    ///   - receiver: The user who was asked; nil for all users. If a user is given, the list
    ///     contains only questions that a remote shows.
    ///   - isPending: Whether to leave out answered questions.
    public static func questions(
        to receiver: String? = nil, isPending: Bool = true,
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let bound = receiver.map { RowKey().text($0) }
        let rows = RowRange(
            of: projections.questions,
            table: QuestionList.Table.listed(isPending: isPending, byReceiver: receiver != nil),
            from: bound, below: bound?.end)
        var parts = [
            Self.Part(rows) { row, queries, _ in LiveEntry(try queries.question(row)) }
        ]
        if receiver == nil {
            let asked = RowRange(of: projections.users, table: UserList.Table.asked)
            parts.insert(
                Self.Part(asked) { row, queries, _ in
                    LiveEntry(try queries.askedQuestion(row))
                }, at: 0)
        }
        return Self(parts, details: people(projections), limit: limit, projections)
    }
}

extension LiveArrangement where Self == ArrangedList<QuestionEntry, QuestionEntry> {
    /// The first page of questions that a remote shows and that are addressed to the account's
    /// user; see `VideoQueries.ownQuestions`.
    ///
    /// While the account's user is unknown, the list is empty, and `LiveState.failures` contains
    /// `.signInRequired`.
    ///
    /// - Parameter isPending: Whether to leave out answered questions.
    public static func ownQuestions(
        isPending: Bool = true, limit: Int = QueryLimits.pageCountDefault,
        projections: VideoProjections = .standard
    ) -> Self {
        @Sendable func questions(_ receiver: String) -> LiveList<QuestionEntry> {
            .questions(to: receiver, isPending: isPending, limit: limit, projections: projections)
        }
        return Self(
            of: { _ in questions("") },
            basis: [
                RowRange(of: projections.accounts),
                RowRange(of: projections.users, table: UserList.Table.own),
            ],
            read: {
                try questions(VideoQueries($0, projections: projections).requireOwnUser())
            }, by: \.id
        ) { questions, hasMore, _ in LiveArranged(questions, hasMore: hasMore) }
    }
}

extension LiveQuery where Self == LiveList<UserEntry> {
    /// The first page of users, sorted by name; see `VideoQueries.users`.
    public static func users(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let part = Self.Part(RowRange(of: projections.users)) { row, queries, _ in
            LiveEntry(try queries.userEntry(row))
        }
        // These rows contain the users whom the account's user follows.
        let followed = RowRange(
            of: projections.following, itemsOf: nil, prefix: RowKey(FollowList.Edge.prefix))
        return Self(
            [part], details: people(projections) + [(followed, nil)], limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<FollowEntry> {
    /// The first page of a user's followers, or of the users whom a user follows; see
    /// `VideoQueries.follows`.
    ///
    /// Throws `ModelError` with `.invalidTag`.
    public static func follows(
        of user: String, _ direction: FollowList.Direction = .followers,
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) throws -> Self {
        let list = direction == .followers ? projections.followers : projections.following
        let key = try Tag(list.tagKind, user)
        func items(_ prefix: [UInt8]) -> RowRange {
            RowRange(of: list, itemsOf: key, prefix: RowKey(prefix))
        }
        let part = Self.Part(items(FollowList.Edge.listedPrefix)) { row, queries, _ in
            guard let entry = try queries.followEntry(row, key, list) else {
                throw Self.nothingToShow("a user")
            }
            return LiveEntry(entry)
        }
        let details = people(projections) + [(items(FollowList.Edge.prefix), nil)]
        return Self([part], details: details, limit: limit, projections)
    }
}

/// Returns the rows that contain users' names or determine the account's user; each row may affect
/// every entry.
func people(_ projections: VideoProjections) -> [(RowRange, prefix: Int?)] {
    [
        (RowRange(of: projections.users), nil),
        (RowRange(of: projections.users, table: UserList.Table.own), nil),
        (RowRange(of: projections.accounts), nil),
    ]
}
