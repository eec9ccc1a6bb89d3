public import SwiftProtobuf
public import TapedeckModel

/// An event of this room: a protobuf message.
public protocol RemoteEvent: Event, SwiftProtobuf.Message {}

extension RemoteEvent {
    /// Reads a payload; throws `ModelError` with `.invalidPayload`.
    public init(payload: [UInt8]) throws {
        do {
            try self.init(serializedBytes: payload)
        } catch {
            throw ModelError(
                .invalidPayload,
                "\(payload.count) bytes are not the payload of a \(Self.eventType)")
        }
    }

    /// Writes the payload, the same bytes for equal messages.
    public func payload() throws -> [UInt8] { try serializedBytes() }
}

extension RemoteAdded: RemoteEvent {
    /// `RemoteAdded`.
    public static let eventType: EventType = "RemoteAdded"
    /// The remote.
    public var tags: [Tag] { get throws { [try Tag(Remotes.kind, name)] } }
}

extension RemoteRemoved: RemoteEvent {
    /// `RemoteRemoved`.
    public static let eventType: EventType = "RemoteRemoved"
    /// The remote.
    public var tags: [Tag] { get throws { [try Tag(Remotes.kind, name)] } }
}

extension OutcomeRecorded: RemoteEvent {
    /// `OutcomeRecorded`.
    public static let eventType: EventType = "OutcomeRecorded"
    /// None of its own: it is recorded with those of its intent.
    public var tags: [Tag] { get throws { [] } }
}

extension IntentClaimed: RemoteEvent {
    /// `IntentClaimed`.
    public static let eventType: EventType = "IntentClaimed"
    /// None of its own: it is recorded with those of its intent.
    public var tags: [Tag] { get throws { [] } }
}

/// The events of this room by their names, for those that print a log.
public enum RemoteEvents {
    private static let messages: [any RemoteEvent.Type] = [
        RemoteAdded.self, RemoteRemoved.self, OutcomeRecorded.self, IntentClaimed.self,
    ]

    /// Every type of this room.
    public static let types: [EventType] = messages.map { $0.eventType }

    /// The newest schema of a type's payloads; nil for a type of another room.
    public static func schemaVersion(of type: EventType) -> UInt16? {
        messages.first { $0.eventType == type }?.schemaVersion
    }

    /// A payload as JSON by protobuf's mapping; nil for a type of another room.
    ///
    /// Throws `ModelError`: `.invalidPayload`, and `.newerFormat` for a version that this program does not know.
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
            throw ModelError(.invalidPayload, "the payload of a \(type) cannot be written as JSON")
        }
    }
}

extension ProposedEvent {
    /// An event of this room that stands beside an intent.
    init(_ event: some RemoteEvent, beside intent: Intent) throws {
        try self.init(event)
        tags = intent.event.tags
        causation = intent.event.id
    }
}

extension OutcomeRecorded {
    /// What became of an intent, or of one part of it.
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
