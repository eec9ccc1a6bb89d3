internal import CLMDB
internal import Foundation
internal import Synchronization

/// One LMDB file with its lock file.
///
/// Rules that this type keeps, each because LMDB breaks without it:
/// 1. MDB_NOTLS: a read transaction belongs to its holder, not to a thread.
/// 2. The map grows only while no transaction of this process is open (`gate`).
/// 3. A file that is cut off or whose pages make no sense is refused before LMDB touches it
///    (`PageCheck`): LMDB trusts its file, and following a wrong page number kills the process.
/// 4. Never MDB_WRITEMAP: on a full disk it kills the process. The lock file is always written through
///    its map, so its room is taken beforehand (`LockFileRoom`).
package final class Environment: Sendable {
    package struct Options: Sendable {
        /// The first size of the map: address space, not disk.
        package var mapSizeBytes: Int
        /// How many named tables the file may have.
        package var tablesMax: UInt32
        /// Whether a commit returns before the data is on disk; only for what can be rebuilt.
        package var isUnsynced: Bool
        /// Whether a page that is not in memory is read alone, without what lies around it.
        ///
        /// That can be megabytes, and a look-up needs none of it. Who reads all of such a file says so
        /// (`ReadTransaction.readingAhead`).
        package var isReadInPlaces: Bool
        package var isReadOnly: Bool
        /// Whether others may have the file open; without, the caller sees to it that nobody has.
        package var isShared: Bool
        /// Whether a missing file is made, and missing tables in it.
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

    /// Readers of all processes together; the table is sparse, so the number costs nothing.
    static let readersMax: UInt32 = 1_024

    #if os(iOS) || os(tvOS) || os(watchOS)
        package static let mapSizeBytesDefault = 1 << 30
    #else
        package static let mapSizeBytesDefault = 16 << 30
    #endif

    /// The map stops growing here.
    static let mapSizeBytesMax = 1 << 44

    package let path: String
    package let isReadOnly: Bool
    private let creates: Bool
    // Guarded by LMDB itself; it is freed only in `close`, when the gate has let everyone out.
    nonisolated(unsafe) let handle: OpaquePointer
    private let gate = Gate()
    private let staleReaders = Atomic(0)

    package init(path: String, options: Options) throws(LMDBError) {
        let exists = FileManager.default.fileExists(atPath: path)
        guard exists || options.creates else {
            throw LMDBError(.notFound, path: path, detail: "there is no such file")
        }
        if exists, try PageFile(path).byteCount > 0 || !options.creates {
            try Environment.checkPages(path)
        }
        if options.isShared { try LockFileRoom.reserve(for: path) }
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
                throw LMDBError(code, path: path)
            }
        }
        var stale: Int32 = 0
        mdb_reader_check(environment, &stale)
        handle = environment
        isReadOnly = options.isReadOnly
        creates = options.creates
        self.path = path
        staleReaders.store(Int(stale), ordering: .relaxed)
    }

    /// Refuses a file that LMDB must not map.
    private static func checkPages(_ path: String) throws(LMDBError) {
        let report = try PageCheck.run(path, extent: .quick)
        guard !report.isSound, let first = report.problems.first else { return }
        let others = report.problemCount - 1
        throw LMDBError(
            .damaged, path: path,
            detail: "page \(first.page): \(first.what)"
                + (others > 0 ? ", and \(others) more problems" : ""))
    }

    /// Waits for the transactions of this process to end and frees the handle.
    package func close() {
        guard gate.closeForever() else { return }
        mdb_env_close(handle)
    }

    deinit { close() }

    /// Opens a table; called once at the start, before any other transaction.
    ///
    /// A file that is not new has its tables: one that is missing there has lost its name to damage, and
    /// an empty one in its place would make every answer from it wrong without a word.
    ///
    /// - Parameter creates: whether a missing table is made; without, where the file would be, too.
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
        // LMDB closes what was opened in a transaction that is aborted.
        let ended = mdb_txn_commit(begun)
        guard ended == MDB_SUCCESS else { throw LMDBError(ended, path: path) }
        return table
    }

    /// Runs `body` in a read transaction: all that it reads is as of one commit.
    ///
    /// Do not nest: a map that has to grow waits for every reader, and a reader inside a reader would
    /// wait for the map.
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
                // Processes that died may still have their slots.
                hasCleared = true
                checkReaders()
                continue
            }
            guard code == MDB_SUCCESS, let begun else { throw LMDBError(code, path: path) }
            return try body(ReadTransaction(begun, path: path))
        }
    }

    /// Runs `body` in the one write transaction and commits what it did; whatever it throws undoes all.
    ///
    /// `body` may run more than once: when the map is full it is undone, the map grows, and it starts
    /// again.
    @available(*, noasync)
    package func write<R: ~Copyable>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        guard !isReadOnly else {
            throw LMDBError(.readOnly, path: path, detail: "it was opened for reading only")
        }
        while true {
            guard gate.enter() else { throw closed }
            var entered = true
            defer { if entered { gate.leave() } }
            var begun: OpaquePointer?
            let code = mdb_txn_begin(handle, nil, 0, &begun)
            if code == MDB_MAP_RESIZED {
                gate.leave()
                entered = false
                try adoptMapSize()
                continue
            }
            guard code == MDB_SUCCESS, let begun else { throw LMDBError(code, path: path) }
            let transaction = WriteTransaction(begun, path: path)
            do {
                let result = try body(transaction)
                try transaction.commit()
                return result
            } catch let error as LMDBError where error.kind == .mapFull {
                // The transaction has ended: by `deinit`, or by the commit that failed.
            }
            gate.leave()
            entered = false
            try growMap()
        }
    }

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

    /// Takes over the size to which another process has grown the map.
    private func adoptMapSize() throws(LMDBError) {
        try gate.alone { () throws(LMDBError) in
            let code = mdb_env_set_mapsize(handle, 0)
            guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
        }
    }

    /// Puts everything that was committed on disk; only where commits do not.
    package func synchronize() throws(LMDBError) {
        guard gate.enter() else { throw closed }
        defer { gate.leave() }
        let code = mdb_env_sync(handle, 1)
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
    }

    /// Writes a compact copy as of now to a new file at `target`.
    package func copy(to target: String) throws(LMDBError) {
        guard gate.enter() else { throw closed }
        defer { gate.leave() }
        let file = open(target, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard file >= 0 else { throw LMDBError(errno, path: target) }
        defer { _ = Foundation.close(file) }
        let code = mdb_env_copyfd2(handle, file, UInt32(MDB_CP_COMPACT))
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: target) }
        guard fsync(file) == 0 else { throw LMDBError(errno, path: target) }
    }

    /// How many named tables the file has.
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

    /// Clears the slots of readers whose processes have died; says how many there were.
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

    /// How many slots of dead readers were cleared since it was opened, then included.
    package var staleReadersCleared: Int { staleReaders.load(ordering: .relaxed) }
}

/// Lets transactions in, and lets one caller be alone when all of them are out.
private final class Gate: @unchecked Sendable {
    // Guarded by `condition`.
    private var inside = 0
    private var isShut = false
    private var isClosed = false
    private let condition = NSCondition()

    /// False once the environment is closed.
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

    /// True for the one caller who has to free the handle.
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
