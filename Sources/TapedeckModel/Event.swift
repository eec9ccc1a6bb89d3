/// A fact that happened, as a type of the program: what it is called and how it becomes bytes.
///
/// ```swift
/// struct PagePrinted: Event {
///     static let eventType: EventType = "PagePrinted"
///     var printer: String
///     var pages: UInt64
///     var tags: [Tag] { get throws { [try Tag("printer", printer)] } }
/// }
/// ```
public protocol Event: Sendable {
    /// The name in the log; never changes.
    static var eventType: EventType { get }
    /// What makes payloads of an older schema those of the next, oldest first: the first of them reads
    /// version 1. None, until the payload's schema changes in a way that the type's reader would misread.
    static var upcasters: [Upcaster] { get }
    /// How compaction may shorten events of this type.
    static var retention: Retention { get }
    /// The entities that this event concerns.
    var tags: [Tag] { get throws }
    /// What remote fact this event is a sighting of; nil for the user's own activity.
    var fact: ObservedFact? { get throws }
    /// Reads a payload of the newest schema, `schemaVersion`; throws what says why it cannot be read.
    init(payload: [UInt8]) throws
    /// Writes the payload, in the newest schema.
    func payload() throws -> [UInt8]
}

extension Event {
    /// None: the payload's schema has not changed.
    public static var upcasters: [Upcaster] { [] }
    /// Keeps every event.
    public static var retention: Retention { .keepAll }
    /// Nil: activity, not an observation.
    public var fact: ObservedFact? { nil }
}

/// An event before it has an identity: what `append` takes.
public struct ProposedEvent: Sendable {
    /// The name in the log.
    public var type: EventType
    /// The version of the payload's schema.
    public var schemaVersion: UInt16
    /// The entities that it concerns.
    public var tags: [Tag]
    /// What remote fact it is a sighting of.
    public var fact: ObservedFact?
    /// When it happened, in Unix milliseconds; nil lets the store's clock say.
    public var atMilliseconds: UInt64?
    /// The event that made this one happen.
    public var causation: EventID?
    /// The first event of the conversation that this one belongs to.
    public var correlation: EventID?
    /// How compaction may shorten it.
    public var retention: Retention
    /// How the payload is to be read.
    public var encoding: PayloadEncoding
    /// The content.
    public var payload: [UInt8]

    /// Makes a proposal of its parts.
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

    /// Makes a proposal of a typed event; throws what its tags or its payload throw.
    public init(_ event: some Event, atMilliseconds: UInt64? = nil) throws {
        func proposal<E: Event>(_ event: E) throws -> ProposedEvent {
            ProposedEvent(
                type: E.eventType, schemaVersion: E.schemaVersion, tags: try event.tags,
                fact: try event.fact, atMilliseconds: atMilliseconds, retention: E.retention,
                payload: try event.payload())
        }
        self = try proposal(event)
    }
}

/// An event as the log holds it, copied out.
public struct EventEnvelope: Hashable, Sendable {
    /// Its name for ever.
    public var id: EventID
    /// Its place in this store's log.
    public var position: LogPosition
    /// When its origin says that it happened.
    public var stamp: Stamp
    /// The name of its kind.
    public var type: EventType
    /// The version of the payload's schema.
    public var schemaVersion: UInt16
    /// The entities that it concerns.
    public var tags: [Tag]
    /// What remote fact it is a sighting of.
    public var fact: ObservedFact?
    /// The event that made this one happen.
    public var causation: EventID?
    /// The first event of its conversation.
    public var correlation: EventID?
    /// The identity under which it was first known, where it had to be written again.
    public var reissuedFrom: EventID?
    /// How compaction may shorten it.
    public var retention: Retention
    /// How the payload is to be read.
    public var encoding: PayloadEncoding
    /// Which key seals the payload; empty for none.
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

    /// Reads the payload as a typed event; one of an older schema goes through `Event.upcasters`.
    ///
    /// Throws `ModelError` with `.invalidType` when the envelope holds another type, and what
    /// `Event.init(payload:version:)` throws.
    public func decode<E: Event>(_: E.Type) throws -> E {
        guard type == E.eventType else {
            throw ModelError(
                .invalidType, "event \(id) is a \(type), not a \(E.eventType)")
        }
        return try E(payload: payload, version: schemaVersion)
    }
}
