internal import Foundation
package import TapedeckLMDB
public import TapedeckModel
internal import Synchronization

/// The append-only log of a store, from which all other state is derived.
///
/// Invariants:
/// 1. Positions start at 1 and have no gaps; the same is true of the sequence numbers of each
///    origin. Positions and sequence numbers are assigned inside the committing transaction. Range
///    stubs fill the gaps left by compacted events.
/// 2. The events of an origin are stored in the order of their sequence numbers.
/// 3. A recorded event never changes. The record of an event has a CRC-32C of all its bytes, and
///    the last record of each origin in a commit has that origin's hash chain.
/// 4. Events acknowledged by `append` are on disk.
/// 5. Indexes may lag behind the log (`IndexCatalogue`); readers of an index also search the events
///    that it does not cover yet.
///
/// A process can open a store only once, but several processes can have the store open at the same
/// time.
public final class EventLog: Sendable {
    /// The settings of an open log.
    public struct Options: Sendable {
        /// The initial size of the file's map in bytes, which takes address space but no disk
        /// space.
        ///
        /// The map doubles in size when it is full.
        public var mapSizeBytes: Int
        /// Whether the log is opened without writing anything, as for read-only media.
        public var isReadOnly: Bool
        /// The maximum number of unindexed events; if there are more, they are indexed in the
        /// background.
        public var unindexedEventsMax: UInt64
        /// The clock, in milliseconds since 1970; tests and simulators replace it.
        public var now: @Sendable () -> UInt64
        /// The source of new ids; simulators replace it.
        package var randomID: @Sendable () -> OriginID = { .random() }

        /// Creates options; the defaults suit an app.
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
    /// The store's permanent id; a copy of the store keeps this id, but gets a new origin.
    public let storeID: OriginID
    /// The origin of this store's own events; a copied or restored store gets a new origin.
    public var origin: OriginID { state.withLock(\.ownRow.id) }
    /// The log's state in memory, replaced after each commit.
    ///
    /// See `LogState`.
    let state: Mutex<LogState>
    let tail = TailIndex()
    /// The position up to which the log is known to contain no sample events.
    let sampleFree = Mutex<UInt64>(0)
    let queue = AppendQueue()
    let maintenance = DispatchQueue(label: "tapedeck.log.maintenance", qos: .utility)
    let observers = Mutex<[Int: @Sendable (LogPosition) -> Void]>([:])
    let subscriptions = Mutex<[ObjectIdentifier: WeakSubscription]>([:])

    /// Opens the store in `directory`.
    ///
    /// The cost is a few reads; unindexed events are read only when the index is first used.
    ///
    /// Throws `LogError`: `.noStore`, `.newerFormat`, `.damaged` (a missing, truncated or foreign
    /// file), `.busy` (already open in this process, or the directory was replaced meanwhile),
    /// `.accessDenied`, `.readOnly`, `.diskFull`, `.usage` (a path that cannot be used).
    public convenience init(opening directory: String, options: Options = Options())
        throws(LogError)
    {
        let place = StoreDirectory(directory)
        let entry = try OpenStores.shared.enter(directory)
        var lock = try place.lockForOpening(isReadOnly: options.isReadOnly)
        // The store may have been created since the first attempt to lock it.
        if lock == nil, !options.isReadOnly, try place.exists {
            lock = try place.lockForOpening(isReadOnly: false)
        }
        defer { lock?.release() }
        do throws(LogError) {
            try self.init(opening: place, options, entry)
        } catch {
            var error = error
            // Files that are missing because the directory was moved are not damage.
            do throws(LogError) { try place.checkIsInPlace(lock) } catch let moved { error = moved }
            if error.code == .noStore { lock?.remove() }
            throw error
        }
        do throws(LogError) {
            // The files could be those of two stores.
            try place.checkIsInPlace(lock)
        } catch {
            close()
            throw error
        }
        if lock != nil, !options.isReadOnly { place.removeLeftovers() }
    }

    /// Creates a new store in `directory` and opens it.
    ///
    /// The store is created completely or not at all, even if the process is killed or the power
    /// fails. If several processes create a store in `directory` at the same time, only one
    /// succeeds.
    ///
    /// - Parameter events: The events that the store contains from the beginning.
    ///
    /// Throws `LogError`: `.storeExists` if there is a store already, `.busy` if another process is
    /// creating or erasing a store there and does not finish within a minute, and the errors that
    /// opening a store can throw.
    public static func create(
        _ directory: String, options: Options = Options(), events: [ProposedEvent] = []
    ) throws(LogError) -> EventLog {
        let place = StoreDirectory(directory)
        return try NewStore.build(
            at: place, "creating", adopts: events.isEmpty
        ) { part throws(LogError) in
            let filled = try fill(part, options)
            guard !events.isEmpty else { return filled }
            let log = try EventLog(opening: part.path, options: options)
            defer { log.close() }
            try log.appendBlocking(events)
            return filled
        } finish: { store, filled throws(LogError) in
            // Otherwise, the second environment would reuse the memory of the first, and LMDB, which
            // clears its largest array, would touch 2 MB that are otherwise only reserved. Both may
            // be open, because the first uses no lock file.
            defer { filled?.close() }
            return try EventLog(opening: place, options, store.entry)
        }
    }

