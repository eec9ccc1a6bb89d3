internal import Foundation
internal import SwiftProtobuf
public import TapedeckModel

/// The catalogue of all event types in this domain, which converts payloads to and from JSON.
///
/// ```swift
/// let event = try EventCatalogue.video.proposal(
///     type: "WatchLaterToggled", json: #"{"video":"https://youtu.be/dQw4w9WgXcQ","isOn":true}"#)
/// ```
public struct EventCatalogue: Sendable {
    private let types: [(type: EventType, message: any VideoEvent.Type)]

    /// The catalogue of all event types that this program knows.
    public static let video = EventCatalogue(types: [
        AccountObserved.self, AnswerMergeFailed.self, AnswerMergeStarted.self, AnswerObserved.self,
        AnswerRecorded.self, AnswerSegmentRecorded.self, AnswerSegmentRemoved.self,
        AnswerUploaded.self, BroadcastReceived.self, CastObserved.self, ChatMessageObserved.self,
        ChatMessagePosted.self, CommentObserved.self, CommentPosted.self, ContactNoted.self,
        ContactObserved.self, DownloadCompleted.self, DownloadRemoved.self, EpisodeScheduled.self,
        ExtractionFailed.self, FollowObserved.self, FollowToggled.self, FrameObserved.self,
        LikeObserved.self, LikeToggled.self, ListObserved.self, NowPlayingChanged.self,
        PlayabilityChecked.self,
        PlaybackProgressed.self, ProfileEdited.self, QuestionAsked.self, QuestionObserved.self,
        QueueCleared.self, ScheduleListed.self, ShowObserved.self, SignedIn.self, SignedOut.self,
        SubmissionObserved.self,
        UserObserved.self, VideoDescribed.self, VideoExtracted.self, VideoListed.self,
        VideoOpened.self,
        VideoQueued.self, VideoQueuedNext.self, VideoShared.self, VideoSubmitted.self,
        VideoUnqueued.self,
        VideoWatched.self, VisitStarted.self, WatchLaterToggled.self,
    ])

    private init(types: [any VideoEvent.Type]) {
        self.types = types.map { ($0.eventType, $0) }
    }

    /// The names of the types, sorted.
    public var typeNames: [String] { types.map(\.type.name) }

    /// Returns the newest schema version of a type's payloads; nil if this program does not know
    /// the type.
    public func schemaVersion(of type: EventType) -> UInt16? {
        types.first { $0.type == type }?.message.schemaVersion
    }

    /// Returns the types that have the given retention.
    func types(of retention: Retention) -> Set<EventType> {
        Set(types.lazy.filter { $0.message.retention == retention }.map(\.type))
    }

    /// Returns whether this program would record an event with this payload.
    package func reads(_ event: EventEnvelope) -> Bool {
        func reads<E: VideoEvent>(as _: E.Type) -> Bool {
            (try? event.decode(E.self).normalized()) != nil
        }
        guard let message = types.first(where: { $0.type == event.type })?.message else {
            return false
        }
        return reads(as: message)
    }

    /// Creates a proposal from the name of a type and a payload as a JSON string.
    ///
    /// Throws the same errors as the variant that takes bytes.
    public func proposal(
        type: String, json: String, atMilliseconds: UInt64? = nil
    ) throws(ModelError) -> ProposedEvent {
        try proposal(type: type, json: Array(json.utf8), atMilliseconds: atMilliseconds)
    }

    /// Creates a proposal from the name of a type and a payload in protobuf's JSON mapping.
    ///
    /// 64-bit numbers may be JSON numbers or strings, and videos may be URLs. Unknown fields are
    /// refused, because they would be lost and are usually mistakes.
    ///
    /// - Parameter atMilliseconds: The time of the event, in milliseconds since 1970; nil for the
    ///   store's current time.
    ///
    /// Throws `ModelError`: `.unknownType`; `.malformedJSON`, with line and column; or
    /// `.invalidPayload`, `.invalidVideo` or `.tooLarge`, with the field at the start of the
    /// message.
    public func proposal(
        type: String, json: [UInt8], atMilliseconds: UInt64? = nil
    ) throws(ModelError) -> ProposedEvent {
        guard let message = types.first(where: { $0.type.name == type })?.message else {
            throw unknown(type)
        }
        if let atMilliseconds, atMilliseconds >= UInt64(Timestamps.recorded.upperBound) {
            throw ModelError(.invalidTime, "the year must be between 1970 and 9999")
        }
        return try proposal(of: message, json: json, atMilliseconds: atMilliseconds)
    }

