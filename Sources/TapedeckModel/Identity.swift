/// The random 128-bit id under which a store writes events; generated once and never reused.
///
/// An event is identified by the origin that wrote it and by its sequence number; the sequence
/// numbers of an origin have no gaps.
public struct OriginID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first eight bytes, big-endian.
    public let high: UInt64
    /// The last eight bytes, big-endian.
    public let low: UInt64

    /// Creates an origin id from its two halves.
    @inlinable
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Generates a new origin id from the system's random source.
    public static func random() -> OriginID {
        OriginID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    }

    /// Parses 32 hexadecimal digits; returns nil for any other string.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == 32, text.utf8.allSatisfy(\.isHexDigit),
            let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    /// The 32 lowercase hexadecimal digits.
    public var description: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    fileprivate func append(to bytes: inout [UInt8]) {
        high.appendPaddedHex(to: &bytes)
        low.appendPaddedHex(to: &bytes)
    }

    /// Compares the bytes; this order breaks ties in the canonical order.
    @inlinable
    public static func < (left: OriginID, right: OriginID) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}

/// The permanent id of an event: its origin, and its sequence number in that origin.
public struct EventID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The origin that wrote the event.
    public let origin: OriginID
    /// The number of the event among its origin's events, from 1 without gaps.
    public let sequence: UInt64

    /// Creates an id from its parts.
    @inlinable
    public init(origin: OriginID, sequence: UInt64) {
        self.origin = origin
        self.sequence = sequence
    }

    /// Parses `<32 hex>-<sequence>`; returns nil for any other string.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let origin = OriginID(parts[0]),
            parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let sequence = UInt64(parts[1]), sequence > 0
        else { return nil }
        self.init(origin: origin, sequence: sequence)
    }

    /// `<32 hex>-<sequence>`, as in JSON.
    public var description: String { String(decoding: textBytes, as: UTF8.self) }

    /// The bytes of `description`, made without a string; folds put them into items.
    package var textBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(EventID.textBytesMax)
        origin.append(to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        bytes.append(contentsOf: String(sequence).utf8)
        return bytes
    }

    private static let textBytesMax = 53

    /// Compares the origin, then the sequence number.
    @inlinable
    public static func < (left: EventID, right: EventID) -> Bool {
        left.origin != right.origin
            ? left.origin < right.origin : left.sequence < right.sequence
    }
}

/// A position in this store's log, from 1 without gaps, assigned by the committing transaction.
///
/// Positions are local: the same event has different positions on different devices.
public struct LogPosition: RawRepresentable, Hashable, Comparable, Sendable,
    CustomStringConvertible
{
    /// The number; 0 is the position before the first event.
    public let rawValue: UInt64

    /// Wraps a number.
    @inlinable
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The position before the first event.
    public static let start = LogPosition(rawValue: 0)

    /// The number in decimal.
    public var description: String { String(rawValue) }

    /// Returns whether `left` is earlier in the log.
    public static func < (left: LogPosition, right: LogPosition) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension UInt8 {
    package var isHexDigit: Bool {
        (0x30...0x39).contains(self) || (0x61...0x66).contains(self) || (0x41...0x46).contains(self)
    }
}

extension UInt64 {
    package var paddedHex: String {
        var bytes: [UInt8] = []
        appendPaddedHex(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    fileprivate func appendPaddedHex(to text: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) {
            text.appendHex(UInt8(truncatingIfNeeded: self >> UInt64(shift)))
        }
    }
}