    /// The size of the map of an empty store, in bytes.
    private static let emptyMapSizeBytes = 1 << 20

    /// Creates an empty store in an existing directory, and returns its environment.
    private static func fill(
        _ place: StoreDirectory, _ options: Options
    ) throws(LogError) -> Environment {
        let identity = StoreIdentity(store: options.randomID(), origin: options.randomID())
        let environment = try LogError.wrapping {
            let environment = try Environment(
                path: place.log,
                options: .init(
                    mapSizeBytes: emptyMapSizeBytes, tablesMax: 8, isShared: false, creates: true))
            let tables = try LogTables(environment)
            let mark = try place.installMark()
            try environment.write { try identity.become($0, tables, from: nil, mark: mark) }
            return environment
        }
        try place.writeMarker(
            store: identity.store.description, format: StoreDirectory.firstFormat)
        return environment
    }

    /// Opens a store whose opening lock is held by the caller.
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

    /// Waits for operations in progress, then closes the subscriptions and the files.
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
        // Background work holds a reference to the log, so no such work is running. Waiting for the
        // maintenance queue here could deadlock, because this may run at the end of a block on that
        // queue.
        if queue.close() { release() }
    }

    /// Stops writing and releases every lock; call this before the system suspends the process.
    ///
    /// Acknowledged events are on disk. Appends throw `.closed` until `resume()`; subscriptions
    /// wait.
    public func suspend() {
        queue.suspend()
        queue.flush { self.drain() }
        queue.waitUntilIdle()
        for subscription in openSubscriptions { subscription.suspend() }
        maintenance.sync {}
        environment.clearStaleReaders()
    }

    /// Resumes writing.
    public func resume() {
        queue.resume()
        for subscription in openSubscriptions { subscription.resume() }
    }

    /// The position of the last recorded event that this process knows of.
    public var head: LogPosition { LogPosition(rawValue: state.withLock(\.head)) }

    /// The store's clock, in milliseconds since 1970.
    package var now: @Sendable () -> UInt64 { options.now }

    /// Returns the last position in the file, including events from other processes.
    ///
    /// The call takes about a microsecond.
    public func currentHead() throws(LogError) -> LogPosition {
        try read { transaction in LogPosition(rawValue: try self.lastPosition(transaction)) }
    }

    func lastPosition(_ transaction: borrowing some Readable & ~Copyable) throws -> UInt64 {
        guard let last = try transaction.cursor(tables.events).last() else { return 0 }
        return last.key.loadUnaligned(as: UInt64.self)
    }

    /// Runs `body` in a read transaction, and converts its errors to `LogError`.
    @available(*, noasync)
    package func read<R: ~Copyable>(
        _ body: (borrowing ReadTransaction) throws -> R
    ) throws(LogError) -> R {
        if queue.isClosed { throw LogError.isClosed }
        return try LogError.wrapping { try environment.read(body) }
    }

    /// Reads `meta` again if another process has added events, origins or types.
    func refreshState() throws(LogError) { try readRefreshed { _ in } }

    /// Runs `body` in a read transaction; first reads `meta` again in that transaction if the state
    /// in memory is from another commit.
    ///
    /// Every event and every range stub in the transaction therefore has a known origin and type. A
    /// separate call of `refreshState()` does not guarantee this, because another commit may come
    /// in between.
    func readRefreshed<R: ~Copyable>(
        _ body: (borrowing ReadTransaction) throws -> R
    ) throws(LogError) -> R {
        // The head is read before the transaction begins. That head is committed, so the
        // transaction sees it unless the file has been restored to an earlier state.
        let known = state.withLock(\.head)
        return try read { transaction in
            try self.refresh(transaction, known: known)
            return try body(transaction)
        }
    }

    private func refresh(_ transaction: borrowing ReadTransaction, known: UInt64) throws {
        let last = try lastPosition(transaction)
        // Most transactions see the commit that the state is known to describe.
        let isSame = state.withLock { $0.head == last && $0.transaction == transaction.number }
        if isSame { return }
        let held = state.withLock { $0 }
        if try held.isCurrent(transaction, tables, head: last) {
            state.withLock {
                guard $0.head == held.head, $0.transaction == held.transaction else { return }
                $0.transaction = max($0.transaction, transaction.number)
            }
            return
        }
        let fresh = try LogState(reading: transaction, tables)
        if fresh.head < known { forgetEvents() }
        state.withLock { if fresh.knowsAll(of: $0) || fresh.head < known { $0 = fresh } }
    }

