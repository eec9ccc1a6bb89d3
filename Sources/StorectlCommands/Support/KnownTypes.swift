internal import Tapedeck

/// The event types that this program knows, of all rooms.
enum KnownTypes {
    /// Their names.
    static var names: [String] {
        EventCatalogue.video.typeNames
            + (RemoteEvents.types + [OriginForked.eventType]).map(\.name)
    }

    /// The newest schema of a type's payloads that this program knows; nil for a type that it does not know.
    static func schemaVersion(of type: EventType) -> UInt16? {
        if type == OriginForked.eventType { return OriginForked.schemaVersion }
        return EventCatalogue.video.schemaVersion(of: type) ?? RemoteEvents.schemaVersion(of: type)
    }
}
