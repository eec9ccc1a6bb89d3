internal import Crypto
internal import Foundation
package import TapedeckModel

/// A device's progress in reading a server's log.
///
/// The device computes the digest from the entries that it has stored, and never copies the digest
/// from the server. The digest therefore reveals a server that has lost part of its log or has a
/// different log.
package struct SyncCursor: Hashable, Sendable {
    /// The server's lineage.
    package var lineage: LineageID
    /// The last position that the device has read; 0 if it has read none.
    package var position: UInt64
    /// The digest of all entries up to that position.
    package var digest: SyncDigest

    /// Creates a cursor before the first entry of a lineage.
    package init(_ lineage: LineageID) {
        self.init(lineage, position: 0, digest: SyncDigest())
    }

    package init(_ lineage: LineageID, position: UInt64, digest: SyncDigest) {
        self.lineage = lineage
        self.position = position
        self.digest = digest
    }

    package init?(_ wire: WireCursor) {
        guard let lineage = LineageID(wire.lineage), wire.position <= StoredNumber.max,
            let digest = wire.digest.withUnsafeBytes({ SyncDigest($0) })
        else {
            return nil
        }
        self.init(lineage, position: wire.position, digest: digest)
    }

    package var wire: WireCursor {
        var wire = WireCursor()
        wire.lineage = lineage.data
        wire.position = position
        wire.digest = Data(digest.bytes)
        return wire
    }
}

/// A hash chain over the entries of a server's log: the first 16 bytes of a SHA-256.
package struct SyncDigest: Hashable, Sendable, CustomStringConvertible {
    private var high: UInt64 = 0
    private var low: UInt64 = 0

    /// Creates the digest of a log without entries: all zeros.
    package init() {}

    /// Reads 16 bytes; returns nil for any other number of bytes.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == SyncDigest.count else { return nil }
        high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    package static let count = 16

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(high)
        bytes.appendBigEndian(low)
        return bytes
    }

    package var description: String { high.paddedHex + low.paddedHex }

    /// Adds the next entry.
    ///
    /// - Parameters:
    ///   - refusal: The code with which the entry was refused; nil if it was accepted.
    package mutating func add(
        position: UInt64, receivedAt: Stamp, refusal: String?, kind: SyncEntryKind,
        _ body: UnsafeRawBufferPointer
    ) {
        var head: [UInt8] = []
        head.reserveCapacity(64)
        head.appendBigEndian(high)
        head.appendBigEndian(low)
        head.appendLittleEndian(position)
        head.appendLittleEndian(receivedAt.rawValue)
        head.appendPrefixed(refusal ?? "")
        head.append(kind.rawValue)
        head.appendLittleEndian(UInt32(body.count))
        var sha = SHA256()
        head.withUnsafeBytes { sha.update(bufferPointer: $0) }
        sha.update(bufferPointer: body)
        sha.finalize().withUnsafeBytes { bytes in
            high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
            low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }
}
