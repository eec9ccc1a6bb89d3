@_spi(Core) public import TapedeckModel

/// How many events of one type and schema version a log holds.
public struct SchemaCount: Hashable, Sendable {
    /// The name of their kind.
    public var type: EventType
    /// The version of their payloads' schema.
    public var schemaVersion: UInt16
    /// How many there are.
    public var events: UInt64
}

extension EventLog {
    /// How many events of each type and schema version the log holds, by type, then by version.
    ///
    /// For whoever wants to know which of them a program cannot read. Costs a read of the whole log. Throws
    /// `LogError`: `.damaged`, `.closed`.
    @available(*, noasync)
    public func schemaCounts() throws(LogError) -> [SchemaCount] {
        settleBuffered()
        let head = try currentHead().rawValue
        let types = try dictionaries().types
        var counts: [UInt16: [UInt16: UInt64]] = [:]
        try scan(after: 0, through: head) { record in
            guard Int(record.type) < types.count else {
                throw LogError.damagedRecord(record.position, "it names an unknown type")
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
