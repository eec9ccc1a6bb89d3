public import TapedeckLog
public import TapedeckModel
internal import TapedeckProjections

/// The number of new videos and comments since a log position, as in the notice "2 new videos & 1
/// new comment".
public struct News: Codable, Hashable, Sendable {
    /// The number of videos that were unknown before.
    public var newVideos: Int
    /// The number of new comments, including repeated shares of a video.
    public var newComments: Int
    /// The notice; nil if nothing is new.
    @NullWhenNil public var text: String?
    /// The last log position that was read; pass it as `since` next time.
    public var head: UInt64

    init(newVideos: Int, newComments: Int, head: LogPosition) {
        self.newVideos = newVideos
        self.newComments = newComments
        self.head = head.rawValue
        let parts = [(newVideos, "video"), (newComments, "comment")].filter { $0.0 > 0 }
            .map { count, name in "\(count) new \(name)\(count > 1 ? "s" : "")" }
        _text = NullWhenNil(wrappedValue: parts.isEmpty ? nil : parts.joined(separator: " & "))
    }
}

/// The rule for counting new videos and comments.
public enum NewsRule: Sendable {
    /// The first share of a video counts as a new video; every further share, and every comment by
    /// another user, counts as a new comment.
    case everyShare
    /// The rule of the 2012 app: all shares of an unknown video count as one new video, each share
    /// of a known video counts as a new comment, and comments are ignored.
    case of2012
}

/// The time and id of a broadcast, its video, and the id of the comment that contains its text.
private typealias Share = (place: BroadcastPlace, video: VideoKey, message: String?)
/// A comment's id, and the key of its video.
private typealias Comment = (id: String, video: VideoKey)

/// The newest observation of a subject after a position in the log.
private struct NewestObservation<Subject> {
    var subject: Subject
    private var order: FoldOrder
    private(set) var isRemoved: Bool

    init(_ subject: Subject, _ fact: ObservedFact, isRemoved: Bool) {
        (self.subject, order, self.isRemoved) = (subject, fact.order, isRemoved)
    }

    mutating func add(_ fact: ObservedFact?, isRemoved: Bool) {
        guard let fact, order < fact.order else { return }
        (order, self.isRemoved) = (fact.order, isRemoved)
    }
}

extension VideoQueries {
    /// Counts the new videos and comments after a log position.
    ///
    /// A broadcast is new if it was first observed after the position, and a video is new if all of
    /// its broadcasts are new. Reads the events after the position, with one lookup for each of
    /// their broadcasts and videos. Throws the log's errors, and `ModelError` with `.usage` if
    /// `newest` is below 1 or above `QueryLimits.newsCountMax`.
    ///
    /// - Parameters:
    ///   - mark: The log's head at the user's last check.
    ///   - log: The log from which the reader's projections are built.
    ///   - newest: The number of most recently shared broadcasts to consider, for apps that show
    ///     only this number of broadcasts; nil for all broadcasts.
    ///   - isShown: Returns whether a video is shown in the list; other videos are ignored.
    public func news(
        since mark: LogPosition, in log: EventLog, rule: NewsRule = .everyShare,
        newest: Int? = nil, isShown: (VideoKey) throws -> Bool = { _ in true }
    ) throws -> News {
        if let newest, !(1...QueryLimits.newsCountMax).contains(newest) {
            throw ModelError(
                .usage,
                "the limit must be 1 to \(QueryLimits.newsCountMax) broadcasts, not \(newest)")
        }
        let head = try log.currentHead()
        let all = try newShares(since: mark, through: head, in: log)
        var shares = all.filter { !$0.isRemoved }.map(\.subject)
        if let newest { shares = try cut(shares, to: newest) }
        var videos: Set<VideoKey> = []
        var known: [VideoKey: Bool] = [:]
        var shown: [VideoKey: Bool] = [:]
        func isListed(_ video: VideoKey) throws -> Bool {
            if let told = shown[video] { return told }
            let told = try isShown(video)
            shown[video] = told
            return told
        }
        var comments = 0
        for share in shares where try isListed(share.video) {
            let isKnown =
                try known[share.video] ?? isShared(share.video, through: mark, in: log)
            known[share.video] = isKnown
            if isKnown {
                comments += 1
            } else if !videos.insert(share.video).inserted, rule == .everyShare {
                comments += 1
            }
        }
        if rule == .everyShare {
            // The sharer's text is part of the share.
            let messages = Set(all.compactMap(\.subject.message))
            for comment in try newComments(since: mark, through: head, in: log)
            where try !messages.contains(comment.id) && isListed(comment.video) { comments += 1 }
        }
        return News(newVideos: videos.count, newComments: comments, head: head)
    }

