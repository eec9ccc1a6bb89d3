internal import TapedeckModel
internal import TapedeckProjections

/// A page of those who like an answer.
public struct LikersPage: Codable, Hashable, Sendable {
    /// Who likes it: on the first page the user of this store where no remote shows that yet; then those whom a
    /// remote shows, by their first likes.
    public var likers: [LikerEntry]
    /// How many like it: those whom a remote has shown one by one, and the user of this store.
    public var count: Int
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// Somebody who likes an answer, however often they have said so.
public struct LikerEntry: Codable, Hashable, Sendable {
    /// How far a like is.
    public enum State: String, Codable, Sendable {
        /// The user has liked it here, and no remote shows that.
        case waiting
        /// The user has liked it here, and a remote has refused that.
        case refused
        /// A remote shows it.
        case shown
    }

    /// The user's id; nil for the user of this store where no remote has told who that is.
    @NullWhenNil public var user: String?
    /// The user's name.
    @NullWhenNil public var username: String?
    /// Where the user's picture is.
    @NullWhenNil public var imageUrl: String?
    /// The id of the user's first like; nil where no remote shows one.
    @NullWhenNil public var like: String?
    /// How far the like is.
    public var state: State
    /// Why it was refused, as a code.
    @NullWhenNil public var code: String?
    /// Why it was refused, as a sentence.
    @NullWhenNil public var message: String?
}

extension VideoQueries {
    /// Who likes an answer, each once, however often they liked it.
    ///
    /// Those whom a remote shows stand by their first likes, which never change: a page goes on where the one
    /// before ended, whatever is added meanwhile. Costs what the page holds.
    ///
    /// - Parameter answer: the answer's id.
    public func likers(
        of answer: String, limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> LikersPage {
        try QueryLimits.check(limit)
        let key = try Tag("answer", answer)
        let after = try PageCursor.key(.likers, cursor)
        let state = try reader.state(of: projections.answers, key: key)
        let own = try waitingLike(key)
        var likers = after == nil ? [own].compactMap { $0 } : []
        let wanted = limit - likers.count
        var rows = try reader.items(
            of: projections.answers, key: key, prefix: RowKey(AnswerItems.likes), after: after,
            limit: wanted + 1)
        var next: String?
        if rows.count > wanted {
            rows.removeLast(rows.count - wanted)
            // Where the user's own like fills the page, nothing lies in front of what follows.
            next = PageCursor.text(.likers, rows.last?.key ?? AnswerItems.likes)
        }
        likers += try rows.map { try shownLiker($0, key) }
        let count = (state?.likers ?? 0) + (own?.state == .waiting ? 1 : 0)
        return LikersPage(likers: likers, count: Int(clamping: count), next: next)
    }

    /// Whether a user likes an answer: as they wanted it last, unless a remote has refused that.
    func isLiked(_ state: AnswerList.State, _ key: Tag, by user: String?) throws -> Bool {
        if let like = state.like, like.refusal == nil, like.outcome?.kind != .dropped {
            return like.isOn
        }
        return try isShownLiked(key, by: user)
    }

    private func isShownLiked(_ key: Tag, by user: String?) throws -> Bool {
        guard let user else { return false }
        return try reader.item(
            of: projections.answers, key: key, name: AnswerItems.liker(user)) != nil
    }

    /// The like of the user of this store that no remote shows; nil where there is none.
    func waitingLike(_ key: Tag) throws -> LikerEntry? {
        let own = try ownUser()
        guard let like = try reader.state(of: projections.answers, key: key)?.like, like.isOn,
            like.isWanted,
            try !isShownLiked(key, by: own)
        else { return nil }
        var entry = LikerEntry(
            user: own, state: like.refusal == nil ? .waiting : .refused, code: like.refusal?.code,
            message: like.refusal?.message)
        try describe(&entry)
        return entry
    }

    /// Who likes an answer by an item of those that a remote shows.
    func shownLiker(_ row: Row, _ key: Tag) throws -> LikerEntry {
        let user = row.value.utf8Text
        let like = try reader.item(
            of: projections.answers, key: key, name: AnswerItems.liker(user))
        var entry = LikerEntry(
            user: user, like: like.map { NaturalID.id($0).utf8Text }, state: .shown)
        try describe(&entry)
        return entry
    }

    private func describe(_ entry: inout LikerEntry) throws {
        guard let profile = try entry.user.flatMap({ try shownProfile($0)?.user }) else { return }
        entry.username = profile.hasUsername ? profile.username : nil
        entry.imageUrl = profile.hasImageURL ? profile.imageURL : nil
    }
}
