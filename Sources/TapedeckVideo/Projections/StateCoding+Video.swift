internal import TapedeckModel
internal import TapedeckProjections

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
}

extension StateWriter {
    mutating func add(_ value: [UInt8]?) { add(value) { $0.add($1) } }
    mutating func add(_ value: Bool?) { add(value) { $0.add($1) } }
    mutating func add(_ value: Double?) { add(value) { $0.add($1) } }
}

extension [UInt8] {
    /// The text of UTF-8 bytes; ill-formed ones are repaired.
    var utf8Text: String { String(decoding: self, as: UTF8.self) }
}
