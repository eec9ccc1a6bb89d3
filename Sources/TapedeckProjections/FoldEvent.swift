public import TapedeckModel

/// An event as a fold sees it: read in place, valid during the fold.
public struct FoldEvent: ~Copyable, ~Escapable {
    /// The identity under which the event was first known.
    public let id: EventID
    /// When it happened, as far as all devices agree: its stamp, or its receipt's if that is less.
    public let stamp: Stamp
    /// Which of the projection's events it is: its place in `Projection.eventTypes`.
    public let typeIndex: Int
    /// The version of the payload's schema: the newest that the program knows, where the projection wants the
    /// event as a type.
    public let schemaVersion: UInt16
    /// What remote fact it is a sighting of; nil for activity.
    public let fact: ObservedFact?
    /// Its place among the events of its key; of activity by the identity that it has now.
    public let order: FoldOrder
    /// The payload's bytes, in that schema.
    public let payload: RawSpan

    @_lifetime(copy payload)
    package init(
        id: EventID, stamp: Stamp, typeIndex: Int, schemaVersion: UInt16, fact: ObservedFact?,
        order: FoldOrder, payload: RawSpan
    ) {
        self.id = id
        self.stamp = stamp
        self.typeIndex = typeIndex
        self.schemaVersion = schemaVersion
        self.fact = fact
        self.order = order
        self.payload = payload
    }

    /// Reads the payload as a typed event; throws what `Event.init(payload:version:)` throws.
    ///
    /// It copies the payload; a fold that runs millions of times reads with `WireFields` instead.
    public func decode<E: Event>(_: E.Type) throws -> E {
        try E(payload: payload.withUnsafeBytes { Array($0) }, version: schemaVersion)
    }
}
