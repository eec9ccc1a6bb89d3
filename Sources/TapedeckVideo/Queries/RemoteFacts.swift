package import TapedeckModel
package import TapedeckProjections

/// A row of `WatchLater` for a video whose watch-later mark has been removed here but not yet on a
/// remote.
package struct WatchLaterUnset: Hashable, Sendable {
    /// The video.
    package var key: Tag
    /// The event that removed the mark: a toggle, or the playback report that crossed the
    /// threshold.
    package var event: EventID

    init(key: Tag, event: EventID) {
        self.key = key
        self.event = event
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        writer.add(key.text)
        writer.add(event)
        return writer.bytes
    }

    /// Returns whether the given event was the last one to remove a video from the list, and is a
    /// playback report rather than a toggle.
    package static func isUnset(
        _ video: Tag, by event: EventID, of watchLater: WatchLater, _ views: some ViewReader
    ) throws -> Bool {
        guard let state = try views.state(of: watchLater, key: video) else { return false }
        return state.isCrossing && state.clearedBy == event
    }

    /// Returns the rows after a key, each with its own key; the next page can start after any of
    /// these keys.
    package static func page(
        of watchLater: WatchLater, _ views: some ViewReader, after: [UInt8]?, limit: Int
    ) throws -> [(row: [UInt8], unset: WatchLaterUnset)] {
        try views.rows(
            of: watchLater, table: 1, lower: nil, upper: nil, after: after, limit: limit
        ).map { row in
            try StateReader.read(row.value) { (reader) throws(ModelError) in
                let key = try Tag(try reader.string())
                return (row.key, WatchLaterUnset(key: key, event: try reader.eventID()))
            }
        }
    }
}

/// The facts that a remote reports about a video's broadcasts, for connectors.
package struct KnownBroadcasts: Sendable {
    /// A broadcast.
    package struct Broadcast: Hashable, Sendable {
        package var id: String
        package var isLiked: Bool
        package var isWatched: Bool
    }

    /// The id of the broadcast that represents the video; nil if there is none.
    package var winner: String?
    /// Whether the remote had broadcasts of the video and has removed them all.
    package var wasRemoved = false
    /// Up to `countMax` broadcasts, oldest first.
    package var broadcasts: [Broadcast] = []
    /// Up to `countMax` broadcasts that the remote reports as marked to watch later.
    ///
    /// Marks that were delivered from this store come first, with time 0. The remaining marks
    /// follow, oldest first.
    package var told: [RemoteMark] = []

    /// The maximum number of broadcasts of a video that are read.
    package static let countMax = 500

    /// Reads a video's broadcasts from the projections in `views`.
    package init(
        _ video: Tag, _ views: some ViewReader, _ projections: VideoProjections
    ) throws {
        winner = try views.state(of: projections.videos, key: video)?.winner?.id.utf8Text
        func marks(_ prefix: [UInt8]) throws -> [Row] {
            try views.items(
                of: projections.watchLater, key: video, prefix: RowKey(prefix), after: nil,
                limit: KnownBroadcasts.countMax)
        }
        told = try marks(Marks.ownTold).map {
            RemoteMark(broadcast: Array($0.key.dropFirst()).utf8Text, time: 0)
        }
        told += try marks(Marks.told).compactMap { row in
            BroadcastItems.place(name: row.key).map {
                RemoteMark(broadcast: $0.id.utf8Text, time: $0.time)
            }
        }
        if winner == nil {
            wasRemoved =
                try !views.items(
                    of: projections.videos, key: video, prefix: RowKey(BroadcastItems.removed),
                    after: nil, limit: 1
                ).isEmpty
        }
        for row in try views.items(
            of: projections.videos, key: video, prefix: RowKey(BroadcastItems.byTime), after: nil,
            limit: KnownBroadcasts.countMax)
        {
            guard let place = BroadcastItems.place(name: row.key) else { continue }
            let record = try BroadcastRecord(decoding: row.value)
            broadcasts.append(
                Broadcast(
                    id: place.id.utf8Text, isLiked: record.liked == true,
                    isWatched: record.watched == true))
        }
    }
}

/// The facts that a remote reports about an answer, for connectors.
package struct KnownAnswer: Sendable {
    /// The highest number that the remote has assigned to a comment on the answer.
    package var newestComment: UInt64
    /// Whether the user is known to like the answer.
    package var isLiked: Bool

    /// Reads an answer from the projections in `views`, or returns nil if no remote has shown it.
    package init?(
        _ answer: Tag, likedBy user: String, _ views: some ViewReader,
        _ projections: VideoProjections
    ) throws {
        guard let state = try views.state(of: projections.answers, key: answer), state.isSighted
        else { return nil }
        newestComment = state.newestComment
        let liker = AnswerItems.liker(user)
        isLiked =
            try views.item(
                of: projections.answers, key: answer,
                name: state.isRemoved ? HiddenItems.name(liker) : liker) != nil
    }
}

