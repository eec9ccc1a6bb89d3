internal import Foundation
package import TapedeckLMDB
public import TapedeckModel
internal import Synchronization

/// The append-only log of one store: the only ground state.
///
/// Invariants:
/// 1. Positions are gapless from 1; sequences are gapless from 1 for each origin; both are assigned
///    inside the committing transaction.
/// 2. An origin's events stand in the order of their sequences.
/// 3. A recorded event never changes. Its record carries a CRC-32C of all its bytes, and the last
///    record of each origin in a commit carries that origin's hash chain.
/// 4. What `append` has acknowledged is on disk.
/// 5. Indexes may lag behind the log (`IndexCatalogue`); whoever asks them also looks at the rest.
///
/// One process may open a store once; several processes may share it.
public final class EventLog: Sendable {
    /// How an open log behaves.
    public struct Options: Sendable {
        /// The first size of the file's map in bytes: address space, not disk.
        ///
        /// It doubles when full.
        public var mapSizeBytes: Int
        /// Whether nothing is ever written: for stores on read-only media.
        public var isReadOnly: Bool
        /// How many events may wait to be indexed before that is done in the background.
        public var unindexedEventsMax: UInt64
        /// The time of day, in Unix milliseconds; injected by tests and simulators.
        public var now: @Sendable () -> UInt64
        /// Where fresh identities come from; injected by simulators.
        package var randomID: @Sendable () -> OriginID = { .random() }

        /// Makes options; the defaults suit an app.
        public init(
            mapSizeBytes: Int = 16 << 30, isReadOnly: Bool = false,
            unindexedEventsMax: UInt64 = 65_536,
            now: @escaping @Sendable () -> UInt64 = Options.systemMilliseconds
        ) {
            self.mapSizeBytes = mapSizeBytes
            self.isReadOnly = isReadOnly
            self.unindexedEventsMax = unindexedEventsMax
            self.now = now
        }

        /// The system's clock.
        public static let systemMilliseconds: @Sendable () -> UInt64 = {
            UInt64(max(0, Date().timeIntervalSince1970 * 1_000))
        }
    }

    let environment: Environment
    let tables: LogTables
    private let entry: OpenStores.Entry
    package let directory: StoreDirectory
    let options: Options
    /// The store's name, for ever; a copy keeps it and takes another origin.
    public let storeID: OriginID
    /// The origin that this store writes as; a store that was copied or restored takes a fresh one.
    public var origin: OriginID { state.withLock(\.ownRow.id) }
    /// What is in memory of the log; replaced after each commit.
    ///
    /// See `LogState`.
    let state: Mutex<LogState>
    let tail = TailIndex()
    let queue = AppendQueue()
    let maintenance = DispatchQueue(label: "tapedeck.log.maintenance", qos: .utility)
    let observers = Mutex<[Int: @Sendable (LogPosition) -> Void]>([:])
    let subscriptions = Mutex<[ObjectIdentifier: WeakSubscription]>([:])

    /// Opens the store in `directory`.
    ///
    /// Costs a few reads; what is not indexed is looked at only when an index is first asked.
    ///
    /// Throws `LogError`: `.noStore`, `.newerFormat`, `.damaged` (a missing, cut off or foreign file),
    /// `.busy` (already open in this process), `.accessDenied`, `.diskFull`.
    public convenience init(opening directory: String, options: Options = Options())
        throws(LogError)
    {
        let place = StoreDirectory(directory)
        let entry = try OpenStores.shared.enter(directory)
        var lock = try place.lockForOpening(isReadOnly: options.isReadOnly)
        // It may have been made since the lock was looked for.
        if lock == nil, !options.isReadOnly, place.exists {
            lock = try place.lockForOpening(isReadOnly: false)
        }
        defer { lock?.release() }
        do throws(LogError) {
            try self.init(opening: place, options, entry)
        } catch {
            if error.code == .noStore { lock?.remove() }
            throw error
        }
    }

