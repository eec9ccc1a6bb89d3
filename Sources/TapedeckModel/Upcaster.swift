/// A function that converts a payload from one schema version to the next.
///
/// An upcaster must be pure: equal payloads give equal results, on every device and in every
/// version of the program. An upcaster throws if the payload cannot be converted.
public typealias Upcaster = @Sendable (_ payload: [UInt8]) throws -> [UInt8]

extension Event {
    /// The schema version that this type writes: the number of its upcasters plus 1.
    public static var schemaVersion: UInt16 { UInt16(clamping: upcasters.count + 1) }

    /// Decodes a payload of any version up to `schemaVersion`.
    ///
    /// Throws `ModelError` with `.newerFormat` if the version is newer than `schemaVersion`, or
    /// with `.invalidPayload` if the version is 0 or an upcaster throws. Rethrows errors from
    /// `init(payload:)`. Decoding a payload of the newest version costs no more than
    /// `init(payload:)`.
    public init(payload: [UInt8], version: UInt16) throws {
        let upcasters = Self.upcasters
        try self.init(
            payload: Int(version) == upcasters.count + 1
                ? payload : upcasters.upcast(payload, from: version, Self.eventType))
    }
}

extension [Upcaster] {
    /// Converts a payload to the newest version; throws like `Event.init(payload:version:)`.
    package func upcast(
        _ payload: [UInt8], from version: UInt16, _ type: EventType
    ) throws(ModelError) -> [UInt8] {
        guard version <= count + 1 else {
            throw ModelError(
                .newerFormat,
                "the payload uses schema version \(version) of \(type); this program supports up to version \(count + 1)",
                hint: "upgrade the program; the event is kept until then")
        }
        guard version >= 1 else {
            throw ModelError(
                .invalidPayload,
                "the payload uses schema version 0 of \(type); versions begin at 1")
        }
        var payload = payload
        for version in Int(version)..<count + 1 {
            do {
                payload = try self[version - 1](payload)
            } catch {
                throw ModelError(
                    .invalidPayload,
                    "the upcaster of \(type) from version \(version) failed: \(ForeignError.text(error))"
                )
            }
        }
        return payload
    }
}
