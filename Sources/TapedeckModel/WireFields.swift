/// Iterates over the fields of a protobuf message in place, so that a fold decodes only what it
/// needs.
///
/// ```swift
/// func position(_ payload: RawSpan) -> Double {
///     var position = 0.0
///     var fields = WireFields(payload)
///     while let field = fields.next() {
///         if field.number == 3 { position = field.double }
///     }
///     return position
/// }
/// ```
///
/// The iteration never traps: if a message is truncated or nested incorrectly, the iteration ends
/// and `isMalformed` is true. The encoding is specified at
/// protobuf.dev/programming-guides/encoding.
public struct WireFields: ~Escapable, ~Copyable {
    @usableFromInline let bytes: RawSpan
    @usableFromInline var offset = 0
    @usableFromInline var end: Int
    /// Whether the iteration ended early because the message is malformed.
    public private(set) var isMalformed = false

    /// Creates an iterator over the message in `bytes`.
    @_lifetime(copy bytes)
    public init(_ bytes: RawSpan) {
        self.bytes = bytes
        end = bytes.byteCount
    }

    /// Creates an iterator over the nested message in `field` of the same payload.
    @_lifetime(copy bytes)
    public init(_ bytes: RawSpan, inside field: WireField) {
        self.bytes = bytes
        offset = field.start
        end = field.start + field.count
    }

    /// Returns the next field, or nil at the end or if the bytes are malformed.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func next() -> WireField? {
        guard offset < end else { return nil }
        guard let key = varint(), key >> 3 > 0, key >> 3 <= UInt64(Int32.max) else { return fail() }
        let number = Int(key >> 3)
        // The two most common wire types are handled first, because a jump table costs more than
        // decoding most fields.
        let type = key & 7
        if type == 2 {
            guard let count = varint(), count <= UInt64(end - offset) else { return fail() }
            let start = offset
            offset += Int(count)
            return WireField(
                number: number, kind: .bytes, scalar: 0, start: start, count: Int(count))
        }
        if type == 0 {
            guard let value = varint() else { return fail() }
            return WireField(number: number, kind: .varint, scalar: value, start: offset, count: 0)
        }
        return fixed(number, type)
    }

    @usableFromInline
    @_lifetime(self: copy self)
    mutating func fixed(_ number: Int, _ type: UInt64) -> WireField? {
        switch type {
        case 1:
            guard end - offset >= 8 else { return fail() }
            let value = bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: offset, as: UInt64.self)
            offset += 8
            return WireField(
                number: number, kind: .fixed64, scalar: UInt64(littleEndian: value), start: offset,
                count: 0)
        case 5:
            guard end - offset >= 4 else { return fail() }
            let value = bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: offset, as: UInt32.self)
            offset += 4
            return WireField(
                number: number, kind: .fixed32, scalar: UInt64(UInt32(littleEndian: value)),
                start: offset, count: 0)
        default:
            return fail()
        }
    }

    /// Returns a length-delimited field as a string; invalid UTF-8 is repaired.
    public func string(_ field: WireField) -> String {
        bytes.withUnsafeBytes {
            String(decoding: $0[field.start..<field.start + field.count], as: UTF8.self)
        }
    }

    /// Returns a copy of a length-delimited field's bytes.
    @inlinable
    public func copy(_ field: WireField) -> [UInt8] {
        bytes.withUnsafeBytes { Array($0[field.start..<field.start + field.count]) }
    }

    /// Returns the `google.protobuf.Timestamp` in `field` as Unix milliseconds.
    public func milliseconds(_ field: WireField) -> Int64 {
        var seconds: Int64 = 0
        var nanos: Int64 = 0
        var parts = WireFields(bytes, inside: field)
        while let part = parts.next() {
            if part.number == 1 { seconds = part.int64 }
            if part.number == 2 { nanos = part.int64 }
        }
        return seconds &* 1_000 &+ nanos / 1_000_000
    }

    @usableFromInline
    @_lifetime(self: copy self)
    mutating func fail() -> WireField? {
        isMalformed = true
        offset = end
        return nil
    }

    @inlinable
    @inline(__always)
    @_lifetime(self: copy self)
    mutating func varint() -> UInt64? {
        guard offset < end else { return nil }
        // Nearly every key and most lengths have one byte.
        let first = bytes.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
        if first < 0x80 {
            offset += 1
            return UInt64(first)
        }
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while offset < end, shift < 64 {
            let byte = bytes.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
            offset += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }
}

/// A field of a protobuf message: its number, type, location and scalar value.
public struct WireField: Sendable {
    /// The wire type of a field.
    public enum Kind: Sendable {
        /// A varint, used for integers, Booleans and enums.
        case varint
        /// Eight bytes, used for `double` and `fixed64`.
        case fixed64
        /// A length, then bytes; used for strings, messages and packed numbers.
        case bytes
        /// Four bytes, used for `float` and `fixed32`.
        case fixed32
    }

    /// The field's number in its message.
    public let number: Int
    /// The wire type.
    public let kind: Kind
    @usableFromInline let scalar: UInt64
    /// The offset of the field's bytes in the payload.
    public let start: Int
    /// The number of bytes; 0 for a scalar.
    public let count: Int

    @inlinable
    init(number: Int, kind: Kind, scalar: UInt64, start: Int, count: Int) {
        self.number = number
        self.kind = kind
        self.scalar = scalar
        self.start = start
        self.count = count
    }

    /// The value of a varint or fixed field.
    @inlinable public var uint64: UInt64 { scalar }
    /// The value of an `int64` or `int32`.
    @inlinable public var int64: Int64 { Int64(bitPattern: scalar) }
    /// The value of a `bool`.
    @inlinable public var bool: Bool { scalar != 0 }
    /// The value of a `double`.
    @inlinable public var double: Double { Double(bitPattern: scalar) }
}