/// The facts that a remote reports about a question, for connectors.
package struct KnownQuestion: Sendable {
    /// The id of the user who was asked.
    package var receiver: String
    /// Whether the question has an answer.
    package var isAnswered: Bool

    /// Reads a question from the projections in `views`, or returns nil if no remote has shown it.
    package init?(
        _ question: Tag, _ views: some ViewReader, _ projections: VideoProjections
    ) throws {
        guard let state = try views.state(of: projections.questions, key: question),
            !state.question.question.isEmpty
        else { return nil }
        receiver = state.question.receiver
        isAnswered = !state.isPending
    }
}

extension VideoProjections {
    /// Returns the URL of a user's picture on the remote, for connectors; nil if there is none.
    package func picture(of user: Tag, _ views: some ViewReader) throws -> String? {
        guard let state = try views.state(of: users, key: user) else { return nil }
        return ProfileField.imageUrl.shown(by: state.profile)
    }
}

extension ProfileEdited {
    /// Whether the edit removes the picture.
    package var removesPicture: Bool {
        !hasImageURL && cleared.contains(ProfileField.imageUrl.rawValue)
    }
}

/// The highest numbers that remotes have assigned, for connectors.
package struct KnownNumbers: Sendable {
    package var question: UInt64
    package var answer: UInt64

    /// Reads the numbers from the projections in `views`.
    package init(_ views: some ViewReader, _ projections: VideoProjections) throws {
        func greatest(_ projection: some Projection, table: Int) throws -> UInt64 {
            let row = try views.rows(
                of: projection, table: table, lower: nil, upper: nil, after: nil, limit: 1
            ).first
            // A key begins with the inverted number, because the order is descending.
            return row.map { ~$0.key.prefix(8).bigEndianWord } ?? 0
        }
        question = try greatest(projections.questions, table: 0)
        answer = try greatest(projections.answers, table: 1)
    }
}

/// The facts that a remote reports about a submitted video, for connectors.
package struct KnownSubmission: Sendable {
    /// Whether the remote lists the video.
    package var isListed: Bool
    /// Whether the user has submitted the video and the remote does not list it.
    package var isOwn: Bool
    /// The reason why the remote refused the user's last submission of the video; nil if the remote
    /// lists the video or has not refused it.
    package var refusal: (code: ErrorCode, message: String)?
    /// The channel of the video's chat; nil if unknown.
    package var channel: String?
    /// The time of the newest message in the video's chat, in milliseconds since 1970; 0 for an
    /// empty chat.
    package var newestMessage: Int64

    /// Reads a video from the projections in `views`.
    package init(_ video: Tag, _ views: some ViewReader, _ projections: VideoProjections) throws {
        let state = try views.state(of: projections.submissions, key: video)
        let shown = state?.observations.merged
        isListed = shown != nil
        isOwn = !isListed && state?.own != nil
        if isOwn, let outcome = state?.outcome, outcome.kind == .refused {
            refusal = (ErrorCode(rawValue: outcome.code), outcome.message)
        }
        channel = shown.flatMap { $0.hasChannel ? $0.channel : nil }
        newestMessage =
            try [ChatItems.shown, ChatItems.blocked].compactMap { list in
                try views.items(
                    of: projections.chat, key: video, prefix: RowKey(list), after: nil, limit: 1
                ).first.map { ChatItems.time(of: $0.key) }
            }.max() ?? 0
    }
}

/// The state of a video opening, for connectors that report it to a remote.
package enum KnownOpening: Sendable {
    /// The opening counts as a view, and no other report for its time window has been sent.
    case counts
    /// Another report for the opening's time window has been sent, or may have been sent.
    case told
    /// Another opening in the time window counts as the view, and that opening has not been sent
    /// yet.
    case idle

    /// Reads an opening from the projections in `views`.
    package init(
        _ opening: EventID, of video: Tag, _ views: some ViewReader,
        _ projections: VideoProjections
    ) throws {
        let id = opening.textBytes
        func item(_ name: RowKey) throws -> [UInt8]? {
            try views.item(of: projections.viewCounts, key: video, name: name)
        }
        guard let counting = try item(ViewItems.other(id)) else {
            let others = try views.items(
                of: projections.viewCounts, key: video, prefix: ViewItems.told(id), after: nil,
                limit: 1)
            self = others.isEmpty ? .counts : .told
            return
        }
        let standing = try item(ViewItems.opening(counting)).map {
            try ViewItems.Standing(decoding: $0)
        }
        self = standing == .waiting ? .idle : .told
    }
}

