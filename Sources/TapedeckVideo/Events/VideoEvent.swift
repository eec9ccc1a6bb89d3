public import SwiftProtobuf
public import TapedeckModel

/// An event of this domain: a protobuf message that can check itself.
///
/// What leaves `payload()` is always checked and normalised, whoever made the message, so a fold
/// meets no empty id, no infinite position and no video by its URL.
public protocol VideoEvent: Event, SwiftProtobuf.Message {
    /// The message with video references as keys.
    ///
    /// Throws `ModelError` with `.invalidPayload`, `.invalidVideo` or `.tooLarge`; its message
    /// names the field by its JSON name.
    func normalized() throws(ModelError) -> Self
}

extension VideoEvent {
    /// Reads a payload.
    ///
    /// Throws `ModelError` with `.invalidPayload` where the bytes are not this message.
    public init(payload: [UInt8]) throws {
        do {
            try self.init(serializedBytes: payload)
        } catch {
            throw ModelError(
                .invalidPayload,
                "\(payload.count) bytes are not the payload of a \(Self.eventType)")
        }
    }

    /// Checks the message and writes it, the same bytes for equal messages.
    ///
    /// Throws what `normalized()` throws.
    public func payload() throws -> [UInt8] {
        // No message of this schema has a map, so the plain serialisation is deterministic.
        try normalized().serializedBytes()
    }
}

/// An event that is a sighting of a remote fact.
public protocol Observation: VideoEvent {
    /// The remote entity for ever, such as `tvmaze/show/118`.
    var entity: String { get }
    /// The remote's own version of the entity, in the entity's own unit; nil if it gave none.
    var remoteVersion: UInt64? { get }
    /// How many milliseconds a unit of `remoteVersion` has.
    static var versionMilliseconds: Int64 { get }
}

extension Observation {
    /// The sighting at an unknown time; see `fact(observedAt:)`.
    public var fact: ObservedFact? { get throws { try fact(observedAt: nil) } }

    /// The sighting at a time.
    ///
    /// Where the remote gives no version, the time of the sighting stands for it, in the unit of
    /// the entity's versions: what was seen later is newer. Without either, the version is 0.
    ///
    /// - Parameter observedAt: Unix milliseconds of the response, or nil if unknown.
    public func fact(observedAt: Int64?) throws -> ObservedFact {
        let sighted = observedAt.map { UInt64(max(0, $0) / Self.versionMilliseconds) }
        return ObservedFact(
            entity: entity, content: try payload(), version: remoteVersion ?? sighted ?? 0,
            observedAt: observedAt)
    }
}

extension ProposedEvent {
    /// Makes a proposal of a sighting.
    ///
    /// - Parameter observedAt: Unix milliseconds of the response, or nil if unknown.
    public init(sighting: some Observation, observedAt: Int64?) throws {
        try self.init(sighting)
        fact = try sighting.fact(observedAt: observedAt)
    }
}

/// An event about a video or about an answer; exactly one of the two is named.
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

    /// Checks that exactly one thing is named, and writes a video as its key.
    mutating func normalizeSubject() throws(ModelError) {
        guard hasVideo != hasAnswer else {
            throw FieldChecks.invalid("video", "or answer must be given, and not both")
        }
        if hasVideo { video = try FieldChecks.video(video, "video").text }
        if hasAnswer { try FieldChecks.id(answer, "answer") }
    }
}
