internal import CISAL

/// Returns the CRC-32C (Castagnoli, RFC 3720) of `bytes`.
///
/// If the processor has a CRC-32C instruction, ISA-L uses it.
///
/// - Parameter seed: The checksum of the preceding bytes; 0 if there are none.
package func crc32c(_ bytes: UnsafeRawBufferPointer, seed: UInt32 = 0) -> UInt32 {
    var checksum = ~seed
    var rest = bytes
    // ISA-L takes lengths as C ints, so longer input is split.
    while let base = rest.baseAddress, rest.count > 0 {
        let count = min(rest.count, 1 << 30)
        checksum = crc32_iscsi(
            UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self)), Int32(count),
            checksum)
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    return ~checksum
}

/// Returns a 64-bit hash for table keys that is the same on every machine and in every version.
///
/// The hash is FNV-1a over little-endian 64-bit words (the last word is padded with zeros) with the
/// length mixed in, followed by MurmurHash3's finalizer. The hash does not resist deliberate
/// collisions, so a lookup by hash must also compare the bytes.
package func stableHash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
    let prime: UInt64 = 0x0000_0100_0000_01B3
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ seed
    var offset = 0
    while offset + 8 <= bytes.count {
        hash =
            (hash
                ^ UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            &* prime
        hash ^= hash >> 29
        offset += 8
    }
    var tail: UInt64 = 0
    var shift: UInt64 = 0
    while offset < bytes.count {
        tail |= UInt64(bytes[offset]) << shift
        shift += 8
        offset += 1
    }
    hash = (hash ^ tail) &* prime
    hash ^= UInt64(bytes.count)
    hash ^= hash >> 33
    hash &*= 0xFF51_AFD7_ED55_8CCD
    hash ^= hash >> 33
    hash &*= 0xC4CE_B9FE_1A85_EC53
    hash ^= hash >> 33
    return hash
}

/// Returns the stable hash of the string's UTF-8 bytes.
package func stableHash(_ text: String, seed: UInt64 = 0) -> UInt64 {
    var text = text
    return text.withUTF8 { stableHash(UnsafeRawBufferPointer($0), seed: seed) }
}
