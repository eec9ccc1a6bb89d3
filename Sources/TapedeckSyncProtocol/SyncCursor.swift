internal import Crypto
internal import Foundation
package import TapedeckModel

/// How far a device has read a server's log.
///
/// The digest is computed by the device from what it has stored, never taken over from the server:
/// a server that lost a part of its log, or holds another one, cannot pass for the one that was read.
package struct SyncCursor: Hashable, Sendable {
    /// Which life of the server.
    package var lineage: LineageID
    /// The last position that was read; 0 before the first.
    package var position: UInt64
    /// Over all entries up to there.
    package var digest: SyncDigest

    /// Before the first entry of a lineage.
    package init(_ lineage: LineageID) {
        self.init(lineage, position: 0, digest: SyncDigest())
    }

    package init(_ lineage: LineageID, position: UInt64, digest: SyncDigest) {
        self.lineage = lineage
        self.position = position
        self.digest = digest
    }

    package init?(_ wire: WireCursor) {
        guard let lineage = LineageID(wire.lineage),
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

/// A hash chain over the entries of a server's log: 16 bytes, cut off a SHA-256.
package struct SyncDigest: Hashable, Sendable, CustomStringConvertible {
    private var high: UInt64 = 0
    private var low: UInt64 = 0

    /// Before the first entry: zeros.
    package init() {}

    /// Reads 16 bytes; anything else gives nil.
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

    /// Takes in the next entry.
    ///
    /// - Parameters:
    ///   - refusal: the code with which the entry was refused; nil where it was not.
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
