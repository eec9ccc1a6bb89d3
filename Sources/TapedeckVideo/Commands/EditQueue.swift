public import TapedeckModel
public import TapedeckProjections

/// Changes a queue, if there is anything to change.
///
/// ```swift
/// try await store.decide { views in
///     try EditQueue(.append(video)).decide(VideoQueries(views))
/// }
/// ```
public struct EditQueue: Sendable {
    /// The queue's name.
    public var queue: String
    /// What to do.
    public var edit: Edit

    /// What can be done with a queue.
    public enum Edit: Hashable, Sendable {
        /// Puts a video behind all others.
        case append(VideoKey)
        /// Puts a video behind another, the one that plays, or to the front; one that is in the queue moves.
        case playNext(VideoKey, after: VideoKey?)
        /// Takes a video out.
        case remove(VideoKey)
        /// Takes all out.
        case clear
    }

    /// Makes a command.
    public init(_ edit: Edit, queue: String = PlayQueue.defaultName) {
        self.edit = edit
        self.queue = queue
    }

    /// Why nothing is recorded.
    public enum Refusal: CommandRefusal {
        /// It is in the queue already.
        case alreadyQueued
        /// It is not in the queue.
        case notQueued
        /// The video behind which it is to be played is not in the queue, or is itself.
        case noSuchPlace
        /// The queue is empty.
        case empty
        /// The queue holds `PlayQueue.videosMax` videos.
        case full

        /// What does not allow it.
        public var message: String {
            switch self {
            case .alreadyQueued: "the video is in the queue already"
            case .notQueued: "the video is not in the queue"
            case .noSuchPlace:
                "the video behind which it is to be played is not in the queue, or is itself"
            case .empty: "the queue is empty"
            case .full: "the queue holds \(PlayQueue.videosMax) videos, and no more fit in"
            }
        }

        /// `.notFound` for what is not in the queue, else `.conditionFailed`.
        public var code: ErrorCode {
            switch self {
            case .notQueued, .noSuchPlace: .notFound
            case .alreadyQueued, .empty, .full: .conditionFailed
            }
        }

        /// What to do.
        public var hint: String? {
            switch self {
            case .alreadyQueued: "play it next, which moves it"
            case .notQueued, .empty: nil
            case .noSuchPlace: "name another one, or none for the front"
            case .full: "take a video out first"
            }
        }
    }

    /// What is to be recorded; throws a `Refusal`, or what reading throws.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try decide(count: queries.queueCount(queue)) { try queries.isQueued($0, queue: queue) }
    }

    /// What is to be recorded, of how many videos a queue holds, and whether one of them is a given one.
    public func decide(
        count: Int, isQueued: (VideoKey) throws -> Bool
    ) throws -> [any Event] {
        switch edit {
        case .append(let video):
            guard try !isQueued(video) else { throw Refusal.alreadyQueued }
            guard count < PlayQueue.videosMax else { throw Refusal.full }
            return [VideoQueued.with { ($0.queue, $0.video) = (queue, video.text) }]
        case .playNext(let video, let after):
            if let after {
                guard try after != video && isQueued(after) else { throw Refusal.noSuchPlace }
            }
            if count >= PlayQueue.videosMax {
                guard try isQueued(video) else { throw Refusal.full }
            }
            var event = VideoQueuedNext()
            (event.queue, event.video) = (queue, video.text)
            if let after { event.after = after.text }
            return [event]
        case .remove(let video):
            guard try isQueued(video) else { throw Refusal.notQueued }
            return [VideoUnqueued.with { ($0.queue, $0.video) = (queue, video.text) }]
        case .clear:
            guard count > 0 else { throw Refusal.empty }
            return [QueueCleared.with { $0.queue = queue }]
        }
    }
}
