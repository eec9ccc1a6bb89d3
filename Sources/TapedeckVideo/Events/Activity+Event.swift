public import TapedeckModel

extension VideoExtracted: VideoEvent {
    /// `VideoExtracted`.
    public static let eventType: EventType = "VideoExtracted"

    /// The last address of a video stands for all before it.
    public static var retention: Retention { .latest }

    /// The video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video, the address and the times.
    public func normalized() throws(ModelError) -> VideoExtracted {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        try FieldChecks.url(url, "url")
        try FieldChecks.time(extractedAt, "extractedAt")
        try FieldChecks.time(expiresAt, "expiresAt")
        return copy
    }
}

extension CommentPosted: VideoEvent, SubjectEvent {
    /// `CommentPosted`.
    public static let eventType: EventType = "CommentPosted"

    /// The video, or the answer.
    public var tags: [Tag] { get throws { try subjectTags } }

    /// Checks that exactly one thing is commented and that something is said.
    public func normalized() throws(ModelError) -> CommentPosted {
        var copy = self
        try copy.normalizeSubject()
        try FieldChecks.saying(text, "text")
        try FieldChecks.text(author, "author")
        return copy
    }
}

extension WatchLaterToggled: VideoEvent {
    /// `WatchLaterToggled`.
    public static let eventType: EventType = "WatchLaterToggled"

    /// The video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video and that the toggle says which way.
    public func normalized() throws(ModelError) -> WatchLaterToggled {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        guard hasIsOn else { throw FieldChecks.invalid("isOn", "is missing") }
        return copy
    }
}

extension PlaybackProgressed: VideoEvent {
    /// `PlaybackProgressed`.
    public static let eventType: EventType = "PlaybackProgressed"

    /// The furthest place of a viewing stands for all.
    public static var retention: Retention { .max }

    /// The video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video, the viewing and the figures.
    ///
    /// A position beyond the duration is accepted: players round both.
    public func normalized() throws(ModelError) -> PlaybackProgressed {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        try FieldChecks.id(viewing, "viewing")
        try FieldChecks.seconds(positionSeconds, "positionSeconds")
        try FieldChecks.seconds(durationSeconds, "durationSeconds")
        return copy
    }
}

extension AnswerUploaded: VideoEvent {
    /// `AnswerUploaded`.
    public static let eventType: EventType = "AnswerUploaded"

    /// The answer and the question.
    public var tags: [Tag] {
        get throws { [try Tag("answer", answer), try Tag("question", question)] }
    }

    /// Checks the ids, the duration and the addresses.
    public func normalized() throws(ModelError) -> AnswerUploaded {
        try FieldChecks.id(question, "question")
        try FieldChecks.id(answer, "answer")
        try FieldChecks.seconds(durationSeconds, "durationSeconds")
        if hasVideoURL { try FieldChecks.url(videoURL, "videoUrl") }
        if hasThumbnailURL { try FieldChecks.url(thumbnailURL, "thumbnailUrl") }
        return self
    }
}

extension LikeToggled: VideoEvent, SubjectEvent {
    /// `LikeToggled`.
    public static let eventType: EventType = "LikeToggled"

    /// The video, or the answer.
    public var tags: [Tag] { get throws { try subjectTags } }

    /// Checks that exactly one thing is named and that the toggle says which way.
    public func normalized() throws(ModelError) -> LikeToggled {
        var copy = self
        try copy.normalizeSubject()
        guard hasIsOn else { throw FieldChecks.invalid("isOn", "is missing") }
        return copy
    }
}

extension VideoWatched: VideoEvent {
    /// `VideoWatched`.
    public static let eventType: EventType = "VideoWatched"

    /// The video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video and the figures.
    public func normalized() throws(ModelError) -> VideoWatched {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        try FieldChecks.seconds(startSeconds, "startSeconds")
        try FieldChecks.seconds(endSeconds, "endSeconds")
        guard !hasEndSeconds || startSeconds <= endSeconds else {
            throw FieldChecks.invalid("endSeconds", "is before startSeconds")
        }
        return copy
    }
}

extension VideoShared: VideoEvent {
    /// `VideoShared`.
    public static let eventType: EventType = "VideoShared"

    /// Where a video can be shared.
    static let destinationsKnown: Set<String> = ["twitter", "facebook", "tumblr", "email"]

    /// The video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video, the destinations, the texts and the addresses.
    public func normalized() throws(ModelError) -> VideoShared {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        copy.destinations = Set(destinations).sorted()
        guard !destinations.isEmpty else {
            throw FieldChecks.invalid("destinations", "is missing or empty")
        }
        for destination in destinations
        where !VideoShared.destinationsKnown.contains(destination) {
            throw FieldChecks.invalid(
                "destinations",
                "holds \"\(destination.prefix(40))\"; known are "
                    + VideoShared.destinationsKnown.sorted().joined(separator: ", "))
        }
        try FieldChecks.text(text, "text")
        try FieldChecks.text(to, "to")
        for address in recipients where !VideoShared.isAddress(address) {
            throw FieldChecks.invalid("to", "holds \"\(address.prefix(80))\", which is no address")
        }
        guard !destinations.contains("email") || !recipients.isEmpty else {
            throw FieldChecks.invalid("to", "is missing: an e-mail needs an address")
        }
        if hasTo { copy.to = recipients.joined(separator: VideoShared.recipientSeparator) }
        return copy
    }
}
