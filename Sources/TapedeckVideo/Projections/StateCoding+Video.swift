internal import TapedeckModel
package import TapedeckProjections

extension StateReader {
    mutating func optionalBytes() throws(ModelError) -> [UInt8]? {
        try bool() ? try bytes() : nil
    }

    mutating func optionalBool() throws(ModelError) -> Bool? {
        try bool() ? try bool() : nil
    }

    mutating func optionalDouble() throws(ModelError) -> Double? {
        try bool() ? try double() : nil
    }

    /// Reads a position in the canonical order that was written with the same `usual` position.
    mutating func foldOrder(usually usual: FoldOrder) throws(ModelError) -> FoldOrder {
        try bool() ? usual : try foldOrder()
    }
}

extension StateWriter {
    mutating func add(_ value: [UInt8]?) { add(value) { $0.add($1) } }
    mutating func add(_ value: Bool?) { add(value) { $0.add($1) } }
    mutating func add(_ value: Double?) { add(value) { $0.add($1) } }

    /// Adds a position in the canonical order, in one byte if it is the `usual` position.
    mutating func add(_ order: FoldOrder, usually usual: FoldOrder) {
        add(order == usual)
        if order != usual { add(order) }
    }
}

extension [UInt8] {
    /// The bytes decoded as UTF-8; invalid sequences are repaired.
    package var utf8Text: String { String(decoding: self, as: UTF8.self) }
}

extension Sequence<UInt8> {
    /// The number encoded by up to eight bytes, most significant byte first.
    var bigEndianWord: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }
}

extension Int64 {
    /// Reads the number that `RowKey.ascending` wrote at the start of a key.
    init(ascending key: some Sequence<UInt8>) {
        self.init(bitPattern: key.prefix(8).bigEndianWord ^ (1 << 63))
    }

    /// Reads the number that `RowKey.descending` wrote at the start of a key.
    init(descending key: some Sequence<UInt8>) { self = ~Int64(ascending: key) }
}

extension RowKey {
    /// The end of the range of keys that begin with these strings.
    ///
    /// Each string ends with a zero byte, so replacing the last zero with 1 gives the end of the
    /// range.
    package var end: RowKey { RowKey(bytes.dropLast() + [1]) }
}
