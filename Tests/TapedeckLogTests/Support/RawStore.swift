import Crypto
import Foundation
import TapedeckLMDB
@testable import TapedeckLog
import TapedeckModel

/// The tables of a closed store, for tests that change them directly.
enum RawStore {
    static func edit<R>(
        _ directory: String, _ body: (borrowing WriteTransaction, LogTables) throws -> R
    ) throws -> R {
        let environment = try Environment(
            path: StoreDirectory(directory).log, options: .init(tablesMax: 8))
        defer { environment.close() }
        let tables = try LogTables(environment)
        return try environment.write { try body($0, tables) }
    }
}

/// Writes exports that a store would not write, with correct checksums.
struct ForgedExport {
    /// An error in the canonical bytes of an event.
    typealias Change = @Sendable (inout [UInt8]) -> Void

    static let changes: [Change] = [
        { $0.removeLast() }, { $0.append(0) }, { $0[0] = 2 }, { $0[33] = 2 }, { $0[34] = 0 },
        { $0[35] = 0x20 }, { $0[34] = 0xFF }, { $0.removeAll() }, { $0 = [1] },
        // A length that fits in one byte, encoded in two: the same event with different bytes.
        { $0.replaceSubrange(34..<35, with: [$0[34] | 0x80, 0]) },
    ]

    var events: UInt64 = 0
    private var bytes: [UInt8]
    private var blocks: UInt64 = 0
    private var receipts: UInt64 = 0
    private var origins: Set<OriginID> = []

    init(_ store: OriginID) { bytes = ExportFormat.header(store: store, version: 1) }

    mutating func add(
        _ batch: [EventEnvelope], receipts given: [Receipt] = [], chain: [UInt8]? = nil,
        change: Change = { _ in }
    ) {
        var body = [ExportFormat.blockKind]
        body.appendLittleEndian(UInt32(chain == nil ? 0 : 1))
        body.appendLittleEndian(UInt32(given.count))
        body.appendLittleEndian(UInt32(batch.count))
        if let chain, let last = batch.last {
            body.append(last.id)
            body.append(contentsOf: chain)
        }
        for receipt in given { body.append(receipt) }
        for event in batch {
            var canonical = event.canonicalBytes
            change(&canonical)
            body.appendLittleEndian(UInt32(canonical.count))
            body.append(contentsOf: canonical)
            origins.insert(event.id.origin)
        }
        add(body)
        blocks += 1
        events += UInt64(batch.count)
        receipts += UInt64(given.count)
    }

    private mutating func add(_ body: [UInt8]) {
        bytes += ExportFormat.frame(body) + body
    }

    mutating func end() -> [UInt8] {
        var trailer = [ExportFormat.trailerKind]
        for count in [blocks, events, receipts, UInt64(origins.count)] {
            trailer.appendLittleEndian(count)
        }
        add(trailer + Array(SHA256.hash(data: bytes)))
        return bytes
    }
}

extension EventEnvelope {
    /// The bytes that `CanonicalEvent` returns for this event if it was proposed without an
    /// explicit time.
    var canonicalBytes: [UInt8] {
        var canonical = CanonicalEvent()
        let event = ProposedEvent(
            type: type, schemaVersion: schemaVersion, tags: tags, fact: fact, causation: causation,
            correlation: correlation, retention: retention, encoding: encoding, payload: payload)
        return canonical.withBytes(
            of: event, id: id, stamp: stamp, keyID: keyID, reissuedFrom: reissuedFrom
        ) { Array($0) }
    }
}