    /// Makes a new store in `directory` and opens it.
    ///
    /// The store is there whole, or not at all, also where the process is killed or the power fails. Of several that
    /// make it at once one does.
    ///
    /// Throws `LogError`: `.storeExists` where a store stands already, `.busy` where another process has been making or
    /// erasing one there for a minute, and what opening throws.
    public static func create(
        _ directory: String, options: Options = Options()
    ) throws(LogError) -> EventLog {
        let place = StoreDirectory(directory)
        return try NewStore.build(
            at: place, "creating", adopts: true
        ) { part throws(LogError) in
            try fill(part, options)
        } finish: { store, _ throws(LogError) in
            try EventLog(opening: place, options, store.entry)
        }
    }

    /// Makes an empty store in a directory that is there.
    private static func fill(
        _ place: StoreDirectory, _ options: Options
    ) throws(LogError) {
        let identity = StoreIdentity(store: options.randomID(), origin: options.randomID())
        try LogError.wrapping {
            let environment = try Environment(
                path: place.log,
                options: .init(
                    mapSizeBytes: options.mapSizeBytes, tablesMax: 8, isShared: false,
                    creates: true))
            defer { environment.close() }
            let tables = try LogTables(environment)
            let mark = try place.installMark()
            try environment.write { try identity.become($0, tables, from: nil, mark: mark) }
        }
        try place.writeMarker(
            store: identity.store.description, format: StoreDirectory.firstFormat)
    }

    /// Opens a store whose opening lock is held.
    private init(
        opening place: StoreDirectory, _ options: Options, _ entry: OpenStores.Entry
    ) throws(LogError) {
        _ = try place.readMarker()
        do {
            let environment = try Environment(
                path: place.log,
                options: .init(
                    mapSizeBytes: options.mapSizeBytes, tablesMax: 8,
                    isReadOnly: options.isReadOnly))
            let tables = try LogTables(environment)
            let identity = try StoreIdentity.settle(environment, tables, place, options)
            let read = try environment.read { try LogState(reading: $0, tables) }
            self.environment = environment
            self.tables = tables
            self.entry = entry
            storeID = identity.store
            state = Mutex(read)
            directory = place
            self.options = options
        } catch {
            throw LogError.wrapping(error)
        }
    }

    /// Waits for what is under way, then closes the files; subscriptions end.
    ///
    /// Later calls throw `.closed`.
    public func close() {
        guard queue.close() else { return }
        queue.flush { self.drain() }
        queue.waitUntilIdle()
        for subscription in openSubscriptions { subscription.close() }
        maintenance.sync {}
        release()
    }

    private func release() {
        environment.close()
        entry.leave()
    }

    deinit {
        // Whatever runs in the background holds the log, so nothing does; and this may be the end of a
        // background block, which must not wait for its own queue.
        if queue.close() { release() }
    }

    /// Stops writing and lets go of every lock, for a process about to be suspended by the system.
    ///
    /// What was acknowledged is on disk. Appends throw `.closed` until `resume()`; subscriptions wait.
    public func suspend() {
        queue.suspend()
        queue.flush { self.drain() }
        queue.waitUntilIdle()
        for subscription in openSubscriptions { subscription.suspend() }
        maintenance.sync {}
        environment.clearStaleReaders()
    }

    /// Takes up writing again.
    public func resume() {
        queue.resume()
        for subscription in openSubscriptions { subscription.resume() }
    }

    /// The position of the last event that this process knows to be recorded.
    public var head: LogPosition { LogPosition(rawValue: state.withLock(\.head)) }

    /// The time of day, in Unix milliseconds, as the store sees it.
    package var now: @Sendable () -> UInt64 { options.now }

    /// Asks the file for the last position, events of other processes included.
    ///
    /// Costs a microsecond.
    public func currentHead() throws(LogError) -> LogPosition {
        try read { transaction in LogPosition(rawValue: try self.lastPosition(transaction)) }
    }

    func lastPosition(_ transaction: borrowing some Readable & ~Copyable) throws -> UInt64 {
        guard let last = try transaction.cursor(tables.events).last() else { return 0 }
        return last.key.loadUnaligned(as: UInt64.self)
    }

    /// Runs `body` in a read transaction and gives its errors this room's names.
    @available(*, noasync)
    package func read<R: ~Copyable>(
        _ body: (borrowing ReadTransaction) throws -> R
    ) throws(LogError) -> R {
        if queue.isClosed { throw LogError.isClosed }
        return try LogError.wrapping { try environment.read(body) }
    }