    /// Returns the broadcasts that were first observed after a position, in log order.
    private func newShares(
        since mark: LogPosition, through head: LogPosition, in log: EventLog
    ) throws -> [NewestObservation<Share>] {
        var places: [String: Int] = [:]
        var shares: [NewestObservation<Share>] = []
        try forEach(BroadcastReceived.self, since: mark, through: head, in: log) { event, payload in
            let time = payload.hasCreatedAt ? payload.createdAt.milliseconds : nil
            if let index = places[payload.broadcast] {
                if let time { shares[index].subject.place.time = time }
                if payload.hasMessage { shares[index].subject.message = payload.message }
                shares[index].add(event.fact, isRemoved: payload.removed)
                return
            }
            guard let fact = event.fact, try !log.isSeen(fact.entity, through: mark) else { return }
            places[payload.broadcast] = shares.count
            let place = BroadcastPlace(time: time ?? 0, id: Array(payload.broadcast.utf8))
            shares.append(
                NewestObservation(
                    (
                        place, try VideoKey(payload.video),
                        payload.hasMessage ? payload.message : nil
                    ), fact, isRemoved: payload.removed))
        }
        return shares
    }

    /// Returns other users' comments on videos that were first observed after a position and that
    /// the remote still shows.
    private func newComments(
        since mark: LogPosition, through head: LogPosition, in log: EventLog
    ) throws -> [Comment] {
        var places: [String: Int] = [:]
        var comments: [NewestObservation<Comment>] = []
        try forEach(CommentObserved.self, since: mark, through: head, in: log) { event, payload in
            // The user's own comments are not new to the user.
            guard payload.hasVideo, !payload.hasPostedAs else { return }
            if let index = places[payload.comment] {
                comments[index].add(event.fact, isRemoved: payload.removed)
                return
            }
            guard let fact = event.fact, try !log.isSeen(fact.entity, through: mark) else { return }
            places[payload.comment] = comments.count
            comments.append(
                NewestObservation(
                    (payload.comment, try VideoKey(payload.video)), fact,
                    isRemoved: payload.removed))
        }
        return comments.filter { !$0.isRemoved }.map(\.subject)
    }

    private func forEach<Payload: VideoEvent>(
        _ type: Payload.Type, since mark: LogPosition, through head: LogPosition,
        in log: EventLog, _ body: (EventEnvelope, Payload) throws -> Void
    ) throws {
        var after = mark
        while after < head {
            let events = try log.events(after: after, type: Payload.eventType)
            for event in events {
                guard event.position <= head else { return }
                guard try !log.standing(of: event).isRefused, event.encoding == .plain else {
                    continue
                }
                try body(event, event.decode(Payload.self))
            }
            guard let last = events.last else { return }
            after = last.position
        }
    }

    private func isShared(
        _ video: VideoKey, through mark: LogPosition, in log: EventLog
    ) throws -> Bool {
        let first = try log.events(
            after: .start, limit: 1, type: BroadcastReceived.eventType, tag: video.tag
        ).first
        return first.map { $0.position <= mark } ?? false
    }

    /// Keeps the shares that are among the most recently shared broadcasts of all videos.
    ///
    /// Reads all broadcasts that are at or after the oldest share that may be kept.
    private func cut(_ shares: [Share], to count: Int) throws -> [Share] {
        let sorted = shares.sorted { $1.place < $0.place }
        guard let least = sorted.prefix(count).last else { return [] }
        let above = try broadcasts(from: least.place, ofFirst: count)
        let limit = above.count < count ? least.place : above[above.count - count]
        return sorted.prefix(count).filter { limit <= $0.place }
    }
}
