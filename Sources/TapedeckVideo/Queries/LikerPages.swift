internal import TapedeckModel
internal import TapedeckProjections

/// A page of users who like an answer.
public struct LikersPage: Codable, Hashable, Sendable {
    /// The users who like the answer, sorted by their first likes.
    ///
    /// The first page begins with the user of this store if no remote shows that user's like yet.
    public var likers: [LikerEntry]
    /// The number of users whose likes a remote has shown, plus one if the like of this store's
    /// user is pending.
    public var count: Int
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A user who likes an answer, listed once even if they liked it several times.
public struct LikerEntry: Codable, Hashable, Sendable {
    /// The state of a like.
    public enum State: String, Codable, Sendable {
        /// The user liked the answer in this store, and no remote shows the like yet.
        case waiting
        /// The user liked the answer in this store, and a remote refused the like.
        case refused
        /// A remote shows the like.
        case shown
    }

    /// The user's id; nil for the user of this store if no remote has reported the id.
    @NullWhenNil public var user: String?
    /// The user's name.
    @NullWhenNil public var username: String?
    /// The URL of the user's picture.
    @NullWhenNil public var imageUrl: String?
    /// The id of the user's first like; nil if no remote shows one.
    @NullWhenNil public var like: String?
    /// The state of the like.
    public var state: State
    /// The error code if the like was refused.
    @NullWhenNil public var code: String?
    /// The error message if the like was refused.
    @NullWhenNil public var message: String?
}

extension VideoQueries {
    /// Returns the users who like an answer, each listed once; none if the remote has removed the
    /// answer.
    ///
    /// Users are sorted by their first likes on the remote. A user's first like never changes, so a
    /// page continues where the previous one ended, even if likes are added in between. The cost
    /// depends on the size of the page.
    ///
    /// - Parameter answer: The answer's id.
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
            // If the user's own like fills the page, the next page starts with the first shown
            // like.
            next = PageCursor.text(.likers, rows.last?.key ?? AnswerItems.likes)
        }
        likers += try rows.map { try shownLiker($0, key) }
        let shown = state.map { $0.isRemoved ? 0 : $0.likers } ?? 0
        let count = shown + (own?.state == .waiting ? 1 : 0)
        return LikersPage(likers: likers, count: Int(clamping: count), next: next)
    }

    /// Returns whether a user likes an answer.
    ///
    /// The last toggle of the user's account determines the result until a remote has confirmed a
    /// like. If no toggle was recorded, or if the last one was refused or dropped, the likes that a
    /// remote shows determine the result, as they do after a confirmation.
    func isLiked(
        _ state: AnswerList.State, _ key: Tag, by own: OwnUser
    ) throws -> Bool {
        if let like = state.like(of: own.account), like.refusal == nil,
            like.outcome?.kind != .dropped
        {
            // A confirmation includes the like, so if the remote shows no like, it was removed.
            let isShown = like.isOn && !like.isWanted && own.id != nil
            if !isShown { return like.isOn }
        }
        return try isShownLiked(key, by: own.id)
    }

    private func isShownLiked(_ key: Tag, by user: String?) throws -> Bool {
        guard let user else { return false }
        return try reader.item(
            of: projections.answers, key: key, name: AnswerItems.liker(user)) != nil
    }

    /// Returns the like of this store's user if no remote shows it yet; otherwise, or if the answer
    /// was removed, nil.
    func waitingLike(_ key: Tag) throws -> LikerEntry? {
        let own = try own()
        guard let state = try reader.state(of: projections.answers, key: key), !state.isRemoved,
            let like = state.like(of: own.account), like.isOn, like.isWanted,
            try !isShownLiked(key, by: own.id)
        else { return nil }
        var entry = LikerEntry(
            user: own.id, state: like.refusal == nil ? .waiting : .refused,
            code: like.refusal?.code,
            message: like.refusal?.message)
        try describe(&entry)
        return entry
    }

    /// Returns the user in a row of the likes that a remote shows.
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
