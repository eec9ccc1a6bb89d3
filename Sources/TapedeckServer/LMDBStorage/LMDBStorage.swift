package import Foundation
internal import Synchronization
internal import TapedeckLMDB
package import TapedeckModel
package import TapedeckSyncProtocol

/// The storage used by `storectl serve`: one LMDB file for all spaces.
///
/// Only one server can serve a directory at a time. Other processes may open the file to manage
/// tokens.
package final class LMDBStorage: ServerStorage {
    /// The options of a storage.
    package struct Options: Sendable {
        package var refuses: RefusalPolicy
        /// The initial size of the file's memory map, in bytes.
        ///
        /// The map uses address space, not disk space, and doubles when it is full.
        package var mapSizeBytes: Int
        /// Whether to create a missing directory or file.
        package var creates: Bool
        /// The clock, in Unix milliseconds.
        package var now: @Sendable () -> UInt64
        /// Returns a new, unique lineage.
        package var randomLineage: @Sendable () -> LineageID

        package init(
            refuses: @escaping RefusalPolicy = RefusalPolicies.tooLarge(beyond: nil),
            mapSizeBytes: Int = Environment.mapSizeBytesDefault, creates: Bool = true,
            now: @escaping @Sendable () -> UInt64 = Options.systemMilliseconds,
            randomLineage: @escaping @Sendable () -> LineageID = { .random() }
        ) {
            self.refuses = refuses
            self.mapSizeBytes = mapSizeBytes
            self.creates = creates
            self.now = now
            self.randomLineage = randomLineage
        }

        package static let systemMilliseconds: @Sendable () -> UInt64 = {
            UInt64(max(0, Date().timeIntervalSince1970 * 1_000))
        }
    }

    package let directory: ServerDirectory
    let environment: Environment
    let tables: ServerTables
    let options: Options
    let readers = ReadPool()
    private let queue = CommitQueue()
    private let observers = HeadObservers()
    private let figures = Mutex((commits: UInt64(0), seconds: 0.0))
    private let isOpen = Atomic(true)

    /// Opens the server's LMDB file in a directory.
    ///
    /// Throws `ServerError`: `.newerFormat`, `.damaged`, `.accessDenied`, `.diskFull`; `.busy` if
    /// this process already has the file open; `.notFound` if the file does not exist and `creates`
    /// is false.
    package init(_ directory: ServerDirectory, options: Options = Options()) throws(ServerError) {
        if !options.creates, try !directory.exists {
            throw ServerError(
                .notFound, "there is no server file in \(directory.path)",
                hint: "start the server there first, or use another directory")
        }
        try directory.create()
        try OpenDirectories.shared.enter(directory.path)
        do {
            let isNew = try !directory.exists
            environment = try Environment(
                path: directory.store,
                options: .init(
                    mapSizeBytes: options.mapSizeBytes, tablesMax: ServerTables.count,
                    creates: true))
            tables = try ServerTables(environment)
            try LMDBStorage.settleFormat(environment, tables, directory)
            if isNew { try directory.synchronize() }
        } catch {
            OpenDirectories.shared.leave(directory.path)
            throw ServerError(wrapping: error)
        }
        self.directory = directory
        self.options = options
    }

    private static func settleFormat(
        _ environment: Environment, _ tables: ServerTables, _ directory: ServerDirectory
    ) throws {
        let found = try environment.read { transaction -> UInt32? in
            guard let row = try transaction.sealed(tables.meta, RowKey.format, named: "meta") else {
                return nil
            }
            var reader = ByteReader(row)
            return reader.littleEndian(UInt32.self)
        }
        if let found {
            guard found <= ServerDirectory.format else {
                throw ServerError(
                    .newerFormat,
                    "\(directory.path) has server format \(found); this program supports formats up to"
                        + " \(ServerDirectory.format)", hint: "upgrade this program")
            }
            return
        }
        var row: [UInt8] = []
        row.appendLittleEndian(ServerDirectory.firstFormat)
        try environment.write { try $0.seal(tables.meta, RowKey.format, row) }
    }

    /// Waits for pending writes, then closes the file; later calls throw `.unavailable`.
    package func close() {
        queue.close()
        release()
    }

    // Pending writes retain the storage, so no writes are pending here.
    deinit { release() }

    private func release() {
        guard isOpen.exchange(false, ordering: .relaxed) else { return }
        environment.close()
        OpenDirectories.shared.leave(directory.path)
    }

    // MARK: - Reading

    /// Reads a space in a single snapshot.
    private func reading<R: Sendable>(
        _ space: SpaceID, _ body: @escaping @Sendable (LMDBSpaceRows) throws -> R
    ) async throws(ServerError) -> R {
        try await readers.run {
            try self.environment.read { transaction in
                try body(try LMDBSpaceRows(space, self.tables, transaction.alias))
            }
        }
    }

    package func handshake(_ space: SpaceID) async throws(ServerError) -> WireHandshakeResponse {
        let now = options.now()
        return try await reading(space) { try $0.handshake(now: now) }
    }

    package func pull(
        _ space: SpaceID, after cursor: SyncCursor, bytesMax: Int, held: EventID?
    ) async throws(ServerError) -> WirePullResponse {
        try await reading(space) {
            try $0.pull(after: cursor, bytesMax: bytesMax, held: held)
        }
    }

    package func head(of space: SpaceID) async throws(ServerError) -> SpaceHead {
        try await reading(space) { SpaceHead($0.state) }
    }

    package func observeHeads(_ body: @escaping @Sendable (SpaceID, SpaceHead) -> Void) {
        observers.add(body)
    }

    package func checkHealth() throws(ServerError) { try queue.checkOpen() }

    package func counts() async throws(ServerError) -> StorageCounts {
        let figures = figures.withLock { $0 }
        return try await readers.run {
            var counts = StorageCounts()
            counts.commits = figures.commits
            counts.commitSeconds = figures.seconds
            for (_, state) in try self.environment.read({ try self.states($0) }) {
                counts.spaces += 1
                counts.headsTotal += state.head
            }
            return counts
        }
    }

    /// Returns all spaces.
    func states(
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> [(SpaceID, SpaceState)] {
        var found: [(SpaceID, SpaceState)] = []
        let cursor = try transaction.cursor(tables.spaces)
        var row = try cursor.first()
        while let (key, sealed) = row {
            var name = ByteReader(key)
            guard let value = SealedValue.open(sealed, key: key), let state = SpaceState(value),
                let number = name.bigEndian(UInt32.self)
            else { throw ServerError.damagedRow("spaces") }
            found.append((SpaceID(rawValue: number), state))
            row = try cursor.next()
        }
        return found
    }

    // MARK: - Writing

    package func push(
        _ space: SpaceID, lineage: LineageID, entries: Data, bases: [WireOriginState]
    ) async throws(ServerError) -> WirePushResponse {
        try await changing(space, byteCount: entries.count) { rows in
            try entries.withUnsafeBytes { bytes in
                try rows.push(
                    lineage, bytes, bases: bases, now: self.options.now(),
                    refuses: self.options.refuses)
            }
        }
    }

    package func renewLineage(
        _ space: SpaceID, cursor: SyncCursor, proof: Receipt?, hasReturned: Bool
    ) async throws(ServerError) -> WireHandshakeResponse {
        try await changing(space, byteCount: 0) { rows in
            _ = try rows.renewLineage(
                cursor, proof: proof, hasReturned: hasReturned,
                fresh: self.options.randomLineage)
            return try rows.handshake(now: self.options.now())
        }
    }

    /// Changes a space in the next group's transaction; returns once the change is on disk.
    private func changing<R: Sendable>(
        _ space: SpaceID, byteCount: Int,
        _ body: @escaping @Sendable (inout LMDBSpaceRows) throws -> R
    ) async throws(ServerError) -> R {
        let result: Result<R, ServerError> = await withCheckedContinuation { waiting in
            let request = CommitRequest(
                space: space, byteCount: byteCount,
                apply: { rows in
                    let answer = try body(&rows)
                    return { waiting.resume(returning: .success(answer)) }
                },
                fail: { waiting.resume(returning: .failure($0)) })
            do throws(ServerError) {
                try queue.add(request, drain: { self.drain() })
            } catch {
                waiting.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    private func drain() {
        while let requests = queue.take() {
            let start = ContinuousClock.now
            do throws(ServerError) {
                try queue.checkNotLatched()
                let (answers, heads) = try ServerError.wrapping { try self.commit(requests) }
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                // If nothing has changed, LMDB writes nothing, so there is no commit to count.
                if !heads.isEmpty {
                    figures.withLock { $0 = ($0.commits + 1, $0.seconds + seconds) }
                }
                for answer in answers { answer() }
                observers.announce(heads)
            } catch {
                if error.code == .inputOutput { queue.latch(error) }
                for request in requests { request.fail(error) }
            }
        }
    }

    /// Applies the requests in one transaction; returns their completions and the changed heads.
    private func commit(
        _ requests: [CommitRequest]
    ) throws -> ([@Sendable () -> Void], [SpaceID: SpaceHead]) {
        try environment.write { transaction in
            var open: [SpaceID: LMDBSpaceRows] = [:]
            var answers: [@Sendable () -> Void] = []
            for request in requests {
                do {
                    // Remove the rows from the dictionary to avoid copying them. If a push fails,
                    // the entries that it has already added are kept.
                    var rows =
                        try open.removeValue(forKey: request.space)
                        ?? LMDBSpaceRows(request.space, self.tables, transaction.alias)
                    defer { open[request.space] = rows }
                    answers.append(try request.apply(&rows))
                } catch let error as ServerError {
                    answers.append { request.fail(error) }
                }
            }
            var heads: [SpaceID: SpaceHead] = [:]
            for (space, rows) in open where rows.hasChanged {
                try rows.flush()
                heads[space] = SpaceHead(rows.state)
            }
            return (answers, heads)
        }
    }
}

/// The directories that this process has open; LMDB breaks if a process opens a file twice.
private final class OpenDirectories: Sendable {
    static let shared = OpenDirectories()
    private let paths = Mutex<Set<String>>([])

    private func canonical(_ path: String) -> String {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }

    func enter(_ path: String) throws(ServerError) {
        let name = canonical(path)
        guard paths.withLock({ $0.insert(name).inserted }) else {
            throw ServerError(
                .busy, "the server's directory \(path) is already open in this process",
                hint: "share the open storage instead of opening it again")
        }
    }

    func leave(_ path: String) {
        let name = canonical(path)
        _ = paths.withLock { $0.remove(name) }
    }
}
