public import TapedeckModel

extension VideoQueued: VideoEvent {
    /// The event type `VideoQueued`.
    public static let eventType: EventType = "VideoQueued"

    /// The tags of the queue and the video.
    public var tags: [Tag] {
        get throws { [try PlayQueue.tag(queue), try VideoKey(video).tag] }
    }

    /// Checks the queue and the video.
    public func normalized() throws(ModelError) -> VideoQueued {
        var copy = self
        copy.queue = try FieldChecks.queue(queue)
        copy.video = try FieldChecks.video(video, "video").text
        return copy
    }
}

extension VideoQueuedNext: VideoEvent {
    /// The event type `VideoQueuedNext`.
    public static let eventType: EventType = "VideoQueuedNext"

    /// The tags of the queue and the video.
    public var tags: [Tag] {
        get throws { [try PlayQueue.tag(queue), try VideoKey(video).tag] }
    }

    /// Checks the queue and the videos.
    public func normalized() throws(ModelError) -> VideoQueuedNext {
        var copy = self
        copy.queue = try FieldChecks.queue(queue)
        copy.video = try FieldChecks.video(video, "video").text
        if hasAfter {
            copy.after = try FieldChecks.video(after, "after").text
            guard copy.after != copy.video else {
                throw FieldChecks.invalid("after", "is the video itself")
            }
        }
        return copy
    }
}

extension VideoUnqueued: VideoEvent {
    /// The event type `VideoUnqueued`.
    public static let eventType: EventType = "VideoUnqueued"

    /// The tags of the queue and the video.
    public var tags: [Tag] {
        get throws { [try PlayQueue.tag(queue), try VideoKey(video).tag] }
    }

    /// Checks the queue and the video.
    public func normalized() throws(ModelError) -> VideoUnqueued {
        var copy = self
        copy.queue = try FieldChecks.queue(queue)
        copy.video = try FieldChecks.video(video, "video").text
        return copy
    }
}

extension QueueCleared: VideoEvent {
    /// The event type `QueueCleared`.
    public static let eventType: EventType = "QueueCleared"

    /// The tag of the queue.
    public var tags: [Tag] { get throws { [try PlayQueue.tag(queue)] } }

    /// Checks the queue.
    public func normalized() throws(ModelError) -> QueueCleared {
        var copy = self
        copy.queue = try FieldChecks.queue(queue)
        return copy
    }
}

extension FieldChecks {
    /// Checks a queue's name and returns it; an empty name becomes the account's default queue.
    static func queue(_ value: String) throws(ModelError) -> String {
        if value.isEmpty { return PlayQueue.defaultName }
        try id(value, "queue")
        return value
    }
}