    /// Reads `meta` again when another process has added events, origins or types.
    func refreshState() throws(LogError) {
        // Asked before the transaction begins: all of this is committed, so the transaction sees it,
        // unless the file was put back to an earlier state.
        let known = state.withLock(\.head)
        let fresh = try read { transaction -> LogState? in
            let head = try self.lastPosition(transaction)
            guard head != self.state.withLock(\.head) else { return nil }
            return try LogState(reading: transaction, self.tables)
        }
        guard let fresh else { return }
        if fresh.head < known { tail.forget() }
        state.withLock {
            if fresh.head >= $0.head || fresh.head < known { $0 = fresh }
        }
    }

    /// Forgets what is in memory of the log, for whoever has noticed that its file holds another history
    /// than before.
    package func forgetHistory() throws(LogError) {
        tail.forget()
        let fresh = try read { try LogState(reading: $0, self.tables) }
        state.withLock { $0 = fresh }
    }

    /// Calls `body` on some thread after each commit of this process, with the new head.
    package func observeCommits(_ body: @escaping @Sendable (LogPosition) -> Void) -> Int {
        observers.withLock { observers in
            let number = (observers.keys.max() ?? 0) + 1
            observers[number] = body
            return number
        }
    }

    package func stopObserving(_ number: Int) {
        observers.withLock { _ = $0.removeValue(forKey: number) }
    }

    /// How many readers of processes that had died were let go of since the log was opened, then
    /// included; such a reader keeps the file from using its free pages again.
    public var staleReadersCleared: Int { environment.staleReadersCleared }

    /// Bytes of the log file in use.
    public var usedBytes: Int { environment.facts().usedBytes }
}

extension LogError {
    static let isClosed = LogError(
        .closed, "the store is closed or suspended", hint: "open it again, or call resume()")

    static func wrapping(_ error: any Error) -> LogError {
        do {
            return try LogError.wrapping { throw error }
        } catch {
            return error
        }
    }
}

/// The stores that this process has open: LMDB breaks when one file is opened twice in a process.
final class OpenStores: Sendable {
    static let shared = OpenStores()
    private let names = Mutex<Set<String>>([])

    /// The right to open a store's files in this process, as long as this lives.
    final class Entry: Sendable {
        private let name: String
        private let isIn = Atomic(true)

        fileprivate init(_ name: String) { self.name = name }

        /// Lets others open the store.
        ///
        /// Only the first call counts: later the name may belong to a log that was opened since.
        func leave() {
            guard isIn.exchange(false, ordering: .acquiringAndReleasing) else { return }
            OpenStores.shared.names.withLock { _ = $0.remove(name) }
        }

        deinit { leave() }
    }

    func enter(_ path: String) throws(LogError) -> Entry {
        let name = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        guard names.withLock({ $0.insert(name).inserted }) else {
            throw LogError(
                .busy, "the store in \(path) is already open in this process",
                hint: "share the open store instead of opening it again")
        }
        return Entry(name)
    }
}

/// Who this store is: its name, its origin, and the place where it was last opened.
struct StoreIdentity {
    var store: OriginID
    var origin: OriginID

    /// Reads who the store is.
    ///
    /// A store that is opened at another place than it was (another machine, another file) was copied
    /// or restored: it takes a fresh origin, so that it cannot fork the store it was copied from.
    static func settle(
        _ environment: Environment, _ tables: LogTables, _ place: StoreDirectory,
        _ options: EventLog.Options
    ) throws -> StoreIdentity {
        let mark = try place.installMark()
        func settled(
            _ transaction: borrowing some Readable & ~Copyable
        ) throws -> (identity: StoreIdentity, isSettled: Bool) {
            guard let (identity, former) = try read(transaction, tables) else {
                throw LogError(
                    .damaged, "\(place.log) does not say which store it is",
                    hint: "restore a backup")
            }
            return (identity, former == mark || options.isReadOnly)
        }
        let (known, isSettled) = try environment.read { try settled($0) }
        if isSettled { return known }
        return try environment.write { transaction in
            // Another process may have settled it meanwhile.
            let (known, isSettled) = try settled(transaction)
            if isSettled { return known }
            let identity = StoreIdentity(store: known.store, origin: options.randomID())
            try identity.become(transaction, tables, from: known.origin, mark: mark)
            return identity
        }
    }

