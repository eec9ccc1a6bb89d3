/// A type of event, with its name in the log and its encoding.
///
/// ```swift
/// struct PagePrinted: Event, Codable {
///     static let eventType: EventType = "PagePrinted"
///     var printer: String
///     var pages: UInt64
///     var tags: [Tag] { get throws { [try Tag("printer", printer)] } }
///     init(payload: [UInt8]) throws {
///         self = try JSONDecoder().decode(Self.self, from: Data(payload))
///     }
///     func payload() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }
/// }
/// ```
public protocol Event: Sendable {
    /// The name of the type in the log; it must never change.
    static var eventType: EventType { get }
    /// The functions that convert payloads from each schema version to the next, starting with
    /// version 1.
    ///
    /// Empty until a schema change would make `init(payload:)` misread older payloads.
    static var upcasters: [Upcaster] { get }
    /// The rule by which compaction may remove events of this type.
    static var retention: Retention { get }
    /// The entities that this event is about.
    var tags: [Tag] { get throws }
    /// The remote fact that this event observes; nil for the user's own activity.
    var fact: ObservedFact? { get throws }
    /// Returns the fact for an event whose payload has already been encoded; by default `fact`.
    ///
    /// Implement this method if the content of the fact is the payload, so that events are encoded
    /// only once.
    func fact(payload: [UInt8]) throws -> ObservedFact?
    /// Decodes a payload of the newest schema, `schemaVersion`; throws if it cannot be decoded.
    init(payload: [UInt8]) throws
    /// Encodes the payload in the newest schema.
    func payload() throws -> [UInt8]
}

extension Event {
    /// Empty, because the schema has not changed.
    public static var upcasters: [Upcaster] { [] }
    /// `keepAll`: every event is kept.
    public static var retention: Retention { .keepAll }
    /// Nil, because the event is an activity, not an observation.
    public var fact: ObservedFact? { nil }
    /// Returns `fact`.
    public func fact(payload: [UInt8]) throws -> ObservedFact? { try fact }
}

/// An event to append, which has no id yet.
public struct ProposedEvent: Sendable {
    /// The name of the event's type.
    public var type: EventType
    /// The schema version of the payload.
    public var schemaVersion: UInt16
    /// The entities that the event is about.
    public var tags: [Tag]
    /// The remote fact that the event observes; nil for the user's own activity.
    public var fact: ObservedFact?
    /// The time of the event, in Unix milliseconds; nil for the current time on the store's clock.
    public var atMilliseconds: UInt64?
    /// The event that caused this one.
    public var causation: EventID?
    /// The first event of the conversation to which this one belongs.
    public var correlation: EventID?
    /// The rule by which compaction may remove the event.
    public var retention: Retention
    /// The encoding of the payload.
    public var encoding: PayloadEncoding
    /// The encoded content.
    public var payload: [UInt8]

    /// Creates an event from its parts.
    public init(
        type: EventType, schemaVersion: UInt16 = 1, tags: [Tag], fact: ObservedFact? = nil,
        atMilliseconds: UInt64? = nil, causation: EventID? = nil, correlation: EventID? = nil,
        retention: Retention = .keepAll, encoding: PayloadEncoding = .plain, payload: [UInt8]
    ) {
        self.type = type
        self.schemaVersion = schemaVersion
        self.tags = tags
        self.fact = fact
        self.atMilliseconds = atMilliseconds
        self.causation = causation
        self.correlation = correlation
        self.retention = retention
        self.encoding = encoding
        self.payload = payload
    }

    /// Creates an event from a typed event; rethrows errors from its `tags`, `fact` and
    /// `payload()`.
    public init(_ event: some Event, atMilliseconds: UInt64? = nil) throws {
        try self.init(event, atMilliseconds: atMilliseconds) { try event.fact(payload: $0) }
    }

    /// Creates an event from a typed event, with the fact that `fact` returns for the payload.
    package init<E: Event>(
        _ event: E, atMilliseconds: UInt64? = nil, fact: ([UInt8]) throws -> ObservedFact?
    ) throws {
        let payload = try event.payload()
        self.init(
            type: E.eventType, schemaVersion: E.schemaVersion, tags: try event.tags,
            fact: try fact(payload), atMilliseconds: atMilliseconds, retention: E.retention,
            payload: payload)
    }
}

/// A recorded event, copied from the log.
public struct EventEnvelope: Hashable, Sendable {
    /// The permanent id of the event.
    public var id: EventID
    /// The position in this store's log.
    public var position: LogPosition
    /// The time of the event, according to its origin.
    public var stamp: Stamp
    /// The name of the event's type.
    public var type: EventType
    /// The schema version of the payload.
    public var schemaVersion: UInt16
    /// The entities that the event is about.
    public var tags: [Tag]
    /// The remote fact that the event observes; nil for the user's own activity.
    public var fact: ObservedFact?
    /// The event that caused this one.
    public var causation: EventID?
    /// The first event of the conversation to which this one belongs.
    public var correlation: EventID?
    /// The original id of a reissued event; nil for other events.
    public var reissuedFrom: EventID?
    /// The rule by which compaction may remove the event.
    public var retention: Retention
    /// The encoding of the payload.
    public var encoding: PayloadEncoding
    /// The id of the key that encrypts the payload; empty if the payload is not encrypted.
    public var keyID: [UInt8]
    /// The content, as stored.
    public var payload: [UInt8]

    package init(
        id: EventID, position: LogPosition, stamp: Stamp, type: EventType, schemaVersion: UInt16,
        tags: [Tag], fact: ObservedFact?, causation: EventID?, correlation: EventID?,
        reissuedFrom: EventID?, retention: Retention, encoding: PayloadEncoding, keyID: [UInt8],
        payload: [UInt8]
    ) {
        self.id = id
        self.position = position
        self.stamp = stamp
        self.type = type
        self.schemaVersion = schemaVersion
        self.tags = tags
        self.fact = fact
        self.causation = causation
        self.correlation = correlation
        self.reissuedFrom = reissuedFrom
        self.retention = retention
        self.encoding = encoding
        self.keyID = keyID
        self.payload = payload
    }

    /// Decodes the payload as a typed event; older schemas are upgraded by `Event.upcasters`.
    ///
    /// Throws `ModelError` with `.invalidType` if the envelope contains a different type of event.
    /// Rethrows errors from `Event.init(payload:version:)`.
    public func decode<E: Event>(_: E.Type) throws -> E {
        guard type == E.eventType else {
            throw ModelError(
                .invalidType, "event \(id) has the type \(type), not \(E.eventType)")
        }
        return try E(payload: payload, version: schemaVersion)
    }
}
