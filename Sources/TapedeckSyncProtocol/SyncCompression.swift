internal import CZstd
package import TapedeckModel

/// Bodies on the wire are compressed by Zstandard (RFC 8878), named `zstd` as a content coding.
///
/// Level 1: on events it makes about a third, at some hundreds of megabytes a second.
package enum SyncCompression {
    package static let coding = "zstd"
    private static let level: Int32 = 1

    package static func compress(_ bytes: [UInt8]) -> [UInt8] {
        let bound = ZSTD_compressBound(bytes.count)
        return [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
            let written = bytes.withUnsafeBytes {
                ZSTD_compress(buffer.baseAddress, bound, $0.baseAddress, $0.count, level)
            }
            // It fails on a buffer that is too small only, and `bound` is never that.
            precondition(ZSTD_isError(written) == 0, "the bound of a compressed body was too small")
            count = written
        }
    }

    /// Undoes `compress`; never makes more than `countMax` bytes, whatever the input claims.
    ///
    /// Throws `ModelError`: `.altered` for what is no whole frame that tells its size, `.tooLarge`.
    package static func decompress(
        _ bytes: UnsafeRawBufferPointer, countMax: Int
    ) throws(ModelError) -> [UInt8] {
        let claimed = ZSTD_getFrameContentSize(bytes.baseAddress, bytes.count)
        guard claimed != unknownSize, claimed != invalidSize else {
            throw ModelError(.altered, "a body is not a Zstandard frame that tells its size")
        }
        guard claimed <= UInt64(countMax) else {
            throw ModelError(
                .tooLarge, "a body of \(claimed) bytes is larger than \(countMax)",
                hint: "send less at a time")
        }
        var written = 0
        let result = [UInt8](unsafeUninitializedCapacity: Int(claimed)) { buffer, count in
            written = ZSTD_decompress(
                buffer.baseAddress, Int(claimed), bytes.baseAddress, bytes.count)
            count = ZSTD_isError(written) == 0 ? written : 0
        }
        guard ZSTD_isError(written) == 0 else {
            throw ModelError(.altered, "a compressed body was changed or cut off on the way")
        }
        return result
    }

    // The header's macros are casts, which do not come through.
    private static let unknownSize = UInt64.max
    private static let invalidSize = UInt64.max - 1
}