    /// Returns a payload in protobuf's JSON mapping; nil if this program does not know the type.
    ///
    /// Throws `ModelError`: `.invalidPayload` if the bytes are not a payload of that type,
    /// `.newerFormat` if this program does not know the version.
    public func json(
        type: EventType, version: UInt16 = 1, payload: [UInt8]
    ) throws(ModelError) -> String? {
        guard let message = types.first(where: { $0.type == type })?.message else { return nil }
        func json<E: VideoEvent>(of _: E.Type) throws -> String {
            try E(payload: payload, version: version).jsonString()
        }
        do {
            return try json(of: message)
        } catch let error as ModelError {
            throw error
        } catch {
            throw ModelError(
                .invalidPayload, "the payload of type \(type) cannot be written as JSON")
        }
    }

    private func proposal<E: VideoEvent>(
        of _: E.Type, json: [UInt8], atMilliseconds: UInt64?
    ) throws(ModelError) -> ProposedEvent {
        let (value, members) = try JSONParser.parseWithMembers(
            json, bytesMax: FieldLimits.jsonBytesMax)
        guard case .object(let fields) = value else {
            throw ModelError(.invalidPayload, "the payload is \(value.kind), not an object")
        }
        let message: E
        do {
            message = try E(jsonUTF8Bytes: json.withoutByteOrderMark)
        } catch {
            throw EventCatalogue.culprit(E.self, json, members, fields)
        }
        do {
            return try ProposedEvent(message.normalized(), atMilliseconds: atMilliseconds)
        } catch let error as ModelError {
            throw error
        } catch {
            throw ModelError(
                .invalidPayload, "the payload of type \(E.eventType) cannot be written")
        }
    }

    /// Returns an error that names the unknown or invalid member.
    ///
    /// Protobuf's parser does not report which member is invalid. To find the member, the names are
    /// checked first, and then each member is parsed separately.
    private static func culprit<E: VideoEvent>(
        _: E.Type, _ json: [UInt8], _ members: [JSONParser.Member], _ fields: [String: JSONValue]
    ) -> ModelError {
        let refusal = FieldNames.of(E.self).refusal(
            of: fields, order: members.map(\.name), E.eventType)
        if let refusal { return refusal }
        for member in members {
            let alone = [UInt8(ascii: "{")] + json[member.range] + [UInt8(ascii: "}")]
            if (try? E(jsonUTF8Bytes: alone)) == nil {
                let value = fields[member.name].map(shown) ?? "a value"
                let expected = expected(E.self, member.name) ?? "valid for \(E.eventType)"
                return FieldChecks.invalid(
                    String(member.name.prefix(80)), "is \(value), not \(expected)")
            }
        }
        return ModelError(.invalidPayload, "the payload contains a field twice")
    }

    /// Returns a value as an error shows it: the beginning of a string, a number, or the kind of
    /// the value.
    private static func shown(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): "\"\(text.prefix(40))\""
        case .number(let digits): String(digits.prefix(40))
        default: value.kind
        }
    }

    /// Returns what a field accepts, found by parsing one value of each kind; nil if none is
    /// accepted.
    private static func expected<E: VideoEvent>(_: E.Type, _ field: String) -> String? {
        let time = "\"2019-07-11T20:00:00Z\""
        let kinds = [
            ("\"x\"", "a string"), (time, "a time such as \(time)"), ("true", "true or false"),
            ("0.5", "a number"), ("\"1\"", "a whole number in the range of the field"),
            ("0", "one of the names that the field accepts"), ("[]", "a list"), ("{}", "an object"),
        ]
        return kinds.first { value, _ in
            (try? E(jsonUTF8Bytes: Array("{\"\(field)\":\(value)}".utf8))) != nil
        }?.1
    }

    private func unknown(_ type: String) -> ModelError {
        let near = Spelling.near(
            type, among: typeNames, distanceMax: max(3, type.utf8.count / 2)
        ).prefix(3)
        return ModelError(
            .unknownType, "\"\(type.prefix(80))\" is not an event type of this program",
            hint: near.isEmpty
                ? "the event types are \(typeNames.joined(separator: ", "))"
                : "did you mean \(near.joined(separator: " or "))?")
    }
}

extension [UInt8] {
    fileprivate var withoutByteOrderMark: [UInt8] {
        starts(with: [0xEF, 0xBB, 0xBF]) ? Array(self[3...]) : self
    }
}
