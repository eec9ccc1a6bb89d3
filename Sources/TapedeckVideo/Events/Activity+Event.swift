public import TapedeckModel

extension VideoExtracted: VideoEvent {
    /// The event type `VideoExtracted`.
    public static let eventType: EventType = "VideoExtracted"

    /// `.latest`: the newest URL of a video supersedes earlier ones.
    public static var retention: Retention { .latest }

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video, the URL and the times.
    public func normalized() throws(ModelError) -> VideoExtracted {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        try FieldChecks.webURL(url, "url")
        try FieldChecks.time(extractedAt, "extractedAt")
        try FieldChecks.time(expiresAt, "expiresAt")
        return copy
    }
}

extension CommentPosted: VideoEvent, SubjectEvent {
    /// The event type `CommentPosted`.
    public static let eventType: EventType = "CommentPosted"

    /// The tag of the video or the answer.
    public var tags: [Tag] { get throws { try subjectTags } }

    /// Checks that exactly one subject is set, and that the text is not blank.
    public func normalized() throws(ModelError) -> CommentPosted {
        var copy = self
        try copy.normalizeSubject()
        try FieldChecks.saying(text, "text")
        try FieldChecks.text(author, "author")
        return copy
    }
}

extension WatchLaterToggled: VideoEvent {
    /// The event type `WatchLaterToggled`.
    public static let eventType: EventType = "WatchLaterToggled"

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video, and that `isOn` is set.
    public func normalized() throws(ModelError) -> WatchLaterToggled {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        guard hasIsOn else { throw FieldChecks.invalid("isOn", "is missing") }
        return copy
    }
}

extension PlaybackProgressed: VideoEvent {
    /// The event type `PlaybackProgressed`.
    public static let eventType: EventType = "PlaybackProgressed"

    /// `.max`: the furthest position of a viewing supersedes its other positions.
    public static var retention: Retention { .max }

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video, the viewing and the numbers.
    ///
    /// A position beyond the duration is accepted, because players round both values.
    public func normalized() throws(ModelError) -> PlaybackProgressed {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        try FieldChecks.id(viewing, "viewing")
        try FieldChecks.seconds(positionSeconds, "positionSeconds")
        try FieldChecks.seconds(durationSeconds, "durationSeconds")
        try FieldChecks.seconds(playedSeconds, "playedSeconds")
        return copy
    }
}

extension AnswerUploaded: VideoEvent {
    /// The event type `AnswerUploaded`.
    public static let eventType: EventType = "AnswerUploaded"

    /// The tags of the answer and the question.
    public var tags: [Tag] {
        get throws { [try Tag("answer", answer), try Tag("question", question)] }
    }

    /// Checks the ids, the duration and the URLs.
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
    /// The event type `LikeToggled`.
    public static let eventType: EventType = "LikeToggled"

    /// The tag of the video or the answer.
    public var tags: [Tag] { get throws { try subjectTags } }

    /// Checks that exactly one subject is set, and that `isOn` is set.
    public func normalized() throws(ModelError) -> LikeToggled {
        var copy = self
        try copy.normalizeSubject()
        guard hasIsOn else { throw FieldChecks.invalid("isOn", "is missing") }
        return copy
    }
}

extension VideoWatched: VideoEvent {
    /// The event type `VideoWatched`.
    public static let eventType: EventType = "VideoWatched"

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video, the numbers and the viewing.
    public func normalized() throws(ModelError) -> VideoWatched {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        if hasViewing { try FieldChecks.id(viewing, "viewing") }
        try FieldChecks.seconds(startSeconds, "startSeconds")
        try FieldChecks.seconds(endSeconds, "endSeconds")
        guard !hasEndSeconds || startSeconds <= endSeconds else {
            throw FieldChecks.invalid("endSeconds", "is before startSeconds")
        }
        return copy
    }
}

extension VideoShared: VideoEvent {
    /// The event type `VideoShared`.
    public static let eventType: EventType = "VideoShared"

    /// The destinations to which a video can be shared.
    static let destinationsKnown: Set<String> = ["twitter", "facebook", "tumblr", "email"]

    /// Throws `ModelError` with `.invalidPayload` for an unknown destination.
    static func check(_ destination: String) throws(ModelError) {
        guard destinationsKnown.contains(destination) else {
            throw FieldChecks.invalid(
                "destinations",
                "contains \"\(destination.prefix(40))\"; valid destinations are "
                    + destinationsKnown.sorted().joined(separator: ", "))
        }
    }

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video, the destinations, the text fields and the addresses.
    public func normalized() throws(ModelError) -> VideoShared {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        copy.destinations = Set(destinations).sorted()
        guard !destinations.isEmpty else {
            throw FieldChecks.invalid("destinations", "is missing or empty")
        }
        for destination in destinations { try VideoShared.check(destination) }
        try FieldChecks.text(text, "text")
        try FieldChecks.text(to, "to")
        for address in recipients { try FieldChecks.email(address, "to") }
        guard !destinations.contains("email") || !recipients.isEmpty else {
            throw FieldChecks.invalid("to", "is missing: email needs an address")
        }
        if hasTo { copy.to = recipients.joined(separator: VideoShared.recipientSeparator) }
        return copy
    }
}
