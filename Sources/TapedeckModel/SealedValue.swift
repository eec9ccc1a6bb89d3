/// A value in a table that ends in a CRC-32C of its key and itself.
///
/// A record carries its own checksum. Small rows decide which events are found and whose they are, so
/// a flipped bit in one of them must be an error, too, and not a wrong answer.
package enum SealedValue {
    private static let checksumCount = 4

    package static func seal(_ value: inout [UInt8], key: UnsafeRawBufferPointer) {
        let checksum = value.withUnsafeBytes { crc32c($0, seed: crc32c(key)) }
        value.appendLittleEndian(checksum)
    }

    package static func seal(_ value: inout [UInt8], key: [UInt8]) {
        key.withUnsafeBytes { seal(&value, key: $0) }
    }

    package static func seal(_ value: inout [UInt8], integerKey: UInt64) {
        withUnsafeBytes(of: integerKey.littleEndian) { seal(&value, key: $0) }
    }

    /// The value without its checksum; nil where that does not fit.
    package static func open(
        _ sealed: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
    ) -> UnsafeRawBufferPointer? {
        guard sealed.count >= checksumCount else { return nil }
        let value = UnsafeRawBufferPointer(rebasing: sealed.dropLast(checksumCount))
        let stored = UInt32(
            littleEndian: sealed.loadUnaligned(fromByteOffset: value.count, as: UInt32.self))
        return stored == crc32c(value, seed: crc32c(key)) ? value : nil
    }

    package static func open(
        _ sealed: UnsafeRawBufferPointer, integerKey: UInt64
    ) -> UnsafeRawBufferPointer? {
        withUnsafeBytes(of: integerKey.littleEndian) { open(sealed, key: $0) }
    }
}
