@_spi(Core) public import TapedeckModel

/// The number of events of one type and schema version in a log.
public struct SchemaCount: Hashable, Sendable {
    /// The event type.
    public var type: EventType
    /// The version of the payload's schema.
    public var schemaVersion: UInt16
    /// The number of events.
    public var events: UInt64
}

extension EventLog {
    /// Returns the number of events of each type and schema version, ordered by type, then by
    /// version.
    ///
    /// The result shows whether a log contains events that a program cannot read. The cost is a
    /// read of the entire log. Throws `LogError`: `.damaged`, `.closed`.
    @available(*, noasync)
    public func schemaCounts() throws(LogError) -> [SchemaCount] {
        settleBuffered()
        let head = try currentHead().rawValue
        let types = try dictionaries().types
        var counts: [UInt16: [UInt16: UInt64]] = [:]
        try scan(after: 0, through: head) { record in
            guard Int(record.type) < types.count else {
                throw LogError.damagedRecord(record.position, "its type is unknown")
            }
            counts[record.type, default: [:]][record.schemaVersion, default: 0] += 1
        }
        return counts.flatMap { type, versions in
            versions.map { version, events in
                SchemaCount(type: types[Int(type)], schemaVersion: version, events: events)
            }
        }.sorted { ($0.type, $0.schemaVersion) < ($1.type, $1.schemaVersion) }
    }
}
