import Foundation
import Tapedeck

/// The parts of `schema/tapedeck/sync/v1/sync.proto` and of the canonical bytes of an event
/// (`schema/storage/v1.md`) that plain connections need.
enum Wire {
    // MARK: - Requests

    static func handshake(_ origin: OriginID) -> [UInt8] {
        var message: [UInt8] = [1 << 3, 2]
        message.append(field: 2, origin.bytes)
        return checked(message)
    }

    static func push(lineage: [UInt8], entries: [UInt8]) -> [UInt8] {
        var message: [UInt8] = []
        message.append(field: 1, lineage)
        message.append(field: 2, entries)
        return checked(message)
    }

    /// Appends the checksum, field 15, to a body.
    private static func checked(_ message: [UInt8]) -> [UInt8] {
        var sum = UInt32.max
        for byte in message {
            sum = crcTable[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ sum >> 8
        }
        var message = message
        message.append(15 << 3 | 5)
        message.append(littleEndian: ~sum)
        return message
    }

    /// CRC-32C (Castagnoli), computed one byte at a time.
    private static let crcTable: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 0 ? sum >> 1 : sum >> 1 ^ 0x82F6_3B78 }
    }

    /// Appends an event as an entry of a push.
    ///
    /// The fact of an observation is omitted, because a server never reads it.
    static func append(
        _ event: ProposedEvent, _ origin: OriginID, sequence: UInt64, to entries: inout [UInt8]
    ) {
        entries.append(1)
        let start = entries.count
        entries.append(littleEndian: UInt32(0))
        entries.append(1)
        entries.append(contentsOf: origin.bytes)
        entries.append(littleEndian: sequence)
        entries.append(littleEndian: (event.atMilliseconds ?? 0) << 16)
        entries.append(1)
        entries.append(prefixed: Array(event.type.name.utf8))
        entries.append(littleEndian: event.schemaVersion)
        entries.append(event.retention.rawValue)
        entries.append(event.encoding.rawValue)
        entries.append(varint: UInt64(event.tags.count))
        for tag in event.tags { entries.append(prefixed: Array(tag.text.utf8)) }
        // The event has no fact, causation, correlation, reissued id or key id.
        entries.append(contentsOf: [0, 0, 0, 0, 0])
        entries.append(prefixed: event.payload)
        let count = UInt32(entries.count - start - 4)
        for index in 0..<4 {
            entries[start + index] = UInt8(truncatingIfNeeded: count >> (8 * index))
        }
    }

    // MARK: - Answers

    struct Handshake {
        var lineage: [UInt8] = []
        var head: UInt64 = 0

        init(_ message: [UInt8]) throws {
            try Wire.forEachField(message) { number, value, bytes in
                switch number {
                case 2: lineage = Array(bytes)
                case 3: head = value
                default: break
                }
            }
        }
    }

    struct Pushed {
        var fresh: UInt64 = 0
        var hasProblem = false
        var hasRefusals = false

        init(_ message: [UInt8]) throws {
            try Wire.forEachField(message) { number, value, _ in
                switch number {
                case 4: fresh = value
                case 5: hasRefusals = true
                case 6: hasProblem = true
                default: break
                }
            }
        }
    }

    /// Calls `body` for each field of a message, with the value of a number or the bytes of any
    /// other field.
    private static func forEachField(
        _ message: [UInt8], _ body: (UInt64, UInt64, ArraySlice<UInt8>) -> Void
    ) throws {
        var rest = message[...]
        func varint() throws -> UInt64 {
            var value: UInt64 = 0
            var shift: UInt64 = 0
            while let byte = rest.popFirst(), shift < 64 {
                value |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return value }
                shift += 7
            }
            throw BenchError("a response is truncated")
        }
        while !rest.isEmpty {
            let tag = try varint()
            switch tag & 7 {
            case 0: body(tag >> 3, try varint(), [])
            case 1: rest = rest.dropFirst(8)
            case 5: rest = rest.dropFirst(4)
            case 2:
                let count = Int(try varint())
                guard count <= rest.count else { throw BenchError("a response is truncated") }
                body(tag >> 3, 0, rest.prefix(count))
                rest = rest.dropFirst(count)
            default: throw BenchError("a response is not protobuf")
            }
        }
    }
}

extension OriginID {
    var bytes: [UInt8] {
        (0..<16).map { index in
            let half = index < 8 ? high : low
            return UInt8(truncatingIfNeeded: half >> (56 - 8 * UInt64(index % 8)))
        }
    }
}

extension [UInt8] {
    mutating func append(littleEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    mutating func append(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    mutating func append(prefixed bytes: [UInt8]) {
        append(varint: UInt64(bytes.count))
        append(contentsOf: bytes)
    }

    mutating func append(field number: UInt8, _ bytes: [UInt8]) {
        append(number << 3 | 2)
        append(prefixed: bytes)
    }
}
