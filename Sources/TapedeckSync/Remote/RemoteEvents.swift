public import SwiftProtobuf
public import TapedeckModel

/// An event of this module: a protobuf message.
public protocol RemoteEvent: Event, SwiftProtobuf.Message {}

extension RemoteEvent {
    /// Reads a payload; throws `ModelError` with `.invalidPayload`.
    public init(payload: [UInt8]) throws {
        do {
            try self.init(serializedBytes: payload)
        } catch {
            throw ModelError(
                .invalidPayload,
                "a payload of \(payload.count) bytes is not a valid \(Self.eventType)")
        }
    }

    /// Writes the payload; equal messages produce equal bytes.
    public func payload() throws -> [UInt8] { try serializedBytes() }
}

extension RemoteAdded: RemoteEvent {
    /// `RemoteAdded`.
    public static let eventType: EventType = "RemoteAdded"
    /// The tag of the remote.
    public var tags: [Tag] { get throws { [try Tag(Remotes.kind, name)] } }
}

extension RemoteRemoved: RemoteEvent {
    /// `RemoteRemoved`.
    public static let eventType: EventType = "RemoteRemoved"
    /// The tag of the remote.
    public var tags: [Tag] { get throws { [try Tag(Remotes.kind, name)] } }
}

extension RemoteLoginsEnded: RemoteEvent {
    /// `RemoteLoginsEnded`.
    public static let eventType: EventType = "RemoteLoginsEnded"
    /// The tag of the remote.
    public var tags: [Tag] { get throws { [try Tag(Remotes.kind, name)] } }
}

extension RemoteListToggled: RemoteEvent {
    /// `RemoteListToggled`.
    public static let eventType: EventType = "RemoteListToggled"
    /// The tag of the remote.
    public var tags: [Tag] { get throws { [try Tag(Remotes.kind, name)] } }
}

extension OutcomeRecorded: RemoteEvent {
    /// `OutcomeRecorded`.
    public static let eventType: EventType = "OutcomeRecorded"
    /// Empty, because the event is recorded with the tags of its intent.
    public var tags: [Tag] { get throws { [] } }
}

extension IntentClaimed: RemoteEvent {
    /// `IntentClaimed`.
    public static let eventType: EventType = "IntentClaimed"
    /// Empty, because the event is recorded with the tags of its intent.
    public var tags: [Tag] { get throws { [] } }
}

extension FeedRead: RemoteEvent {
    /// `FeedRead`.
    public static let eventType: EventType = "FeedRead"
    /// Empty, because the tag of the feed also depends on the address and the account, and is added
    /// when the event is recorded.
    public var tags: [Tag] { get throws { [] } }
    /// Compaction may remove all events about a feed except the newest.
    public static var retention: Retention { .latest }
}

/// The events of this module by name, for printing a log.
public enum RemoteEvents {
    private static let messages: [any RemoteEvent.Type] = [
        RemoteAdded.self, RemoteRemoved.self, RemoteListToggled.self, RemoteLoginsEnded.self,
        OutcomeRecorded.self, IntentClaimed.self, FeedRead.self,
    ]

    /// All event types of this module.
    public static let types: [EventType] = messages.map { $0.eventType }

    /// The types with `Retention.latest`.
    package static let latestTypes = Set(
        messages.lazy.filter { $0.retention == .latest }.map { $0.eventType })

    /// Returns whether this program can read an event; false for a type of another module.
    package static func reads(_ event: EventEnvelope) -> Bool {
        func reads<E: RemoteEvent>(as _: E.Type) -> Bool { (try? event.decode(E.self)) != nil }
        guard let message = messages.first(where: { $0.eventType == event.type }) else {
            return false
        }
        return reads(as: message)
    }

    /// Returns the newest schema version of a type; nil for a type that another module defines.
    public static func schemaVersion(of type: EventType) -> UInt16? {
        messages.first { $0.eventType == type }?.schemaVersion
    }

    /// Returns a payload as protobuf JSON; nil for a type that another module defines.
    ///
    /// Throws `ModelError` with `.invalidPayload`, or with `.newerFormat` if this program does not
    /// know the version.
    public static func json(
        type: EventType, version: UInt16 = 1, payload: [UInt8]
    ) throws(ModelError) -> String? {
        guard let message = messages.first(where: { $0.eventType == type }) else { return nil }
        func json<E: RemoteEvent>(of _: E.Type) throws -> String {
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
}

extension ProposedEvent {
    /// Creates an event of this module about an intent, with the intent's tags.
    init(_ event: some RemoteEvent, beside intent: Intent) throws {
        try self.init(event)
        tags = intent.event.tags
        causation = intent.event.id
    }
}

extension OutcomeRecorded {
    /// Creates the outcome of an intent or of one of its parts.
    init(
        _ kind: Kind, of intent: Intent, at remote: Remote, target: String = "",
        code: ErrorCode? = nil, message: String = ""
    ) {
        self.init()
        system = remote.system
        self.intent = intent.event.id.description
        self.kind = kind
        self.target = target
        self.code = code?.rawValue ?? ""
        self.message = message
        isDerived = intent.isDerived
    }
}
