public import TapedeckModel

extension QuestionAsked: VideoEvent {
    /// The event type `QuestionAsked`.
    public static let eventType: EventType = "QuestionAsked"

    /// The tag of the user who is asked.
    public var tags: [Tag] { get throws { [try Tag("user", receiver)] } }

    /// Checks the user, and that the question is not blank.
    public func normalized() throws(ModelError) -> QuestionAsked {
        try FieldChecks.id(receiver, "receiver")
        try FieldChecks.saying(text, "text")
        return self
    }
}

extension AnswerRecorded: VideoEvent {
    /// The event type `AnswerRecorded`.
    public static let eventType: EventType = "AnswerRecorded"

    /// The limit on the duration of an answer, in seconds; every answer must be shorter than the
    /// limit.
    public static let secondsMax = 120.0

    /// The tag of the question.
    public var tags: [Tag] { get throws { [try Tag("question", question)] } }

    /// Checks the ids, the digests, the duration and the file extensions.
    public func normalized() throws(ModelError) -> AnswerRecorded {
        try FieldChecks.id(question, "question")
        try FieldChecks.digest(blob, "blob")
        try FieldChecks.digest(thumbnail, "thumbnail")
        try FieldChecks.answerSeconds(durationSeconds, "durationSeconds")
        if hasRecording { try FieldChecks.id(recording, "recording") }
        var copy = self
        copy.videoExtension = try FieldChecks.fileExtension(videoExtension, "videoExtension")
        copy.thumbnailExtension = try FieldChecks.fileExtension(
            thumbnailExtension, "thumbnailExtension")
        return copy
    }
}

extension UserObserved: Observation {
    /// The event type `UserObserved`.
    public static let eventType: EventType = "UserObserved"

    /// The tag of the user.
    public var tags: [Tag] { get throws { [try Tag("user", user)] } }

    /// The entity name, `whale/user/<id>`, or `whale/user/<id>/counts` for an observation of the
    /// counts.
    ///
    /// Most responses show a user without the counts. Observations with and without the counts
    /// therefore have different entities. With the same entity, the two kinds would alternate, and
    /// every observation would be recorded as a change.
    public var entity: String { "whale/user/\(user)" + (isOfCounts ? "/counts" : "") }

    private var isOfCounts: Bool {
        hasFollowerCount || hasFollowingCount || hasIsOwn || !cleared.isEmpty
    }

    /// Always nil, because the remote does not version its users.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the id, the text fields and the URL.
    public func normalized() throws(ModelError) -> UserObserved {
        try FieldChecks.id(user, "user")
        for (value, field) in [
            (username, "username"), (firstName, "firstName"), (lastName, "lastName"),
            (email, "email"),
        ] { try FieldChecks.text(value, field) }
        if hasImageURL { try FieldChecks.url(imageURL, "imageUrl") }
        try FieldChecks.cleared(cleared)
        return self
    }
}

extension QuestionObserved: Observation {
    /// The event type `QuestionObserved`.
    public static let eventType: EventType = "QuestionObserved"

    /// The tags of the question and the user who is asked.
    public var tags: [Tag] {
        get throws { [try Tag("question", question), try Tag("user", receiver)] }
    }

    /// The entity name, `whale/question/<id>`.
    public var entity: String { "whale/question/\(question)" }

    /// Always nil, because questions do not change.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the ids and the text.
    public func normalized() throws(ModelError) -> QuestionObserved {
        try FieldChecks.id(question, "question")
        try FieldChecks.text(text, "text")
        try FieldChecks.id(sender, "sender")
        try FieldChecks.id(receiver, "receiver")
        if hasPostedAs { try FieldChecks.eventID(postedAs, "postedAs") }
        return self
    }
}

extension AnswerObserved: Observation {
    /// The event type `AnswerObserved`.
    public static let eventType: EventType = "AnswerObserved"

    /// The tags of the answer and the question.
    public var tags: [Tag] {
        get throws { [try Tag("answer", answer), try Tag("question", question)] }
    }

    /// The entity name, `whale/answer/<id>`.
    public var entity: String { "whale/answer/\(answer)" }

    /// Always nil, because the remote does not version its answers.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the ids and the URLs.
    public func normalized() throws(ModelError) -> AnswerObserved {
        try FieldChecks.id(answer, "answer")
        try FieldChecks.id(question, "question")
        if hasVideoURL { try FieldChecks.url(videoURL, "videoUrl") }
        if hasThumbnailURL { try FieldChecks.url(thumbnailURL, "thumbnailUrl") }
        if hasPostedAs { try FieldChecks.eventID(postedAs, "postedAs") }
        try FieldChecks.cleared(cleared)
        return self
    }
}

extension LikeObserved: Observation {
    /// The event type `LikeObserved`.
    public static let eventType: EventType = "LikeObserved"

    /// The tag of the answer.
    public var tags: [Tag] { get throws { [try Tag("answer", answer)] } }

    /// The entity name, `whale/like/<id>`.
    public var entity: String { "whale/like/\(like)" }

    /// Always nil, because likes do not change.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the ids.
    public func normalized() throws(ModelError) -> LikeObserved {
        try FieldChecks.id(like, "like")
        try FieldChecks.id(answer, "answer")
        try FieldChecks.id(user, "user")
        return self
    }
}

extension FieldChecks {
    /// Checks that text is not blank.
    static func saying(_ value: String, _ field: String) throws(ModelError) {
        guard value.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else {
            throw invalid(field, "is missing or blank")
        }
        try text(value, field)
    }

    /// Checks the id of an event.
    static func eventID(_ value: String, _ field: String) throws(ModelError) {
        guard EventID(value) != nil else { throw invalid(field, "is not the id of an event") }
    }

    /// Checks a SHA-256 in hexadecimal digits.
    static func digest(_ value: String, _ field: String) throws(ModelError) {
        let isDigest =
            value.utf8.count == 64
            && value.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard isDigest else {
            throw invalid(field, "is not a SHA-256 of 64 lowercase hexadecimal digits")
        }
    }

    /// Checks a file extension without the dot, and returns it in lower case.
    static func fileExtension(_ value: String, _ field: String) throws(ModelError) -> String {
        let lower = value.lowercased()
        let isExtension =
            (1...FieldLimits.fileExtensionBytesMax).contains(lower.utf8.count)
            && lower.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
        guard isExtension else {
            throw invalid(field, "is not a file extension, such as mov")
        }
        return lower
    }
}
