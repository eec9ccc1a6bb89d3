public import TapedeckModel

/// Two histories of an origin conflicted, and the events of one of them were reissued under another
/// origin.
///
/// The payload is defined in `schema/tapedeck/log/v1/log.proto`.
public struct OriginForked: Event {
    /// The event type `OriginForked`.
    public static let eventType: EventType = "OriginForked"

    /// The origin whose histories forked.
    public var origin: OriginID
    /// The first sequence number at which the histories differ.
    public var firstSequence: UInt64
    /// The number of reissued events.
    public var count: UInt64

    /// Creates an event from its parts.
    public init(origin: OriginID, firstSequence: UInt64, count: UInt64) {
        self.origin = origin
        self.firstSequence = firstSequence
        self.count = count
    }

    /// A tag for the affected origin.
    public var tags: [Tag] { get throws { [try Tag("origin", origin.description)] } }

    /// Decodes a payload; throws `ModelError` with `.invalidPayload` if it is invalid.
    public init(payload: [UInt8]) throws {
        var origin: OriginID?
        var first: UInt64 = 0
        var count: UInt64 = 0
        let isRead = payload.withUnsafeBytes { bytes -> Bool in
            var reader = ByteReader(bytes)
            while !reader.isAtEnd {
                switch reader.varint() {
                case 0x0A:
                    guard let text = reader.prefixedString() else { return false }
                    origin = OriginID(text)
                case 0x10:
                    guard let value = reader.varint() else { return false }
                    first = value
                case 0x18:
                    guard let value = reader.varint() else { return false }
                    count = value
                default: return false
                }
            }
            return true
        }
        guard isRead, let origin else {
            throw ModelError(.invalidPayload, "an OriginForked has no origin")
        }
        self.init(origin: origin, firstSequence: first, count: count)
    }

    /// Encodes the payload.
    public func payload() -> [UInt8] {
        var bytes: [UInt8] = [0x0A]
        bytes.appendPrefixed(origin.description)
        bytes.append(0x10)
        bytes.appendVarint(firstSequence)
        bytes.append(0x18)
        bytes.appendVarint(count)
        return bytes
    }
}
