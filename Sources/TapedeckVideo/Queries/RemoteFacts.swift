package import TapedeckModel
package import TapedeckProjections

/// A video whose mark was taken away, of which a remote has not heard: a row of `WatchLater`.
package struct WatchLaterUnset: Hashable, Sendable {
    /// The video.
    package var key: Tag
    /// What took it away: a toggle, or the report that crossed.
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

    /// Whether it was by this event that a viewing took a video off the list, and nothing has since.
    package static func isUnset(
        _ video: Tag, by event: EventID, of watchLater: WatchLater, _ views: some ViewReader
    ) throws -> Bool {
        guard let state = try views.state(of: watchLater, key: video) else { return false }
        return state.isCrossing && state.clearedBy == event
    }

    /// Rows behind one, with the bytes to go on from.
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

/// What a remote tells of a video's broadcasts, for those that speak with it.
package struct KnownBroadcasts: Sendable {
    /// A broadcast.
    package struct Broadcast: Hashable, Sendable {
        package var id: String
        package var isLiked: Bool
        package var isWatched: Bool
    }

    /// The broadcast that stands for all; nil where there is none.
    package var winner: String?
    /// Up to `countMax` of them, the oldest first.
    package var broadcasts: [Broadcast] = []
    /// Up to `countMax` of those told as marked to be seen later: the marks that were given from here as of
    /// time 0, then the others, the oldest first.
    package var told: [ToldMark] = []

    /// More broadcasts of one video are not looked at.
    package static let countMax = 500

    /// Looks a video up in projections that `views` holds.
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
            ToldMark(broadcast: Array($0.key.dropFirst()).utf8Text, time: 0)
        }
        told += try marks(Marks.told).compactMap { row in
            BroadcastItems.place(name: row.key).map {
                ToldMark(broadcast: $0.id.utf8Text, time: $0.time)
            }
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

/// What a remote tells of an answer, for those that speak with it.
package struct KnownAnswer: Sendable {
    /// The greatest number of a comment on it.
    package var newestComment: UInt64
    /// Whether a user is known to like it.
    package var isLiked: Bool

    /// Looks an answer up in projections that `views` holds; nil for one that no remote has shown.
    package init?(
        _ answer: Tag, likedBy user: String, _ views: some ViewReader,
        _ projections: VideoProjections
    ) throws {
        guard let state = try views.state(of: projections.answers, key: answer), state.isSighted
        else { return nil }
        newestComment = state.newestComment
        isLiked =
            try views.item(of: projections.answers, key: answer, name: AnswerItems.liker(user))
            != nil
    }
}

/// What a remote tells of a question, for those that speak with it.
package struct KnownQuestion: Sendable {
    /// The id of who is asked.
    package var receiver: String
    /// Whether there is an answer.
    package var isAnswered: Bool

    /// Looks a question up in projections that `views` holds; nil for one that no remote has shown.
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

/// The picture of a user's profile, for those that speak with a remote.
package struct KnownPicture: Sendable {
    /// Where the picture is that the remote shows.
    package var remote: String?
    /// Where the picture is that is shown here: the remote's, or one that was put in its place.
    package var shown: String?

    /// Looks a user up in projections that `views` holds.
    package init(
        _ user: Tag, _ views: some ViewReader, _ projections: VideoProjections
    ) throws {
        guard let state = try views.state(of: projections.users, key: user) else { return }
        remote = ProfileField.imageUrl.shown(by: state.profile)
        shown = state.shownProfile(user).flatMap(ProfileField.imageUrl.value)
    }
}

/// The greatest numbers that remotes have given, for those that speak with them.
package struct KnownNumbers: Sendable {
    package var question: UInt64
    package var answer: UInt64

    /// Looks them up in projections that `views` holds.
    package init(_ views: some ViewReader, _ projections: VideoProjections) throws {
        func greatest(_ projection: some Projection, table: Int) throws -> UInt64 {
            let row = try views.rows(
                of: projection, table: table, lower: nil, upper: nil, after: nil, limit: 1
            ).first
            // A key begins with the number, descending.
            return row.map { ~$0.key.prefix(8).bigEndianWord } ?? 0
        }
        question = try greatest(projections.questions, table: 0)
        answer = try greatest(projections.answers, table: 1)
    }
}

/// What a remote tells of a video that was handed in, for those that speak with it.
package struct KnownSubmission: Sendable {
    /// Whether the remote lists it.
    package var isListed: Bool
    /// Whether the user has handed it in and the remote does not list it.
    package var isOwn: Bool
    /// Where its chat is held; nil where nobody has said so.
    package var channel: String?
    /// When the newest message in its chat was said, in Unix milliseconds; 0 for an empty one.
    package var newestMessage: Int64

    /// Looks a video up in projections that `views` holds.
    package init(_ video: Tag, _ views: some ViewReader, _ projections: VideoProjections) throws {
        let state = try views.state(of: projections.submissions, key: video)
        let shown = state?.sightings.merged
        isListed = shown != nil
        isOwn = !isListed && state?.own != nil
        channel = shown.flatMap { $0.hasChannel ? $0.channel : nil }
        newestMessage =
            try [ChatItems.shown, ChatItems.blocked].compactMap { list in
                try views.items(
                    of: projections.chat, key: video, prefix: RowKey(list), after: nil, limit: 1
                ).first.map { ChatItems.time(of: $0.key) }
            }.max() ?? 0
    }
}

/// How an opening of a video stands, for those that tell a remote of it.
package enum KnownOpening: Sendable {
    /// It counts, and no other report of its window was told.
    case counts
    /// Another report of its window was told, or may have been.
    case told
    /// Another one counts, which no remote was told of.
    case idle

    /// Looks an opening up in projections that `views` holds.
    package init(
        _ opening: EventID, of video: Tag, _ views: some ViewReader,
        _ projections: VideoProjections
    ) throws {
        let id = Array(opening.description.utf8)
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
