internal import Foundation

// The compiler does not inline `package` functions across modules, and unspecialized generic code
// looks up type metadata on every call. The generic functions are therefore specialized for the
// integer widths that the formats use.

extension [UInt8] {
    @_specialize(where Value == UInt16)
    @_specialize(where Value == UInt32)
    @_specialize(where Value == UInt64)
    @inlinable
    package mutating func appendBigEndian<Value: FixedWidthInteger>(_ value: Value) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    @_specialize(where Value == UInt16)
    @_specialize(where Value == UInt32)
    @_specialize(where Value == UInt64)
    @_specialize(where Value == Int64)
    @inlinable
    package mutating func appendLittleEndian<Value: FixedWidthInteger>(_ value: Value) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Appends a protobuf varint: groups of seven bits, least significant first.
    @inlinable
    package mutating func appendVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends the length as a varint, then the bytes.
    @inlinable
    package mutating func appendPrefixed(_ bytes: [UInt8]) {
        appendVarint(UInt64(bytes.count))
        append(contentsOf: bytes)
    }

    /// Appends the length as a varint, then the bytes.
    @inlinable
    package mutating func appendPrefixed(_ bytes: some Collection<UInt8>) {
        appendVarint(UInt64(bytes.count))
        append(contentsOf: bytes)
    }

    /// Appends the length as a varint, then the string as UTF-8.
    @inlinable
    package mutating func appendPrefixed(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            appendVarint(UInt64(utf8.count))
            append(contentsOf: utf8)
        }
    }

    /// The bytes as lowercase hexadecimal digits.
    package var hex: String {
        var text: [UInt8] = []
        text.reserveCapacity(count * 2)
        for byte in self { text.appendHex(byte) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the two lowercase hexadecimal digits of a byte.
    mutating func appendHex(_ byte: UInt8) {
        func digit(_ value: UInt8) -> UInt8 {
            value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
        }
        append(digit(byte >> 4))
        append(digit(byte & 0xF))
    }
}

extension UnsafeRawBufferPointer {
    /// Returns whether two buffers contain the same bytes.
    @inline(__always)
    package func holdsSame(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let left = baseAddress, let right = other.baseAddress else { return count == 0 }
        return memcmp(left, right, count) == 0
    }

    /// Returns whether these bytes sort before `other` in LMDB's key order.
    @inline(__always)
    package func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
        guard let left = baseAddress, let right = other.baseAddress else {
            return count < other.count
        }
        let order = memcmp(left, right, Swift.min(count, other.count))
        return order != 0 ? order < 0 : count < other.count
    }
}

/// The positions, sequence numbers and counters in files.
package enum StoredNumber {
    /// The maximum that is accepted from a file; it is greater than the number of events that a file
    /// can hold.
    ///
    /// Anyone can compute a checksum, so an intact row can contain any number. Decoders treat larger
    /// numbers as damage, so callers can add to a decoded number without an overflow.
    package static let max: UInt64 = 1 << 48
}

/// Reads values from bytes in order.
///
/// Every read is bounds-checked and returns nil if too few bytes remain.
package struct ByteReader {
    package let bytes: UnsafeRawBufferPointer
    package var offset = 0

    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    @inlinable
    package var isAtEnd: Bool { offset >= bytes.count }
    @inlinable
    package var remaining: Int { bytes.count - offset }

    @_specialize(where Value == UInt16)
    @_specialize(where Value == UInt32)
    @_specialize(where Value == UInt64)
    @inlinable
    package mutating func bigEndian<Value: FixedWidthInteger>(_: Value.Type) -> Value? {
        guard remaining >= MemoryLayout<Value>.size else { return nil }
        defer { offset += MemoryLayout<Value>.size }
        return Value(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    @_specialize(where Value == UInt8)
    @_specialize(where Value == UInt16)
    @_specialize(where Value == UInt32)
    @_specialize(where Value == UInt64)
    @_specialize(where Value == Int64)
    @inlinable
    package mutating func littleEndian<Value: FixedWidthInteger>(_: Value.Type) -> Value? {
        guard remaining >= MemoryLayout<Value>.size else { return nil }
        defer { offset += MemoryLayout<Value>.size }
        return Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    /// Reads a little-endian position, sequence number or counter; returns nil also for a number
    /// above `StoredNumber.max`.
    package mutating func number() -> UInt64? {
        littleEndian(UInt64.self).flatMap { $0 <= StoredNumber.max ? $0 : nil }
    }

    @inlinable
    @inline(__always)
    package mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while offset < bytes.count, shift < 64 {
            let byte = bytes[offset]
            offset += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }

    @inlinable
    package mutating func slice(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count >= 0, count <= remaining else { return nil }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    @inlinable
    package mutating func prefixed() -> UnsafeRawBufferPointer? {
        guard let count = varint(), count <= UInt64(remaining) else { return nil }
        return slice(Int(count))
    }

    @inlinable
    package mutating func prefixedString() -> String? {
        prefixed().map { String(decoding: $0, as: UTF8.self) }
    }
}