/// The entries that remotes show, for connectors that look for removed entries.
package struct KnownEntries<Reader: ViewReader> {
    private let views: Reader
    private let projections: VideoProjections

    /// Reads from the projections in `views`.
    package init(_ views: Reader, _ projections: VideoProjections) {
        (self.views, self.projections) = (views, projections)
    }

    /// Returns the ids of the comments that remotes show on a video or an answer.
    ///
    /// - Parameter conversation: The remote's id of a conversation; nil for comments in any
    ///   conversation.
    package func comments(on subject: Tag, in conversation: String? = nil) throws -> [String] {
        let items =
            subject.kind == "answer"
            ? try items(of: projections.answers, subject, CommentItems.observed)
            : try items(of: projections.videos, subject, CommentItems.observed)
        return try items.compactMap { item in
            let comment = try ObservedComment(decoding: item.value)
            guard conversation == nil || comment.conversation?.value.utf8Text == conversation else {
                return nil
            }
            return comment.id.utf8Text
        }
    }

    /// Returns the number of comments that remotes show on an answer; 0 if the answer was removed.
    package func commentCount(on answer: Tag) throws -> Int {
        guard let state = try views.state(of: projections.answers, key: answer), !state.isRemoved
        else { return 0 }
        return Int(clamping: state.observed)
    }

    /// Returns the likes that remotes show for an answer.
    package func likes(of answer: Tag) throws -> [(like: String, user: String)] {
        try items(of: projections.answers, answer, AnswerItems.shownLikes).compactMap { item in
            AnswerItems.like(ofName: item.key)
        }
    }

    /// Returns the ids of the answers that remotes show.
    package func answers() throws -> [String] {
        try views.rows(
            of: projections.answers, table: 1, lower: nil, upper: nil, after: nil, limit: .max
        ).map { Array($0.key.dropFirst(8).dropLast()).utf8Text }
    }

    /// Returns the observation that records the removal of an answer; nil if no remote shows the
    /// answer.
    package func removal(of answer: String) throws -> AnswerObserved? {
        let key = try Tag("answer", answer)
        guard let known = try views.state(of: projections.answers, key: key), known.isSighted
        else { return nil }
        var removal = AnswerObserved()
        (removal.answer, removal.question) = (answer, known.observation.question)
        removal.removed = true
        return removal
    }

    /// Returns the question of an answer; nil if no remote shows the question, or if the question
    /// has another answer.
    package func question(of answer: String) throws -> QuestionObserved? {
        let key = try Tag("answer", answer)
        guard let question = try views.state(of: projections.answers, key: key)?.question,
            let state = try views.state(
                of: projections.questions, key: Tag("question", question)),
            state.isListed, state.answer == answer
        else { return nil }
        return state.question
    }

    /// Returns the unanswered questions that remotes show.
    package func openQuestions() throws -> [QuestionObserved] {
        try views.rows(
            of: projections.questions,
            table: QuestionList.Table.listed(isPending: true, byReceiver: false),
            lower: nil, upper: nil, after: nil, limit: .max
        ).map { row in
            try StateReader.read(row.value) { (reader) throws(ModelError) in
                try QuestionList.State(reading: &reader)
            }.question
        }
    }

    /// Returns the entries that remotes show in a list, each with its video.
    package func entries(of list: String) throws -> [(entry: String, video: Tag)] {
        var found: [(String, Tag)] = []
        let lists = projections.lists
        let front = RowKey().text(list)
        for row in try views.rows(
            of: lists, table: 0, lower: front, upper: front.end, after: nil, limit: .max)
        {
            let video = Tag(
                unchecked: "video/"
                    + Array(row.key.dropFirst(front.bytes.count + 8).dropLast()).utf8Text)
            let shown = VideoLists.shown(on: list)
            found += try items(of: lists, video, shown).map {
                (Array($0.key.dropFirst(shown.count + 8).dropLast()).utf8Text, video)
            }
        }
        return found
    }

    /// Returns the names of the lists that the account's user follows.
    package func followedLists() throws -> [String] {
        try views.rows(
            of: projections.knownLists, table: 0, lower: nil, upper: nil, after: nil, limit: .max
        ).compactMap { row in
            let list: ListObserved = try StateReader.read(row.value) {
                (reader) throws(ModelError) in try reader.message()
            }
            return list.followed ? list.list : nil
        }
    }

    private func items(
        of projection: some Projection, _ key: Tag, _ prefix: [UInt8]
    ) throws -> [Row] {
        try views.items(
            of: projection, key: key, prefix: RowKey(prefix), after: nil, limit: .max)
    }
}
