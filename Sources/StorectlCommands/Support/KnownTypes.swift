internal import Tapedeck

/// The event types that this program knows, from all modules.
enum KnownTypes {
    /// The names of the types.
    static var names: [String] {
        EventCatalogue.video.typeNames
            + (RemoteEvents.types + [OriginForked.eventType]).map(\.name)
    }

    /// Returns the newest known schema version of a type; nil if the type is unknown.
    static func schemaVersion(of type: EventType) -> UInt16? {
        if type == OriginForked.eventType { return OriginForked.schemaVersion }
        return EventCatalogue.video.schemaVersion(of: type) ?? RemoteEvents.schemaVersion(of: type)
    }
}
