internal import Foundation
internal import Synchronization
package import TapedeckLMDB
package import TapedeckLog
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

    let opened: OpenViews.Place
    private let wasClosed = Atomic(false)

    package init(
        path: String, number: UInt64, projections: [Digest16], creating: Bool,
        mapSizeBytes: Int = Environment.mapSizeBytesDefault
    ) throws {
        guard projections.count <= ViewsFile.projectionsMax else {
            throw ProjectionError(
                .tooLarge, "\(projections.count) projections in one views file",
                hint: "a store keeps \(ViewsFile.projectionsMax) at the most")
        }
        let (environment, opened) = try OpenViews.shared.open(path) {
            try Environment(
                path: path,
                options: .init(
                    mapSizeBytes: mapSizeBytes,
                    tablesMax: UInt32(4 * ViewsFile.projectionsMax + 4), isUnsynced: true,
                    isReadInPlaces: true, creates: creating))
        }
        do {
            meta = try environment.openTable("meta")
            diffs = try environment.openTable("diffs", integerKeys: true)
            tables = try ViewsFile.openTables(projections, environment)
        } catch {
            OpenViews.shared.close(opened)
            throw error
        }
        self.number = number
        self.environment = environment
        self.opened = opened
        noteUse()
    }

    /// Leaves the time at the lock file: `ProjectionRunner.viewsFiles` tells from it when it was last used.
    private func noteUse() { utimes(environment.path + "-lock", nil) }

    private static func openTables(
        _ projections: [Digest16], _ environment: Environment
    ) throws -> [Digest16: Tables] {
        var tables: [Digest16: Tables] = [:]
        for projection in projections {
            let name = projection.high.paddedHex
            tables[projection] = Tables(
                states: try environment.openTable(name + ".states"),
                items: try environment.openTable(name + ".items"),
                rows: try environment.openTable(name + ".rows"),
                extra: try environment.openTable(name + ".extra"))
        }
        return tables
    }

    /// Lets go of the file; it is closed when nobody else in this process has it.
    package func close() {
        guard !wasClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
        noteUse()
        OpenViews.shared.close(opened)
    }

    deinit { close() }

    // MARK: - Meta

    /// How far a projection has come; nil where it was never built here.
    func checkpoint(
        _ projection: Digest16, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> ProjectionCheckpoint? {
        ProjectionCheckpoint(
            decoding: try transaction.get(meta, ProjectionCheckpoint.key(projection)))
    }

    /// Whether some projections have come just as far as a checkpoint.
    func isAt(
        _ checkpoint: ProjectionCheckpoint, _ drivers: [ProjectionDriver],
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> Bool {
        try drivers.allSatisfy {
            try self.checkpoint($0.fingerprint, transaction) ?? .start == checkpoint
        }
    }

    /// What the log held where the checkpoint of a projection stands.
    func history(
        _ projection: Digest16, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> HistoryMark? {
        ProjectionCheckpoint.history(
            decoding: try transaction.get(meta, ProjectionCheckpoint.key(projection)))
    }

    /// How far every projection of the file has come, also those that this program does not know.
    ///
    /// Throws `StoredRowError` for a row whose key cannot be read: the projections behind it would be forgotten.
    func checkpoints(
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> [Digest16: ProjectionCheckpoint] {
        var found: [Digest16: ProjectionCheckpoint] = [:]
        let cursor = try transaction.cursor(meta)
        var entry = try cursor.seek(Array("p".utf8))
        while let row = entry, row.key.first == UInt8(ascii: "p") {
            guard let projection = ProjectionCheckpoint.projection(row.key) else {
                throw StoredRowError(
                    cause: LMDBError(
                        .damaged, path: environment.path, detail: "a projection's name is damaged"))
            }
            found[projection] = ProjectionCheckpoint(decoding: row.value)
            entry = try cursor.next()
        }
        return found
    }

    private static let logKey = Array("log".utf8)

    /// What names the log of a file.
    ///
    /// A log that was copied or restored has taken a fresh origin, so
    /// that views that have seen more, or other events, are not taken for its own.
    static func name(of log: EventLog) -> [UInt8] {
        var name: [UInt8] = []
        for half in [log.storeID.high, log.storeID.low, log.origin.high, log.origin.low] {
            name.appendBigEndian(half)
        }
        return name
    }

    func log(_ transaction: borrowing some Readable & ~Copyable) throws -> [UInt8]? {
        try transaction.get(meta, ViewsFile.logKey).map { Array($0) }
    }

    func setLog(_ name: [UInt8], _ transaction: borrowing WriteTransaction) throws {
        try transaction.put(meta, ViewsFile.logKey, name)
    }
}

/// How far a projection has come.
package struct ProjectionCheckpoint: Hashable, Sendable {
    /// Every event up to here is folded.
    package var position: UInt64
    /// Every change of an effective stamp up to here is taken in; `EventLog.overrides`.
    package var overrides: UInt64
    /// The checksum of the event at the position: another log that is as long has another one.
    package var checksum: UInt32

    package init(position: UInt64, overrides: UInt64, checksum: UInt32) {
        self.position = position
        self.overrides = overrides
        self.checksum = checksum
    }

    /// - Parameter history: what the log holds up to here.
    package func encoded(_ history: HistoryMark) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(position)
        bytes.appendLittleEndian(overrides)
        bytes.appendLittleEndian(checksum)
        history.append(to: &bytes)
        return bytes
    }

    package init?(decoding bytes: UnsafeRawBufferPointer?) {
        guard let bytes else { return nil }
        var reader = ByteReader(bytes)
        self.init(&reader)
    }

    private init?(_ reader: inout ByteReader) {
        guard let position = reader.littleEndian(UInt64.self),
            let overrides = reader.littleEndian(UInt64.self),
            let checksum = reader.littleEndian(UInt32.self)
        else { return nil }
        self.init(position: position, overrides: overrides, checksum: checksum)
    }

    static func history(decoding bytes: UnsafeRawBufferPointer?) -> HistoryMark? {
        guard let bytes else { return nil }
        var reader = ByteReader(bytes)
        guard ProjectionCheckpoint(&reader) != nil else { return nil }
        return HistoryMark(&reader)
    }

    /// Before the first event.
    static let start = ProjectionCheckpoint(position: 0, overrides: 0, checksum: 0)

    /// Whether all that `other` has folded is folded here.
    func hasReached(_ other: ProjectionCheckpoint) -> Bool {
        (position > other.position || position == other.position && checksum == other.checksum)
            && overrides >= other.overrides
    }

    package static func key(_ projection: Digest16) -> [UInt8] {
        var key = Array("p".utf8)
        key.appendBigEndian(projection.high)
        key.appendBigEndian(projection.low)
        return key
    }

    /// The projection of a key; nil for other keys of the table.
    static func projection(_ key: UnsafeRawBufferPointer) -> Digest16? {
        var reader = ByteReader(key)
        guard key.count == 17, reader.littleEndian(UInt8.self) == UInt8(ascii: "p"),
            let high = reader.bigEndian(UInt64.self), let low = reader.bigEndian(UInt64.self)
        else { return nil }
        return Digest16(high: high, low: low)
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

    package static func frozen(_ key: ViewKey) -> [UInt8] { allFrozen + key.bytes }

    /// What the names of all frozen keys begin with; nothing stands behind them.
    static let allFrozen = Array("z".utf8)
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
