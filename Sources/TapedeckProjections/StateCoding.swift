public import TapedeckModel

/// Writes the bytes of a state from its fields, in the order in which a `StateReader` reads them.
public struct StateWriter: Sendable {
    @usableFromInline package var bytes: [UInt8]

    /// The bytes written so far, for example for an item that `StateReader.read` decodes.
    public var encoded: [UInt8] { bytes }

    /// Creates a writer.
    public init() {
        bytes = []
        // The reserved bytes are enough for most states and items; growing step by step would copy
        // the bytes several times.
        bytes.reserveCapacity(StateWriter.bytesReserved)
    }

    private static let bytesReserved = 64

    /// Adds an unsigned number.
    @inlinable
    public mutating func add(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
    /// Adds a signed number.
    @inlinable
    public mutating func add(_ value: Int64) {
        add(UInt64(bitPattern: value << 1 ^ value >> 63))
    }
    /// Adds a Boolean.
    @inlinable
    public mutating func add(_ value: Bool) { bytes.append(value ? 1 : 0) }
    /// Adds a floating-point number.
    public mutating func add(_ value: Double) { bytes.appendLittleEndian(value.bitPattern) }
    /// Adds a string.
    public mutating func add(_ value: String) { bytes.appendPrefixed(value) }
    /// Adds bytes.
    @inlinable
    public mutating func add(_ value: [UInt8]) {
        add(UInt64(value.count))
        bytes.append(contentsOf: value)
    }
    /// Adds byte arrays that are already encoded; see `StateReader.encodedBytes`.
    package mutating func add(encoded value: [UInt8]) { bytes.append(contentsOf: value) }
    /// Adds a position in the canonical order.
    public mutating func add(_ value: FoldOrder) { value.append(to: &bytes) }
    /// Adds whether there is a value, then the value.
    @inlinable
    public mutating func add<Value>(
        _ value: Value?, with write: (inout StateWriter, Value) -> Void
    ) {
        add(value != nil)
        if let value { write(&self, value) }
    }
    /// Adds a count, then each value.
    @inlinable
    public mutating func add<Value>(
        _ values: [Value], with write: (inout StateWriter, Value) -> Void
    ) {
        add(UInt64(values.count))
        for value in values { write(&self, value) }
    }
    /// Adds an optional string.
    public mutating func add(_ value: String?) { add(value) { $0.add($1) } }
    /// Adds an optional number.
    public mutating func add(_ value: Int64?) { add(value) { $0.add($1) } }
    /// Adds an event id.
    public mutating func add(_ value: EventID) {
        add(value.origin.high)
        add(value.origin.low)
        add(value.sequence)
    }
    /// Adds an optional event id.
    public mutating func add(_ value: EventID?) { add(value) { $0.add($1) } }
}

/// Reads the bytes of a state; each method throws `ModelError` with `.damaged` if the bytes end too
/// early.
public struct StateReader {
    var reader: ByteReader

    /// Whether a query reads the state, so parts at its end that only folds need can be left out.
    package let isForQuery: Bool

    @usableFromInline
    package init(_ bytes: UnsafeRawBufferPointer, isForQuery: Bool = false) {
        reader = ByteReader(bytes)
        self.isForQuery = isForQuery
    }

    /// Whether all bytes have been read.
    public var isAtEnd: Bool { reader.isAtEnd }

    /// Reads an unsigned number.
    public mutating func uint64() throws(ModelError) -> UInt64 { try found(reader.varint()) }
    /// Reads a signed number.
    public mutating func int64() throws(ModelError) -> Int64 {
        let value = try uint64()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }
    /// Reads a Boolean.
    public mutating func bool() throws(ModelError) -> Bool {
        try found(reader.littleEndian(UInt8.self)) != 0
    }
    /// Reads a floating-point number.
    public mutating func double() throws(ModelError) -> Double {
        Double(bitPattern: try found(reader.littleEndian(UInt64.self)))
    }
    /// Reads a string.
    public mutating func string() throws(ModelError) -> String {
        try found(reader.prefixedString())
    }
    /// Reads bytes.
    public mutating func bytes() throws(ModelError) -> [UInt8] {
        Array(try found(reader.prefixed()))
    }
    /// Reads several byte arrays and returns them as they are encoded, with their lengths.
    ///
    /// Costs one allocation. `read` decodes the result later if it is needed.
    package mutating func encodedBytes(_ count: Int) throws(ModelError) -> [UInt8] {
        let start = reader.offset
        for _ in 0..<count { _ = try found(reader.prefixed()) }
        return Array(UnsafeRawBufferPointer(rebasing: reader.bytes[start..<reader.offset]))
    }
    /// Reads a position in the canonical order.
    public mutating func foldOrder() throws(ModelError) -> FoldOrder {
        FoldOrder(decoding: try found(reader.slice(FoldOrder.encodedCount)))
    }
    /// Reads whether there is a value, then the value.
    @inlinable
    public mutating func optional<Value>(
        _ read: (inout StateReader) throws(ModelError) -> Value
    ) throws(ModelError) -> Value? {
        try bool() ? try read(&self) : nil
    }
    /// Reads a count, then each value.
    @inlinable
    public mutating func array<Value>(
        _ read: (inout StateReader) throws(ModelError) -> Value
    ) throws(ModelError) -> [Value] {
        let count = try self.count()
        var values: [Value] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try read(&self)) }
        return values
    }
    /// Reads an optional string.
    public mutating func optionalString() throws(ModelError) -> String? {
        try bool() ? try string() : nil
    }
    /// Reads an optional number.
    public mutating func optionalInt64() throws(ModelError) -> Int64? {
        try bool() ? try int64() : nil
    }

    /// Reads an event id.
    public mutating func eventID() throws(ModelError) -> EventID {
        let origin = OriginID(high: try uint64(), low: try uint64())
        return EventID(origin: origin, sequence: try uint64())
    }
    /// Reads an optional event id.
    public mutating func optionalEventID() throws(ModelError) -> EventID? {
        try optional { (reader) throws(ModelError) in try reader.eventID() }
    }

    /// Reads the count of an array, which cannot exceed the number of remaining bytes.
    @usableFromInline
    mutating func count() throws(ModelError) -> Int {
        let count = try uint64()
        guard count <= UInt64(reader.remaining) else { throw StateReader.short }
        return Int(count)
    }

    /// Reads the bytes of an item or row from the start.
    @inlinable
    public static func read<Value>(
        _ bytes: [UInt8], _ body: (inout StateReader) throws(ModelError) -> Value
    ) throws(ModelError) -> Value {
        try bytes.withUnsafeBufferPointer { (buffer) throws(ModelError) in
            var reader = StateReader(UnsafeRawBufferPointer(buffer))
            return try body(&reader)
        }
    }

    private func found<Value>(_ value: Value?) throws(ModelError) -> Value {
        guard let value else { throw StateReader.short }
        return value
    }

    private static let short = ModelError(.damaged, "the state of a projection is truncated")
}
