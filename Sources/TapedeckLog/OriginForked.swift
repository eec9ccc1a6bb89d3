public import TapedeckModel

/// Two histories of one origin met: the events of one of them were written anew under another origin.
///
/// `schema/tapedeck/log/v1/log.proto` has the payload.
public struct OriginForked: Event {
    /// `OriginForked`.
    public static let eventType: EventType = "OriginForked"

    /// The origin that was written by two stores.
    public var origin: OriginID
    /// The first sequence at which they differ.
    public var firstSequence: UInt64
    /// How many events were written anew.
    public var count: UInt64

    /// Makes an event of its parts.
    public init(origin: OriginID, firstSequence: UInt64, count: UInt64) {
        self.origin = origin
        self.firstSequence = firstSequence
        self.count = count
    }

    /// The origin concerned.
    public var tags: [Tag] { get throws { [try Tag("origin", origin.description)] } }

    /// Reads a payload; throws `ModelError` with `.invalidPayload`.
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
            throw ModelError(.invalidPayload, "an OriginForked does not say which origin")
        }
        self.init(origin: origin, firstSequence: first, count: count)
    }

    /// Writes the payload.
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
