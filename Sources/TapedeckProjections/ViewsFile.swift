internal import Foundation
internal import Synchronization
package import TapedeckLMDB
package import TapedeckLog
package import TapedeckModel

/// A views file with the tables and checkpoints of one or more projections.
///
/// Writes do not wait for the disk. The file stays intact if the process crashes. If the system
/// crashes, the file is deleted afterwards and rebuilt from the log (see `ViewsEntry`).
package final class ViewsFile: Sendable {
    /// The tables of one projection.
    package struct Tables: Sendable {
        /// Maps a key to its state (`StoredKey`).
        package let states: Table
        /// Maps a key and an item name to the item.
        package let items: Table
        /// Maps a table number (1 byte) and a row key to the value of the row.
        package let rows: Table
        /// Maps a key and an order to an in-key checkpoint; also contains the frozen keys and the
        /// reasons why they are frozen.
        package let extra: Table
    }

    package let number: UInt64
    package let environment: Environment
    /// Maps a fingerprint to a checkpoint; also contains the identity of the log.
    package let meta: Table
    /// Maps a number (integer key) to the changed rows of one commit.
    package let diffs: Table
    package let tables: [Digest16: Tables]

    /// The maximum number of projections per file; each projection has four tables, so the number
    /// of tables is far below LMDB's limit.
    static let projectionsMax = 48

    let opened: FileIdentity
    private let wasClosed = Atomic(false)

    package init(
        path: String, number: UInt64, projections: [Digest16], creating: Bool,
        mapSizeBytes: Int = Environment.mapSizeBytesDefault
    ) throws {
        guard projections.count <= ViewsFile.projectionsMax else {
            throw ProjectionError(
                .tooLarge, "\(projections.count) projections are too many for one store",
                hint: "a store can have at most \(ViewsFile.projectionsMax)")
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

    /// Sets the timestamps of the lock file to the current time, which
    /// `ProjectionRunner.viewsFiles` then reports as the time of the last use.
    private func noteUse() { utimes(Environment.lockFile(of: environment.path), nil) }

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

    /// Releases the file, which is closed once its last user in this process has released it.
    package func close() {
        guard !wasClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
        noteUse()
        OpenViews.shared.close(opened)
    }

    deinit { close() }

    // MARK: - Meta

    /// Returns the checkpoint of a projection; nil if the projection was never built in this file.
    func checkpoint(
        _ projection: Digest16, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> ProjectionCheckpoint? {
        ProjectionCheckpoint(
            decoding: try transaction.get(meta, ProjectionCheckpoint.key(projection)))
    }

    /// Returns whether the checkpoints of all drivers equal `checkpoint`.
    func isAt(
        _ checkpoint: ProjectionCheckpoint, _ drivers: [ProjectionDriver],
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> Bool {
        try drivers.allSatisfy {
            try self.checkpoint($0.fingerprint, transaction) ?? .start == checkpoint
        }
    }

    /// Returns the history mark stored with the checkpoint of a projection.
    func history(
        _ projection: Digest16, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> HistoryMark? {
        ProjectionCheckpoint.history(
            decoding: try transaction.get(meta, ProjectionCheckpoint.key(projection)))
    }

    /// Returns the checkpoints of all projections in the file, including projections unknown to
    /// this program.
    ///
    /// Throws `StoredRowError` if a row has an unreadable key, because its projection would
    /// otherwise be missed.
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

    /// Returns the identity of a log, which is stored in its views files.
    ///
    /// A copied or restored log has a new origin, so it does not accept views that contain
    /// additional or different events.
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

/// The position up to which a projection has folded the log.
package struct ProjectionCheckpoint: Hashable, Sendable {
    /// The position up to which all events have been folded.
    package var position: UInt64
    /// The number of the last included change to effective stamps; see `EventLog.overrides`.
    package var overrides: UInt64
    /// The checksum of the event at the position; another log of the same length has a different
    /// checksum there.
    package var checksum: UInt32

    package init(position: UInt64, overrides: UInt64, checksum: UInt32) {
        self.position = position
        self.overrides = overrides
        self.checksum = checksum
    }

    /// - Parameter history: The history mark of the log up to this position.
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

    /// The checkpoint before the first event.
    static let start = ProjectionCheckpoint(position: 0, overrides: 0, checksum: 0)

    /// Returns whether this checkpoint includes all events that `other` includes.
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

    /// Returns the projection whose checkpoint has the given key; nil for other keys in the table.
    static func projection(_ key: UnsafeRawBufferPointer) -> Digest16? {
        var reader = ByteReader(key)
        guard key.count == 17, reader.littleEndian(UInt8.self) == UInt8(ascii: "p"),
            let high = reader.bigEndian(UInt64.self), let low = reader.bigEndian(UInt64.self)
        else { return nil }
        return Digest16(high: high, low: low)
    }
}

/// Builds the keys of a projection's `extra` table.
package enum ExtraKey {
    package static func checkpoint(_ key: ViewKey, _ order: FoldOrder) -> [UInt8] {
        var name = Array("c".utf8) + key.bytes
        order.append(to: &name)
        return name
    }

    package static func checkpoints(_ key: ViewKey) -> [UInt8] { Array("c".utf8) + key.bytes }

    package static func frozen(_ key: ViewKey) -> [UInt8] { allFrozen + key.bytes }

    /// The prefix of all frozen keys, which are the last entries of the table.
    static let allFrozen = Array("z".utf8)
}

/// A frozen key, and the reason why it is frozen.
public struct FrozenKey: Hashable, Sendable, Codable {
    /// The name of the projection.
    public var projection: String
    /// The key.
    public var key: String
    /// The event that the fold rejected.
    public var event: String
    /// The position of the event in this store's log.
    public var position: UInt64
    /// The error thrown by the fold.
    public var reason: String
}
