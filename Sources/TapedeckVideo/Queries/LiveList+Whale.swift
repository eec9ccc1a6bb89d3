public import TapedeckProjections

internal import TapedeckModel

extension LiveQuery where Self == LiveList<AnswerEntry> {
    /// The first answers; see `VideoQueries.answers`.
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
            LiveEntry(try queries.shownAnswer(row, likedBy: queries.ownUser()))
        }
        // Whose question it is, and who likes it, is in no key.
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
    /// The first questions; see `VideoQueries.questions`.
    ///
    /// - Parameters:
    ///   - receiver: only what this user is asked, once a remote shows it; nil for everybody.
    ///   - isPending: whether those that have an answer are left out.
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
    /// The first questions to the user of the account, once a remote shows them; see `VideoQueries.ownQuestions`.
    ///
    /// While nobody knows who that is it is empty, and `LiveState.failures` says so: `.signInRequired`.
    ///
    /// - Parameter isPending: whether those that have an answer are left out.
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
                RowRange(of: projections.accounts, table: AccountList.Table.signedIn),
                RowRange(of: projections.users, table: UserList.Table.own),
            ],
            read: {
                try questions(VideoQueries($0, projections: projections).requireOwnUser())
            }, by: \.id
        ) { questions, hasMore, _ in LiveArranged(questions, hasMore: hasMore) }
    }
}

extension LiveQuery where Self == LiveList<UserEntry> {
    /// The first users by their names; see `VideoQueries.users`.
    public static func users(
        limit: Int = QueryLimits.pageCountDefault, projections: VideoProjections = .standard
    ) -> Self {
        let part = Self.Part(RowRange(of: projections.users)) { row, queries, _ in
            LiveEntry(try queries.userEntry(row))
        }
        // Whom the user of the account follows.
        let followed = RowRange(
            of: projections.following, itemsOf: nil, prefix: RowKey(FollowList.Edge.prefix))
        return Self(
            [part], details: people(projections) + [(followed, nil)], limit: limit, projections)
    }
}

extension LiveQuery where Self == LiveList<FollowEntry> {
    /// The first who follow a user, or whom a user follows; see `VideoQueries.follows`.
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
                throw Self.nothingToShow("somebody")
            }
            return LiveEntry(entry)
        }
        let details = people(projections) + [(items(FollowList.Edge.prefix), nil)]
        return Self([part], details: details, limit: limit, projections)
    }
}

/// The names of people, and who the user of the account is: any entry may be made of them.
func people(_ projections: VideoProjections) -> [(RowRange, prefix: Int?)] {
    [
        (RowRange(of: projections.users), nil),
        (RowRange(of: projections.users, table: UserList.Table.own), nil),
        (RowRange(of: projections.accounts), nil),
    ]
}
