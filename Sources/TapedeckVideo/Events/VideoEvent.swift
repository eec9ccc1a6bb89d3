public import SwiftProtobuf
public import TapedeckModel

/// An event of the video domain: a protobuf message that can validate itself.
///
/// `payload()` always checks and normalizes the message, so a fold never encounters an empty id, an
/// infinite position or a video identified by its URL.
public protocol VideoEvent: Event, SwiftProtobuf.Message {
    /// Returns the validated message, in which each video is identified by its key.
    ///
    /// Throws `ModelError` with `.invalidPayload`, `.invalidVideo` or `.tooLarge`. The error
    /// message contains the JSON name of the field.
    func normalized() throws(ModelError) -> Self
}

extension VideoEvent {
    /// Reads a payload.
    ///
    /// Throws `ModelError` with `.invalidPayload` if the bytes are not a message of this type.
    public init(payload: [UInt8]) throws {
        do {
            try self.init(serializedBytes: payload)
        } catch {
            throw ModelError(
                .invalidPayload,
                "a payload of \(payload.count) bytes is not a valid \(Self.eventType)")
        }
    }

    /// Checks and serializes the message; equal messages produce the same bytes.
    ///
    /// Throws the same errors as `normalized()`.
    public func payload() throws -> [UInt8] {
        // No message of this schema contains a map, so plain serialization is deterministic.
        try normalized().serializedBytes()
    }
}

/// An event that records an observation of a remote entity.
public protocol Observation: VideoEvent {
    /// The permanent name of the remote entity, such as `tvmaze/show/118`.
    var entity: String { get }
    /// The remote's version of the entity, in units of `versionMilliseconds`; nil if the remote
    /// reported no version.
    var remoteVersion: UInt64? { get }
    /// The number of milliseconds in one unit of `remoteVersion`.
    static var versionMilliseconds: Int64 { get }
}

extension Observation {
    /// The observed fact, with an unknown time of observation; see `fact(observedAt:)`.
    public var fact: ObservedFact? { get throws { try fact(observedAt: nil) } }

    /// Returns the observed fact, with the time of observation.
    ///
    /// If the remote reports no version, the time of the observation is used as the version, in
    /// units of `versionMilliseconds`, so that later observations are newer. If the time of the
    /// observation is also unknown, the version is 0.
    ///
    /// - Parameter observedAt: The time of the response, in milliseconds since 1970; nil if
    ///   unknown.
    public func fact(observedAt: Int64?) throws -> ObservedFact {
        fact(payload: try payload(), observedAt: observedAt)
    }

    /// Returns the observed fact, with an unknown time of observation.
    public func fact(payload: [UInt8]) throws -> ObservedFact? {
        fact(payload: payload, observedAt: nil)
    }

    fileprivate func fact(
        payload: [UInt8], observedAt: Int64?, reportedAt: Int64? = nil
    ) -> ObservedFact {
        let time = (reportedAt ?? observedAt).map { UInt64(max(0, $0) / Self.versionMilliseconds) }
        // Reading a dated report again does not make it newer than other reports of the same time.
        return ObservedFact(
            entity: entity, content: payload, version: remoteVersion ?? time ?? 0,
            observedAt: reportedAt == nil ? observedAt : nil)
    }
}

extension ProposedEvent {
    /// Creates a proposal for an observation.
    ///
    /// - Parameters:
    ///   - observedAt: The time of the response, in milliseconds since 1970; nil if unknown.
    ///   - reportedAt: The time of the report in milliseconds since 1970, if the remote dates its
    ///     reports about an object instead of versioning the object. The fact is ordered by this
    ///     time, and does not contain `observedAt`. If responses contain different reports about
    ///     one object, each report needs such a time; otherwise, the reports would replace each
    ///     other and be recorded again at every sync. Reports of the same time are ordered by
    ///     content.
    public init(
        observation: some Observation, observedAt: Int64?, reportedAt: Int64? = nil
    ) throws {
        try self.init(observation) {
            observation.fact(payload: $0, observedAt: observedAt, reportedAt: reportedAt)
        }
    }

    /// The former name of `init(observation:observedAt:reportedAt:)`.
    @available(*, deprecated, renamed: "init(observation:observedAt:reportedAt:)")
    public init(
        sighting: some Observation, observedAt: Int64?, reportedAt: Int64? = nil
    ) throws {
        try self.init(observation: sighting, observedAt: observedAt, reportedAt: reportedAt)
    }
}

/// An event about either a video or an answer.
protocol SubjectEvent: VideoEvent {
    var hasVideo: Bool { get }
    var video: String { get set }
    var hasAnswer: Bool { get }
    var answer: String { get }
}

extension SubjectEvent {
    var subjectTags: [Tag] {
        get throws { hasVideo ? [try VideoKey(video).tag] : [try Tag("answer", answer)] }
    }

    /// Checks that exactly one subject is set, and replaces a video reference with its key.
    mutating func normalizeSubject() throws(ModelError) {
        guard hasVideo != hasAnswer else {
            throw FieldChecks.invalid("video", "or answer must be given, but not both")
        }
        if hasVideo { video = try FieldChecks.video(video, "video").text }
        if hasAnswer { try FieldChecks.id(answer, "answer") }
    }
}
