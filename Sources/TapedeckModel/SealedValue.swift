/// A table value that ends with a CRC-32C of its key and its other bytes.
///
/// Records contain their own checksum; small rows do not. Small rows determine which events are
/// found and which origin they belong to, so a flipped bit in a row must cause an error rather than
/// a wrong result.
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

    /// Returns the value without its checksum, or nil if the checksum does not match.
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