    /// The store's name; nil for a log that nobody has begun.
    static func store(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> OriginID? {
        try read(transaction, tables)?.identity.store
    }

    /// Makes the store write as this origin from the next event on; its clock goes on.
    func become(
        _ transaction: borrowing WriteTransaction, _ tables: LogTables, from former: OriginID?,
        mark: [UInt8]
    ) throws {
        var ordinal: UInt32 = 0
        while try transaction.meta(tables, MetaKey.origin(ordinal)) != nil { ordinal += 1 }
        var row = OriginRow(id: origin)
        if let former { row.clock = try StoreIdentity.clock(of: former, transaction, tables) }
        try transaction.setMeta(tables, MetaKey.origin(ordinal), row.encoded())
        try transaction.setMeta(tables, MetaKey.store, encoded(mark))
        if try transaction.meta(tables, MetaKey.format) == nil {
            try StorageFormat.set(StoreDirectory.firstFormat, transaction, tables)
        }
    }

    /// Notes where the store lies, so that it goes on as the origin that it was.
    static func setPlace(
        _ mark: [UInt8], _ transaction: borrowing WriteTransaction, _ tables: LogTables
    ) throws {
        guard let row = try transaction.meta(tables, MetaKey.store),
            let (identity, _) = try StoreIdentity.read(row)
        else { throw LogError(.damaged, "the log does not say which store it is") }
        try transaction.setMeta(tables, MetaKey.store, identity.encoded(mark))
    }

    /// Takes a fresh origin in a store that is open.
    static func renew(
        _ transaction: borrowing WriteTransaction, _ tables: LogTables, origin: OriginID
    ) throws {
        guard let row = try transaction.meta(tables, MetaKey.store),
            let (identity, mark) = try StoreIdentity.read(row)
        else { throw LogError(.damaged, "the log does not say which store it is") }
        try StoreIdentity(store: identity.store, origin: origin)
            .become(transaction, tables, from: identity.origin, mark: mark)
    }

    /// The origin that the store writes as.
    static func origin(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> OriginID {
        guard let row = try transaction.meta(tables, MetaKey.store),
            let (identity, _) = try StoreIdentity.read(row)
        else { throw LogError(.damaged, "the log does not say which store it is") }
        return identity.origin
    }

    /// Makes the next opening take a fresh origin, wherever it is; says which store it is, and in which
    /// format.
    ///
    /// A copy of a log can come to lie in a file with the very number that the mark names.
    static func forgetPlace(
        _ transaction: borrowing WriteTransaction, _ tables: LogTables
    ) throws -> (store: OriginID, format: Int) {
        let format = try StorageFormat.read(transaction, tables)
        guard let row = try transaction.meta(tables, MetaKey.store),
            let read = try StoreIdentity.read(row)
        else { throw LogError(.damaged, "the log does not say which store it is") }
        try transaction.setMeta(tables, MetaKey.store, read.identity.encoded([]))
        return (read.identity.store, format)
    }

    private static func clock(
        of origin: OriginID, _ transaction: borrowing WriteTransaction, _ tables: LogTables
    ) throws -> Stamp {
        var ordinal: UInt32 = 0
        while let bytes = try transaction.meta(tables, MetaKey.origin(ordinal)) {
            if let row = OriginRow(decoding: bytes), row.id == origin { return row.clock }
            ordinal += 1
        }
        return .zero
    }

    private func encoded(_ mark: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        for half in [store.high, store.low, origin.high, origin.low] { bytes.appendBigEndian(half) }
        return bytes + mark
    }

    private static func read(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> (identity: StoreIdentity, mark: [UInt8])? {
        try transaction.meta(tables, MetaKey.store).flatMap { try read($0) }
    }

    private static func read(
        _ row: UnsafeRawBufferPointer
    ) throws -> (identity: StoreIdentity, mark: [UInt8])? {
        var reader = ByteReader(row)
        guard let a = reader.bigEndian(UInt64.self), let b = reader.bigEndian(UInt64.self),
            let c = reader.bigEndian(UInt64.self), let d = reader.bigEndian(UInt64.self),
            let mark = reader.slice(reader.remaining)
        else { throw LogError(.damaged, "the log's own name in its meta table is damaged") }
        return (
            StoreIdentity(
                store: OriginID(high: a, low: b), origin: OriginID(high: c, low: d)), Array(mark)
        )
    }
}
