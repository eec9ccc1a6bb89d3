internal import CZstd
package import TapedeckModel

/// Zstandard compression (RFC 8878) of HTTP bodies; the content coding is `zstd`.
///
/// Level 1 compresses events to about a third, at several hundred megabytes per second.
package enum SyncCompression {
    package static let coding = "zstd"
    private static let level: Int32 = 1

    package static func compress(_ bytes: [UInt8]) -> [UInt8] {
        let bound = ZSTD_compressBound(bytes.count)
        return [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
            let written = bytes.withUnsafeBytes {
                ZSTD_compress(buffer.baseAddress, bound, $0.baseAddress, $0.count, level)
            }
            // Compression fails only if the buffer is too small, and `bound` is always large
            // enough.
            precondition(ZSTD_isError(written) == 0, "ZSTD_compressBound was too small")
            count = written
        }
    }

    /// Decompresses a body; never produces more than `countMax` bytes, whatever size the input
    /// declares.
    ///
    /// Throws `ModelError`: `.altered` if the bytes are not a complete frame that declares its
    /// size, `.tooLarge` if that size exceeds `countMax`.
    package static func decompress(
        _ bytes: UnsafeRawBufferPointer, countMax: Int
    ) throws(ModelError) -> [UInt8] {
        let claimed = ZSTD_getFrameContentSize(bytes.baseAddress, bytes.count)
        guard claimed != unknownSize, claimed != invalidSize else {
            throw ModelError(.altered, "the body is not a Zstandard frame with a declared size")
        }
        guard claimed <= UInt64(countMax) else {
            throw ModelError(
                .tooLarge,
                "the decompressed body is \(claimed) bytes long; the limit is \(countMax)",
                hint: "send less data at once")
        }
        var written = 0
        let result = [UInt8](unsafeUninitializedCapacity: Int(claimed)) { buffer, count in
            written = ZSTD_decompress(
                buffer.baseAddress, Int(claimed), bytes.baseAddress, bytes.count)
            count = ZSTD_isError(written) == 0 ? written : 0
        }
        guard ZSTD_isError(written) == 0 else {
            throw ModelError(.altered, "the compressed body was changed or truncated in transit")
        }
        return result
    }

    // The header defines these values as macros with casts, which Swift does not import.
    private static let unknownSize = UInt64.max
    private static let invalidSize = UInt64.max - 1
}
