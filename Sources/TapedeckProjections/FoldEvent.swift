public import TapedeckModel

/// An event as passed to a fold; it is read in place and valid only during the fold.
public struct FoldEvent: ~Copyable, ~Escapable {
    /// The id under which the event was first recorded.
    public let id: EventID
    /// The time of the event, on which all devices agree: its own stamp or that of its receipt,
    /// whichever is earlier.
    public let stamp: Stamp
    /// The index of the event's type in `Projection.eventTypes`.
    public let typeIndex: Int
    /// The schema version of the payload.
    ///
    /// If the projection declares the event as a Swift type, older payloads are converted before
    /// the fold, so this is always the newest version that the program knows.
    public let schemaVersion: UInt16
    /// The remote fact that the event records; nil if the event records user activity.
    public let fact: ObservedFact?
    /// The event's position in the canonical order of its key; for user activity, the position
    /// depends on the event's current id.
    public let order: FoldOrder
    /// The bytes of the payload, encoded in version `schemaVersion`.
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

    /// Decodes the payload as a typed event; rethrows errors from `Event.init(payload:version:)`.
    ///
    /// The method copies the payload. A fold that runs millions of times should use `WireFields`
    /// instead.
    public func decode<E: Event>(_: E.Type) throws -> E {
        try E(payload: payload.withUnsafeBytes { Array($0) }, version: schemaVersion)
    }
}
