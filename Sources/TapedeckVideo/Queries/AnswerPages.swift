internal import TapedeckModel
internal import TapedeckProjections

/// A page of answers.
public struct AnswersPage: Codable, Hashable, Sendable {
    /// The answers, the one handed in last first.
    public var answers: [AnswerEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// An answer that was recorded or handed in, or that a remote shows.
public struct AnswerEntry: Codable, Hashable, Sendable {
    /// Whether an answer can be watched.
    public enum State: String, Codable, Sendable {
        /// It was recorded here, and no remote shows it.
        case waiting
        /// The server has it, or still receives it.
        case uploading
        /// A remote shows it, or its address is known.
        case published
    }

    /// The answer's id; while it waits, that of the event by which it was recorded.
    public var id: String
    /// The question's id.
    @NullWhenNil public var question: String?
    /// Whether it can be watched.
    public var state: State
    /// How long it is.
    @NullWhenNil public var durationSeconds: Double?
    /// Where it can be watched.
    @NullWhenNil public var videoUrl: String?
    /// Where its still picture is.
    @NullWhenNil public var thumbnailUrl: String?
    /// How many comments `comments` lists: those posted here, and those that a remote shows.
    public var commentCount: Int
    /// How many likes it has, as the remote says.
    @NullWhenNil public var likeCount: Int?
}

/// A page of likes.
public struct LikesPage: Codable, Hashable, Sendable {
    /// The likes, by their numbers.
    public var likes: [LikeEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// Somebody's like of an answer.
public struct LikeEntry: Codable, Hashable, Sendable {
    /// The like's id.
    public var id: String
    /// The user's id.
    public var user: String
    /// The user's name.
    @NullWhenNil public var username: String?
}

extension VideoQueries {
    /// The answers: those that wait to be shown, then those handed in, the last first, then those of which no
    /// time is known.
    public func answers(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> AnswersPage {
        let (answers, next) = try page(
            .recordedAnswers, of: recordedAnswers, then: shownAnswers, limit: limit, cursor: cursor)
        return AnswersPage(answers: answers, next: next)
    }

    /// Who likes an answer, as a remote tells one by one.
    public func likes(
        answer: String, limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> LikesPage {
        try QueryLimits.check(limit)
        var rows = try reader.items(
            of: projections.answers, key: Tag("answer", answer), prefix: RowKey(AnswerItems.likes),
            after: PageCursor.key(.likes, cursor), limit: limit + 1)
        var next: String?
        if rows.count > limit {
            rows.removeLast(rows.count - limit)
            next = rows.last.map { PageCursor.text(.likes, $0.key) }
        }
        let likes = try rows.map { row in
            let user = row.value.utf8Text
            let profile = try reader.state(of: projections.users, key: Tag("user", user))?.profile
            return LikeEntry(
                id: NaturalID.id(Array(row.key.dropFirst(AnswerItems.likes.count))).utf8Text,
                user: user, username: profile.flatMap { $0.hasUsername ? $0.username : nil })
        }
        return LikesPage(likes: likes, next: next)
    }

    private func recordedAnswers(
        _ limit: Int, _ cursor: String?
    ) throws -> ([AnswerEntry], next: String?) {
        let (rows, next) = try page(
            of: projections.questions, table: 4, .recordedAnswers, limit: limit, cursor: cursor)
        let entries = try rows.compactMap { row -> AnswerEntry? in
            let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
                try QuestionList.State(reading: &reader)
            }
            guard let recorded = state.recorded else { return nil }
            return AnswerEntry(
                id: recorded.event.description, question: recorded.recorded.question,
                state: .waiting, durationSeconds: recorded.recorded.durationSeconds,
                commentCount: 0)
        }
        return (entries, next)
    }

    private func shownAnswers(
        _ limit: Int, _ cursor: String?
    ) throws -> ([AnswerEntry], next: String?) {
        let (rows, next) = try page(
            of: projections.answers, .answers, limit: limit, cursor: cursor)
        let entries = try rows.map { row in
            let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
                try AnswerList.State(reading: &reader)
            }
            let isPublished = state.isSighted || state.videoURL != nil
            let (uploaded, sighting) = (state.uploaded, state.sighting)
            return AnswerEntry(
                id: String(tag("answer", in: row, after: 16).name), question: state.question,
                state: isPublished ? .published : .uploading,
                durationSeconds: uploaded.hasDurationSeconds ? uploaded.durationSeconds : nil,
                videoUrl: state.videoURL, thumbnailUrl: state.thumbnailURL,
                commentCount: Int(clamping: state.posted &+ state.observed),
                likeCount: sighting.hasLikeCount ? Int(clamping: sighting.likeCount) : nil)
        }
        return (entries, next)
    }
}
