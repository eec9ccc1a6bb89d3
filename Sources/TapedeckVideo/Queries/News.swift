public import TapedeckLog
public import TapedeckModel
internal import TapedeckProjections

/// What has come in since a place in the log: the notice "2 new videos & 1 new comment".
public struct News: Codable, Hashable, Sendable {
    /// Videos of which nothing was known before.
    public var newVideos: Int
    /// Further shares of a video, and comments.
    public var newComments: Int
    /// The notice; nil where nothing is new.
    @NullWhenNil public var text: String?
    /// How far the log was read: the place to ask from next time.
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

/// What counts as new.
public enum NewsRule: Sendable {
    /// The first share of a video is a new video; every other share, and what others say of a video, is
    /// a new comment.
    case everyShare
    /// As the app of 2012 counted: of an unknown video all shares are one new video and nothing else,
    /// and comments are shares alone.
    case of2012
}

/// A broadcast that was shared before others, by its time and its id.
private typealias Share = (place: BroadcastPlace, video: VideoKey)

extension VideoQueries {
    /// What is new behind a place in the log.
    ///
    /// A broadcast is new if no sighting of it stands at the place or before; a video is if no broadcast
    /// of it does. Costs what stands behind the place, and a look-up for each broadcast and video there.
    ///
    /// - Parameters:
    ///   - mark: the head when the user looked last.
    ///   - log: the log that the reader's projections are of.
    ///   - newest: only the so many broadcasts of all that were shared last are looked at, as by an app
    ///     that shows no more; nil for all.
    ///   - isShown: whether a video is on the list at all; those that are not are no news.
    ///
    /// Throws what the log throws, and `ModelError` with `.usage` for a `newest` below 1 or above
    /// `QueryLimits.newsCountMax`.
    public func news(
        since mark: LogPosition, in log: EventLog, rule: NewsRule = .everyShare,
        newest: Int? = nil, isShown: (VideoKey) throws -> Bool = { _ in true }
    ) throws -> News {
        if let newest, !(1...QueryLimits.newsCountMax).contains(newest) {
            throw ModelError(
                .usage, "\(newest) is not between 1 and \(QueryLimits.newsCountMax) broadcasts")
        }
        let head = try log.currentHead()
        var shares = try newShares(since: mark, through: head, in: log)
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
            for video in try newComments(since: mark, through: head, in: log)
            where try isListed(video) { comments += 1 }
        }
        return News(newVideos: videos.count, newComments: comments, head: head)
    }

    /// The broadcasts that were first seen behind a place, in the order of the log.
    private func newShares(
        since mark: LogPosition, through head: LogPosition, in log: EventLog
    ) throws -> [Share] {
        var places: [String: Int] = [:]
        var shares: [Share] = []
        try forEach(BroadcastReceived.self, since: mark, through: head, in: log) { event, payload in
            let time = payload.hasCreatedAt ? payload.createdAt.milliseconds : nil
            if let index = places[payload.broadcast] {
                if let time { shares[index].place.time = time }
                return
            }
            guard let fact = event.fact, try !log.isSeen(fact.entity, through: mark) else { return }
            places[payload.broadcast] = shares.count
            shares.append(
                (
                    BroadcastPlace(time: time ?? 0, id: Array(payload.broadcast.utf8)),
                    try VideoKey(payload.video)
                ))
        }
        return shares
    }

    /// The videos of which others said something behind a place, once for each comment.
    private func newComments(
        since mark: LogPosition, through head: LogPosition, in log: EventLog
    ) throws -> [VideoKey] {
        var seen: Set<String> = []
        var videos: [VideoKey] = []
        try forEach(CommentObserved.self, since: mark, through: head, in: log) { event, payload in
            // What the user wrote here is no news to the user.
            guard payload.hasVideo, !payload.hasPostedAs, seen.insert(payload.comment).inserted,
                let fact = event.fact, try !log.isSeen(fact.entity, through: mark)
            else { return }
            videos.append(try VideoKey(payload.video))
        }
        return videos
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

    /// Those of the shares that are among the broadcasts of all videos that were shared last.
    ///
    /// Costs what was shared later than the oldest share that may be among them.
    private func cut(_ shares: [Share], to count: Int) throws -> [Share] {
        let sorted = shares.sorted { $1.place < $0.place }
        guard let least = sorted.prefix(count).last else { return [] }
        let above = try broadcasts(from: least.place, ofFirst: count)
        let limit = above.count < count ? least.place : above[above.count - count]
        return sorted.prefix(count).filter { limit <= $0.place }
    }
}
