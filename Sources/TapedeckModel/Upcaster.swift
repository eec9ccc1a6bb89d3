/// What makes a payload of one schema version that of the next.
///
/// A pure function: equal payloads give equal ones, on every device and for ever. What it throws says why a
/// payload cannot be read.
public typealias Upcaster = @Sendable (_ payload: [UInt8]) throws -> [UInt8]

extension Event {
    /// The version of the payload's schema that this type writes, from 1: one more than it has upcasters.
    public static var schemaVersion: UInt16 { UInt16(clamping: upcasters.count + 1) }

    /// Reads a payload of any version up to `schemaVersion`.
    ///
    /// Throws `ModelError`: `.newerFormat` where the version is one that this program does not know,
    /// `.invalidPayload` where there is no such version or an upcaster throws; and what the type's own reader
    /// throws. Costs nothing besides reading where the version is the newest.
    public init(payload: [UInt8], version: UInt16) throws {
        let upcasters = Self.upcasters
        try self.init(
            payload: Int(version) == upcasters.count + 1
                ? payload : upcasters.upcast(payload, from: version, Self.eventType))
    }
}

extension [Upcaster] {
    /// Brings a payload from a version to the newest; throws as `Event.init(payload:version:)` does.
    package func upcast(
        _ payload: [UInt8], from version: UInt16, _ type: EventType
    ) throws(ModelError) -> [UInt8] {
        guard version <= count + 1 else {
            throw ModelError(
                .newerFormat,
                "the payload is a \(type) of version \(version), and this program knows \(count + 1)",
                hint: "upgrade the program; the event is kept until then")
        }
        guard version >= 1 else {
            throw ModelError(
                .invalidPayload, "the payload is a \(type) of version 0; versions count from 1")
        }
        var payload = payload
        for version in Int(version)..<count + 1 {
            do {
                payload = try self[version - 1](payload)
            } catch {
                throw ModelError(
                    .invalidPayload,
                    "the upcaster of \(type) from version \(version) refuses the payload: \(ForeignError.text(error))"
                )
            }
        }
        return payload
    }
}
