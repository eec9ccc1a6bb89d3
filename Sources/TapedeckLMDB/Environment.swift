internal import CLMDB
internal import Foundation
internal import Synchronization

/// An LMDB file and its lock file.
///
/// This type follows these rules, because LMDB is unsafe without them:
/// 1. MDB_NOTLS: a read transaction belongs to its holder, not to a thread.
/// 2. The map grows only while no transaction of this process is open (`gate`).
/// 3. Before LMDB maps a file, `PageCheck` rejects it if it is truncated or has invalid pages. LMDB
///    does not validate its file, and following a wrong page number crashes the process.
/// 4. MDB_WRITEMAP is never used, because it crashes the process if the disk is full. LMDB always
///    writes the lock file through a memory map, so disk space for the lock file is reserved first
///    (`LockFileRoom`).
/// 5. If the file or its lock file was deleted or replaced, writes fail (`WriterLock`). Otherwise,
///    processes that opened the file before and after would overwrite each other's commits.
package final class Environment: Sendable {
    package struct Options: Sendable {
        /// The initial size of the map in bytes, which takes address space but no disk space.
        package var mapSizeBytes: Int
        /// The maximum number of named tables.
        package var tablesMax: UInt32
        /// Whether a commit returns before its data is on disk, which is safe only for data that
        /// can be rebuilt.
        package var isUnsynced: Bool
        /// Whether pages are read from disk one at a time, without read-ahead.
        ///
        /// Read-ahead can fetch megabytes that a lookup does not need. To read most of a file that
        /// was opened with this option, use `ReadTransaction.readingAhead`.
        package var isReadInPlaces: Bool
        package var isReadOnly: Bool
        /// Whether other processes may have the file open; if false, the caller guarantees that
        /// none does.
        package var isShared: Bool
        /// Whether to create a missing file, and missing tables in it.
        package var creates: Bool

        package init(
            mapSizeBytes: Int = Environment.mapSizeBytesDefault, tablesMax: UInt32 = 16,
            isUnsynced: Bool = false, isReadInPlaces: Bool = false, isReadOnly: Bool = false,
            isShared: Bool = true, creates: Bool = false
        ) {
            self.mapSizeBytes = mapSizeBytes
            self.tablesMax = tablesMax
            self.isUnsynced = isUnsynced
            self.isReadInPlaces = isReadInPlaces
            self.isReadOnly = isReadOnly
            self.isShared = isShared
            self.creates = creates
        }
    }

    /// The maximum number of readers across all processes.
    ///
    /// The reader table is sparse, so a high limit costs nothing.
    static let readersMax: UInt32 = 1_024

    #if os(iOS) || os(tvOS) || os(watchOS)
        package static let mapSizeBytesDefault = 1 << 30
    #else
        package static let mapSizeBytesDefault = 16 << 30
    #endif

    /// The maximum size of the map, in bytes.
    static let mapSizeBytesMax = 1 << 44

    package let path: String
    package let isReadOnly: Bool
    private let creates: Bool
    /// Nil if the loss of the lock file does no harm, because no other process has the file open, or
    /// lost data can be rebuilt.
    private let writers: WriterLock?
    // LMDB synchronizes access to the handle. `close` frees the handle only after all transactions
    // have left the gate.
    nonisolated(unsafe) let handle: OpaquePointer
    private let gate = Gate()
    private let staleReaders = Atomic(0)

    package init(path: String, options: Options) throws(LMDBError) {
        let exists = try PathParts.exists(path)
        guard exists || options.creates else {
            throw LMDBError(.notFound, path: path, detail: "the file does not exist")
        }
        if exists, try PageFile(path).byteCount > 0 || !options.creates {
            try Environment.checkPages(path)
        }
        let lock = options.isShared ? try LockFileRoom.reserve(for: path) : nil
        var created: OpaquePointer?
        let code = mdb_env_create(&created)
        guard code == MDB_SUCCESS, let environment = created else {
            throw LMDBError(code, path: path)
        }
        var flags = UInt32(MDB_NOTLS | MDB_NOSUBDIR)
        if options.isUnsynced { flags |= UInt32(MDB_NOSYNC) }
        if options.isReadInPlaces { flags |= UInt32(MDB_NORDAHEAD) }
        if options.isReadOnly { flags |= UInt32(MDB_RDONLY) }
        if !options.isShared { flags |= UInt32(MDB_NOLOCK) }
        let steps: [() -> Int32] = [
            { mdb_env_set_mapsize(environment, options.mapSizeBytes) },
            { mdb_env_set_maxdbs(environment, options.tablesMax) },
            { mdb_env_set_maxreaders(environment, Environment.readersMax) },
            { mdb_env_open(environment, path, flags, 0o600) },
        ]
        for step in steps {
            let code = step()
            guard code == MDB_SUCCESS else {
                mdb_env_close(environment)
                // The pages were checked, so the lock file is not one of LMDB.
                if code == MDB_INVALID, options.isShared { throw WriterLock.replaced(path) }
                throw LMDBError(code, path: path)
            }
        }
        var stale: Int32 = 0
        mdb_reader_check(environment, &stale)
        handle = environment
        isReadOnly = options.isReadOnly
        writers = options.isUnsynced ? nil : lock.map { WriterLock(environment, path, $0) }
        creates = options.creates
        self.path = path
        staleReaders.store(Int(stale), ordering: .relaxed)
    }

    /// Rejects a file that LMDB must not map.
    private static func checkPages(_ path: String) throws(LMDBError) {
        let report = try PageCheck.run(path, extent: .quick)
        guard !report.isSound, let first = report.problems.first else { return }
        let others = report.problemCount - 1
        throw LMDBError(
            .damaged, path: path,
            detail: "page \(first.page): \(first.what)"
                + (others > 0 ? ", and \(others) more" : ""))
    }

    /// Waits for the transactions of this process to end, and frees the handle.
    package func close() {
        guard gate.closeForever() else { return }
        mdb_env_close(handle)
    }

    deinit { close() }

    /// Opens a table; call this once at the start, before any other transaction.
    ///
    /// An existing file must already contain all of its tables. If a table is missing, its name
    /// must have been damaged, and an empty table in its place would silently return wrong results.
    ///
    /// - Parameter creates: Whether to create a missing table; if nil, `Options.creates` applies.
    package func openTable(
        _ name: String, integerKeys: Bool = false, creates: Bool? = nil
    ) throws -> Table {
        var flags = integerKeys ? UInt32(MDB_INTEGERKEY) : 0
        if !isReadOnly, creates ?? self.creates { flags |= UInt32(MDB_CREATE) }
        if isReadOnly { return try openTableForReading(name, flags) }
        return try write { transaction throws(LMDBError) in
            try Table(named: name, flags: flags, in: transaction.handle, path: self.path)
        }
    }

    private func openTableForReading(_ name: String, _ flags: UInt32) throws(LMDBError) -> Table {
        guard gate.enter() else { throw closed }
        defer { gate.leave() }
        var begun: OpaquePointer?
        let code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &begun)
        guard code == MDB_SUCCESS, let begun else { throw LMDBError(code, path: path) }
        let table: Table
        do throws(LMDBError) {
            table = try Table(named: name, flags: flags, in: begun, path: path)
        } catch {
            mdb_txn_abort(begun)
            throw error
        }
        // Commit even if nothing was created, because LMDB closes tables that were opened in an
        // aborted transaction.
        let ended = mdb_txn_commit(begun)
        guard ended == MDB_SUCCESS else { throw LMDBError(ended, path: path) }
        return table
    }

    /// Runs `body` in a read transaction, which sees the state as of one commit.
    ///
    /// Do not nest calls, which can deadlock: growing the map waits for all readers to finish, and
    /// a nested reader would wait for the map to grow.
    @available(*, noasync)
    package func read<R: ~Copyable>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
        var hasCleared = false
        while true {
            guard gate.enter() else { throw closed }
            var entered = true
            defer { if entered { gate.leave() } }
            var begun: OpaquePointer?
            let code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &begun)
            if code == MDB_MAP_RESIZED {
                gate.leave()
                entered = false
                try adoptMapSize()
                continue
            }
            if code == MDB_READERS_FULL, !hasCleared {
                // Dead processes may still occupy reader slots; clear these slots and try again.
                hasCleared = true
                checkReaders()
                continue
            }
            guard code == MDB_SUCCESS, let begun else { throw LMDBError(code, path: path) }
            return try body(ReadTransaction(begun, path: path))
        }
    }

    /// Runs `body` in the only write transaction and commits its changes; if `body` throws, all
    /// changes are undone.
    ///
    /// `body` may run more than once. If the map is full, the changes are undone, the map grows,
    /// and `body` runs again.
    @available(*, noasync)
    package func write<R: ~Copyable>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        guard !isReadOnly else {
            throw LMDBError(.readOnly, path: path, detail: "it was opened read-only")
        }
        while true {
            guard gate.enter() else { throw closed }
            writers?.enter()
            var entered = true
            func leave() {
                guard entered else { return }
                writers?.leave()
                gate.leave()
                entered = false
            }
            defer { leave() }
            var begun: OpaquePointer?
            let code = mdb_txn_begin(handle, nil, 0, &begun)
            if code == MDB_MAP_RESIZED {
                leave()
                try adoptMapSize()
                continue
            }
            guard code == MDB_SUCCESS, let begun else { throw LMDBError(code, path: path) }
            let transaction = WriteTransaction(begun, path: path)
            do {
                try writers?.exclude(others: transaction)
                let result = try body(transaction)
                try transaction.commit()
                try writers?.committed()
                return result
            } catch let error as LMDBError where error.kind == .mapFull {
                // The transaction has already ended, in `deinit` or in the failed commit.
            }
            leave()
            try growMap()
        }
    }

    /// The path of the lock file that LMDB keeps beside a file.
    package static func lockFile(of path: String) -> String { path + "-lock" }

    private var closed: LMDBError {
        LMDBError(.busy, path: path, detail: "the environment is closed")
    }

    private func growMap() throws(LMDBError) {
        var info = MDB_envinfo()
        try gate.alone { () throws(LMDBError) in
            mdb_env_info(handle, &info)
            guard info.me_mapsize < Environment.mapSizeBytesMax else {
                throw LMDBError(.mapFull, path: path, detail: "the map has reached its limit")
            }
            let code = mdb_env_set_mapsize(handle, info.me_mapsize * 2)
            guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
        }
    }

    /// Adopts the size to which another process has grown the map.
    private func adoptMapSize() throws(LMDBError) {
        try gate.alone { () throws(LMDBError) in
            let code = mdb_env_set_mapsize(handle, 0)
            guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
        }
    }

    /// Syncs all committed data to disk; needed only with `isUnsynced`.
    package func synchronize() throws(LMDBError) {
        guard gate.enter() else { throw closed }
        defer { gate.leave() }
        let code = mdb_env_sync(handle, 1)
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
    }

    /// Writes a compact copy of the current state to an empty file; `target` is for error
    /// messages.
    package func copy(to file: Int32, _ target: String) throws(LMDBError) {
        guard gate.enter() else { throw closed }
        defer { gate.leave() }
        let code = mdb_env_copyfd2(handle, file, UInt32(MDB_CP_COMPACT))
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: target) }
    }

    /// The number of named tables in the file.
    package var tableCount: Int {
        var stat = MDB_stat()
        guard gate.enter() else { return 0 }
        defer { gate.leave() }
        mdb_env_stat(handle, &stat)
        return Int(stat.ms_entries)
    }

    package struct Facts: Sendable {
        package var mapSizeBytes: Int
        package var usedBytes: Int
        package var lastTransaction: Int
        package var pageSizeBytes: Int
        package var readers: Int
    }

    package func facts() -> Facts {
        var info = MDB_envinfo()
        var stat = MDB_stat()
        guard gate.enter() else {
            return Facts(
                mapSizeBytes: 0, usedBytes: 0, lastTransaction: 0, pageSizeBytes: 0, readers: 0)
        }
        defer { gate.leave() }
        mdb_env_info(handle, &info)
        mdb_env_stat(handle, &stat)
        return Facts(
            mapSizeBytes: info.me_mapsize,
            usedBytes: (info.me_last_pgno + 1) * Int(stat.ms_psize),
            lastTransaction: info.me_last_txnid, pageSizeBytes: Int(stat.ms_psize),
            readers: Int(info.me_numreaders))
    }

    /// Clears the reader slots of dead processes, and returns the number of slots cleared.
    @discardableResult
    package func clearStaleReaders() -> Int {
        guard gate.enter() else { return 0 }
        defer { gate.leave() }
        return checkReaders()
    }

    @discardableResult
    private func checkReaders() -> Int {
        var stale: Int32 = 0
        mdb_reader_check(handle, &stale)
        staleReaders.add(Int(stale), ordering: .relaxed)
        return Int(stale)
    }

    /// The number of reader slots of dead processes cleared since this process began to open the
    /// file.
    package var staleReadersCleared: Int { staleReaders.load(ordering: .relaxed) }
}

/// A gate that admits transactions, and can give one caller exclusive access once all have ended.
private final class Gate: @unchecked Sendable {
    // Guarded by `condition`.
    private var inside = 0
    private var isShut = false
    private var isClosed = false
    private let condition = NSCondition()

    /// Waits until transactions are admitted; returns false if the environment is closed.
    func enter() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while isShut { condition.wait() }
        if isClosed { return false }
        inside += 1
        return true
    }

    func leave() {
        condition.lock()
        inside -= 1
        if inside == 0 { condition.broadcast() }
        condition.unlock()
    }

    func alone(_ body: () throws(LMDBError) -> Void) throws(LMDBError) {
        condition.lock()
        while isShut { condition.wait() }
        isShut = true
        while inside > 0 { condition.wait() }
        condition.unlock()
        defer {
            condition.lock()
            isShut = false
            condition.broadcast()
            condition.unlock()
        }
        try body()
    }

    /// Closes the gate and waits for all transactions to end; returns false if it was already
    /// closed.
    ///
    /// The caller that receives true must free the handle.
    func closeForever() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while isShut { condition.wait() }
        if isClosed { return false }
        isClosed = true
        while inside > 0 { condition.wait() }
        return true
    }
}
