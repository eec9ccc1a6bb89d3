public import SwiftProtobuf
public import TapedeckModel

/// An event of this room: a protobuf message.
public protocol RemoteEvent: Event, SwiftProtobuf.Message {}

extension RemoteEvent {
    /// Reads a payload; throws `ModelError` with `.invalidPayload`.
    public init(payload: [UInt8], version: UInt16) throws {
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
    /// Every type of this room.
    public static let types: [EventType] = [
        RemoteAdded.eventType, RemoteRemoved.eventType, OutcomeRecorded.eventType,
        IntentClaimed.eventType,
    ]

    /// A payload as JSON by protobuf's mapping; nil for a type of another room.
    ///
    /// Throws `ModelError` with `.invalidPayload`.
    public static func json(type: EventType, payload: [UInt8]) throws(ModelError) -> String? {
        func json<E: RemoteEvent>(of _: E.Type) throws -> String {
            try E(payload: payload, version: 1).jsonString()
        }
        do {
            switch type {
            case RemoteAdded.eventType: return try json(of: RemoteAdded.self)
            case RemoteRemoved.eventType: return try json(of: RemoteRemoved.self)
            case OutcomeRecorded.eventType: return try json(of: OutcomeRecorded.self)
            case IntentClaimed.eventType: return try json(of: IntentClaimed.self)
            default: return nil
            }
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
