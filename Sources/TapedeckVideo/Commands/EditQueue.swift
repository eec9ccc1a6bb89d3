public import TapedeckModel
public import TapedeckProjections

/// Edits a play queue.
///
/// ```swift
/// try await store.decide { views in
///     try EditQueue(.append(video)).decide(VideoQueries(views))
/// }
/// ```
public struct EditQueue: Sendable {
    /// The name of the queue.
    public var queue: String
    /// The change to make.
    public var edit: Edit

    /// A change to a queue.
    public enum Edit: Hashable, Sendable {
        /// Adds a video to the end.
        case append(VideoKey)
        /// Inserts a video at the front, or after another video, such as the video that is playing.
        ///
        /// If the video is already in the queue, it is moved.
        case playNext(VideoKey, after: VideoKey?)
        /// Removes a video.
        case remove(VideoKey)
        /// Removes all videos.
        case clear
    }

    /// Creates a command.
    public init(_ edit: Edit, queue: String = PlayQueue.defaultName) {
        self.edit = edit
        self.queue = queue
    }

    /// A reason why the command is refused.
    public enum Refusal: CommandRefusal {
        /// The video is already in the queue.
        case alreadyQueued
        /// The video is not in the queue.
        case notQueued
        /// The video to insert after is not in the queue, or is the inserted video itself.
        case noSuchPlace
        /// The queue is empty.
        case empty
        /// The queue already contains `PlayQueue.videosMax` videos.
        case full

        /// The error message.
        public var message: String {
            switch self {
            case .alreadyQueued: "the video is already in the queue"
            case .notQueued: "the video is not in the queue"
            case .noSuchPlace:
                "the video to insert after is not in the queue, or is the inserted video itself"
            case .empty: "the queue is empty"
            case .full: "the queue is full: it holds \(PlayQueue.videosMax) videos"
            }
        }

        /// `.notFound` if a video is not in the queue, otherwise `.conditionFailed`.
        public var code: ErrorCode {
            switch self {
            case .notQueued, .noSuchPlace: .notFound
            case .alreadyQueued, .empty, .full: .conditionFailed
            }
        }

        /// A hint for the user.
        public var hint: String? {
            switch self {
            case .alreadyQueued: "run storectl do queue next to move the video"
            case .notQueued, .empty: nil
            case .noSuchPlace:
                "name a video that is in the queue, or no video to insert at the front"
            case .full: "remove a video first"
            }
        }
    }

    /// Returns the event to record.
    ///
    /// Throws a `Refusal`, or errors from reading the store.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try decide(count: queries.queueCount(queue)) { try queries.isQueued($0, queue: queue) }
    }

    /// Returns the event to record for a queue with `count` videos.
    ///
    /// - Parameter isQueued: Returns whether a video is in the queue.
    ///
    /// Throws a `Refusal`, or the errors from `isQueued`.
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
