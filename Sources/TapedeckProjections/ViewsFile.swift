internal import Foundation
package import TapedeckLMDB
package import TapedeckModel

/// One file of projections: the tables of one or more of them, and how far they have come.
///
/// It is written without waiting for the disk. After a crash of the process it is whole all the same;
/// after a crash of the system it is thrown away and made anew from the log (`ViewsCatalogue`).
package final class ViewsFile: Sendable {
    /// The tables of one projection.
    package struct Tables: Sendable {
        /// Key → state (`StoredKey`).
        package let states: Table
        /// Key and item's name → item.
        package let items: Table
        /// Table number (1 byte) and row key → row.
        package let rows: Table
        /// Key and order → in-key checkpoint; and which keys are frozen, and why.
        package let extra: Table
    }

    package let number: UInt64
    package let environment: Environment
    /// Fingerprint → checkpoint, and what the ring of diffs begins and ends with.
    package let meta: Table
    /// Number (integer key) → the changed rows of one commit.
    package let diffs: Table
    package let tables: [Digest16: Tables]

    /// A projection has four tables; with the two of the file this stays far below LMDB's limits.
    static let projectionsMax = 48

    package init(
        path: String, number: UInt64, projections: [Digest16], creating: Bool,
        mapSizeBytes: Int = Environment.mapSizeBytesDefault
    ) throws {
        self.number = number
        environment = try Environment(
            path: path,
            options: .init(
                mapSizeBytes: mapSizeBytes,
                tablesMax: UInt32(4 * ViewsFile.projectionsMax + 4), isUnsynced: true,
                creates: creating))
        meta = try environment.openTable("meta")
        diffs = try environment.openTable("diffs", integerKeys: true)
        var tables: [Digest16: Tables] = [:]
        for projection in projections {
            let name = projection.high.paddedHex
            tables[projection] = Tables(
                states: try environment.openTable(name + ".states"),
                items: try environment.openTable(name + ".items"),
                rows: try environment.openTable(name + ".rows"),
                extra: try environment.openTable(name + ".extra"))
        }
        self.tables = tables
    }
}

/// How far a projection has come.
package struct ProjectionCheckpoint: Hashable, Sendable {
    /// Every event up to here is folded.
    package var position: UInt64
    /// Every change of an effective stamp up to here is taken in; `EventLog.overrides`.
    package var overrides: UInt64

    package init(position: UInt64, overrides: UInt64) {
        self.position = position
        self.overrides = overrides
    }

    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(position)
        bytes.appendLittleEndian(overrides)
        return bytes
    }

    package init?(decoding bytes: UnsafeRawBufferPointer?) {
        guard let bytes else { return nil }
        var reader = ByteReader(bytes)
        guard let position = reader.littleEndian(UInt64.self),
            let overrides = reader.littleEndian(UInt64.self)
        else { return nil }
        self.init(position: position, overrides: overrides)
    }

    package static func key(_ projection: Digest16) -> [UInt8] {
        var key = Array("p".utf8)
        key.appendBigEndian(projection.high)
        key.appendBigEndian(projection.low)
        return key
    }
}

/// Names in a projection's `extra` table.
package enum ExtraKey {
    package static func checkpoint(_ key: ViewKey, _ order: FoldOrder) -> [UInt8] {
        var name = Array("c".utf8) + key.bytes
        order.append(to: &name)
        return name
    }

    package static func checkpoints(_ key: ViewKey) -> [UInt8] { Array("c".utf8) + key.bytes }

    package static func frozen(_ key: ViewKey) -> [UInt8] { Array("z".utf8) + key.bytes }
}

/// Why a key is frozen.
public struct FrozenKey: Hashable, Sendable, Codable {
    /// The projection's name.
    public var projection: String
    /// The key.
    public var key: String
    /// The event that the fold refused.
    public var event: String
    /// Its position in this store's log.
    public var position: UInt64
    /// What the fold said.
    public var reason: String
}
