public import TapedeckModel

extension VideoQueued: VideoEvent {
    /// `VideoQueued`.
    public static let eventType: EventType = "VideoQueued"

    /// The queue and the video.
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
    /// `VideoQueuedNext`.
    public static let eventType: EventType = "VideoQueuedNext"

    /// The queue and the video.
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
    /// `VideoUnqueued`.
    public static let eventType: EventType = "VideoUnqueued"

    /// The queue and the video.
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
    /// `QueueCleared`.
    public static let eventType: EventType = "QueueCleared"

    /// The queue.
    public var tags: [Tag] { get throws { [try PlayQueue.tag(queue)] } }

    /// Checks the queue.
    public func normalized() throws(ModelError) -> QueueCleared {
        var copy = self
        copy.queue = try FieldChecks.queue(queue)
        return copy
    }
}

extension FieldChecks {
    /// Checks a queue's name; an empty name means the account's default queue.
    static func queue(_ value: String) throws(ModelError) -> String {
        if value.isEmpty { return PlayQueue.defaultName }
        try id(value, "queue")
        return value
    }
}