    /// Discards the log's state in memory, for callers that have detected a different history in
    /// the file.
    package func forgetHistory() throws(LogError) {
        forgetEvents()
        let fresh = try read { try LogState(reading: $0, self.tables) }
        state.withLock { $0 = fresh }
    }

    private func forgetEvents() {
        tail.forget()
        sampleFree.withLock { $0 = 0 }
    }

    /// Registers `body`, which is called with the new head after each commit of this process, on an
    /// arbitrary thread.
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

    /// The number of leftover LMDB readers of dead processes that were cleared since the log was
    /// opened.
    ///
    /// A leftover reader prevents the reuse of free pages in the file.
    public var staleReadersCleared: Int { environment.staleReadersCleared }

    /// The number of bytes of the log file in use.
    public var usedBytes: Int { environment.facts().usedBytes }
}

extension LogError {
    static let isClosed = LogError(
        .closed, "the store is closed or suspended", hint: "open the store again, or call resume()")

    static func wrapping(_ error: any Error) -> LogError {
        do {
            return try LogError.wrapping { throw error }
        } catch {
            return error
        }
    }
}

/// The stores that this process has open, because LMDB does not support opening a file twice in a
/// process.
final class OpenStores: Sendable {
    static let shared = OpenStores()
    private let names = Mutex<Set<String>>([])

    /// The right to open a store's files in this process, for the lifetime of this object.
    final class Entry: Sendable {
        private let name: String
        private let isIn = Atomic(true)

        fileprivate init(_ name: String) { self.name = name }

        /// Lets other callers open the store.
        ///
        /// Later calls have no effect, so they cannot remove the name of a log that was opened in
        /// the meantime.
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

/// A store's id, its origin, and the location at which it was last opened.
struct StoreIdentity {
    var store: OriginID
    var origin: OriginID

    /// Reads the identity of the store.
    ///
    /// If a store is opened at a different location (another machine or another file) than before,
    /// it has been copied or restored. The store then gets a new origin, so that it cannot fork the
    /// original store.
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
                    .damaged, "\(place.log) has no store id",
                    hint: "restore a backup")
            }
            return (identity, former == mark || options.isReadOnly)
        }
        let (known, isSettled) = try environment.read { try settled($0) }
        if isSettled { return known }
        return try environment.write { transaction in
            // Another process may have assigned the new origin in the meantime.
            let (known, isSettled) = try settled(transaction)
            if isSettled { return known }
            let identity = StoreIdentity(store: known.store, origin: options.randomID())
            try identity.become(transaction, tables, from: known.origin, mark: mark)
            return identity
        }
    }

    /// Returns the store's id; nil for a log that was not initialized.
    static func store(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> OriginID? {
        try read(transaction, tables)?.identity.store
    }

    /// Makes the store use this origin from the next event on; the store's clock continues from its
    /// last stamp.
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

    /// Records the mark of the store's new log file, so that the store keeps its origin when the
    /// file is opened.
    static func setPlace(
        _ mark: [UInt8], _ transaction: borrowing WriteTransaction, _ tables: LogTables
    ) throws {
        guard let row = try transaction.meta(tables, MetaKey.store),
            let (identity, _) = try StoreIdentity.read(row)
        else { throw LogError(.damaged, "the log has no store id") }
        try transaction.setMeta(tables, MetaKey.store, identity.encoded(mark))
    }

    /// Assigns a new origin to an open store.
    static func renew(
        _ transaction: borrowing WriteTransaction, _ tables: LogTables, origin: OriginID
    ) throws {
        guard let row = try transaction.meta(tables, MetaKey.store),
            let (identity, mark) = try StoreIdentity.read(row)
        else { throw LogError(.damaged, "the log has no store id") }
        try StoreIdentity(store: identity.store, origin: origin)
            .become(transaction, tables, from: identity.origin, mark: mark)
    }

    /// Returns the origin of the store's own events.
    static func origin(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> OriginID {
        guard let row = try transaction.meta(tables, MetaKey.store),
            let (identity, _) = try StoreIdentity.read(row)
        else { throw LogError(.damaged, "the log has no store id") }
        return identity.origin
    }

    /// Makes the store get a new origin when it is next opened, at whatever location, and returns
    /// the store's id and format.
    ///
    /// The new origin is necessary because a copy of a log may happen to get the same file number
    /// as the original.
    static func forgetPlace(
        _ transaction: borrowing WriteTransaction, _ tables: LogTables
    ) throws -> (store: OriginID, format: Int) {
        let format = try StorageFormat.read(transaction, tables)
        guard let row = try transaction.meta(tables, MetaKey.store),
            let read = try StoreIdentity.read(row)
        else { throw LogError(.damaged, "the log has no store id") }
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
        else { throw LogError(.damaged, "the store id in the log's meta table is damaged") }
        return (
            StoreIdentity(
                store: OriginID(high: a, low: b), origin: OriginID(high: c, low: d)), Array(mark)
        )
    }
}
