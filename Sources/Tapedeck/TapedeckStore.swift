internal import Dispatch
public import Foundation
public import TapedeckLog
public import TapedeckModel
public import TapedeckProjections
public import TapedeckSync
public import TapedeckVideo

/// A store: an append-only log of events and the projections that are read from it.
///
/// ```swift
/// let store = try TapedeckStore.open(directory)
/// try await store.append([toggled])
/// let list = try await store.query { try VideoQueries($0).watchLater() }
/// store.close()
/// ```
///
/// Remote systems are the affair of `StoreRemotes` in the product `TapedeckConnectors`. The store then keeps
/// the projections of both:
///
/// ```swift
/// let store = try TapedeckStore.open(
///     directory, projections: VideoProjections.standard.all + Connectors.projections)
/// let remotes = StoreRemotes(store.log, store.projections)
/// let report = try await remotes.sync("home")
/// ```
///
/// It is safe to use from any task or thread. Several processes may open one store; one process opens
/// it once and shares it.
public final class TapedeckStore: Sendable {
    /// The log: positions, identities, raw events.
    public let log: EventLog
    /// The projections: rebuilding, verifying, frozen keys.
    public let projections: ProjectionRunner
    // Queries block on LMDB and on folding, so they do not run on the tasks' own threads.
    private let queries = DispatchQueue(
        label: "tapedeck.queries", qos: .userInitiated, attributes: .concurrent)

    private init(_ log: EventLog, _ projections: [any Projection]) {
        self.log = log
        self.projections = ProjectionRunner(log, projections: projections)
    }

    /// Opens the store in `directory`.
    ///
    /// - Parameters:
    ///   - directory: where the store is.
    ///   - creating: whether a missing store is made.
    ///   - projections: what is kept; the video domain's by default.
    ///   - options: of the log.
    ///
    /// Throws `StoreError`: `.noStore`, `.busy` (open in this process already), `.damaged`,
    /// `.newerFormat`, `.accessDenied`, `.diskFull`.
    public static func open(
        _ directory: String, creating: Bool = true,
        projections: [any Projection] = VideoProjections.standard.all,
        options: EventLog.Options = EventLog.Options()
    ) throws(StoreError) -> TapedeckStore {
        try StoreError.wrapping {
            TapedeckStore(
                try creating
                    ? openOrCreate(directory, options)
                    : EventLog(opening: directory, options: options), projections)
        }
    }

    /// How often a store may be made and erased by others between two looks at it.
    private static let opensMax = 8

    private static func openOrCreate(
        _ directory: String, _ options: EventLog.Options
    ) throws(LogError) -> EventLog {
        var opens = 0
        while true {
            do throws(LogError) {
                return try EventLog(opening: directory, options: options)
            } catch {
                guard error.code == .noStore, opens < opensMax else { throw error }
            }
            do throws(LogError) {
                return try EventLog.create(directory, options: options)
            } catch {
                guard error.code == .storeExists else { throw error }
            }
            opens += 1
        }
    }

    /// Opens the store in a directory of this machine.
    ///
    /// Throws `StoreError`: `.usage` for a URL that is no file's, and what `open` of a path throws.
    public static func open(
        _ directory: URL, creating: Bool = true,
        projections: [any Projection] = VideoProjections.standard.all,
        options: EventLog.Options = EventLog.Options()
    ) throws(StoreError) -> TapedeckStore {
        guard directory.isFileURL else {
            throw StoreError(
                ModelError(
                    .usage, "a URL of \(directory.scheme ?? "no scheme") names no directory here",
                    hint: "give a file URL, or a path"))
        }
        return try open(
            directory.path(percentEncoded: false), creating: creating, projections: projections,
            options: options)
    }

    /// Records typed events, all or none, and returns when they are on disk.
    ///
    /// - Parameters:
    ///   - events: in the order in which they happened.
    ///   - atMilliseconds: when they happened; nil for now.
    ///   - condition: what must not be recorded yet.
    ///
    /// Throws `StoreError`: what the events' own checks say, `.conditionFailed`, `.diskFull`, `.closed`.
    @discardableResult
    public func append(
        _ events: [any Event], atMilliseconds: UInt64? = nil, condition: AppendCondition? = nil
    ) async throws(StoreError) -> AppendedEvents {
        let proposals = try StoreError.wrapping {
            try events.map { try ProposedEvent($0, atMilliseconds: atMilliseconds) }
        }
        do {
            guard let appended = try await log.append(proposals, condition: condition) else {
                throw LogError(.internalError, "a durable append told no positions")
            }
            return appended
        } catch {
            throw StoreError(error)
        }
    }

    /// Records an event in memory now and on disk within 100 ms; for playback ticks.
    public func appendBuffered(
        _ event: any Event, atMilliseconds: UInt64? = nil
    ) async throws(StoreError) {
        let proposal = try StoreError.wrapping {
            try ProposedEvent(event, atMilliseconds: atMilliseconds)
        }
        do {
            try await log.append([proposal], durability: .buffered)
        } catch {
            throw StoreError(error)
        }
    }

    /// The events behind a position, in log order; see `EventLog.events`.
    public func read(
        after position: LogPosition = .start, limit: Int = 1_000, type: EventType? = nil,
        tag: Tag? = nil
    ) async throws(StoreError) -> [EventEnvelope] {
        let log = log
        return try await run { try log.events(after: position, limit: limit, type: type, tag: tag) }
    }

    /// Reads projections: everything appended before the call is in what `body` sees.
    ///
    /// - Parameters:
    ///   - names: the projections that `body` reads; nil for all that the store keeps.
    ///   - body: takes out of the views what is needed; they end with it.
    public func query<R: Sendable>(
        _ names: [String]? = nil, _ body: @escaping @Sendable (Views) throws -> R
    ) async throws(StoreError) -> R {
        let projections = projections
        return try await run { try projections.read(names, body) }
    }

    /// Reads projections as they were at a point of the log; see `ProjectionRunner.read(_:asOf:)`.
    ///
    /// Keys cost a look-up for each of their events, long lists a rebuild of their projections. Throws as
    /// `query`.
    public func query<R: Sendable>(
        _ names: [String]? = nil, asOf point: HistoryPoint,
        _ body: @escaping @Sendable (Views) throws -> R
    ) async throws(StoreError) -> R {
        let projections = projections
        return try await run { try projections.read(names, asOf: point, body) }
    }

    /// Says why a key of a projection is what it is: the rule, and which events decided; see
    /// `ProjectionRunner.explain`.
    ///
    /// - Parameters:
    ///   - projection: its name, such as `watch-later`.
    ///   - key: such as a video's tag.
    ///   - point: as of when; nil for now.
    ///   - leftOut: events without which the key is looked at, as if they had not happened.
    ///
    /// Throws `StoreError`: `.notFound` (no such projection or event), `.usage` (a key of another kind),
    /// `.tooLarge` (more than a million events), `.closed`.
    public func explain(
        _ projection: String, key: Tag, asOf point: HistoryPoint? = nil,
        without leftOut: [EventID] = []
    ) async throws(StoreError) -> KeyExplanation {
        let projections = projections
        return try await run {
            try projections.explain(projection, key: key, asOf: point, without: leftOut)
        }
    }

    /// A list as it changes, by this and every other process; see `LiveUpdates`.
    ///
    /// - Parameters:
    ///   - list: such as `.group(.timeline)`, or a `LiveQuery` of one's own.
    ///   - interval: how long a loop waits at least between two updates.
    public func live<Query: LiveQuery>(
        _ list: Query, interval: Duration = .zero
    ) -> LiveUpdates<Query.Entry> {
        projections.live(list, interval: interval, remotes: RemoteWaits(log))
    }

    /// An arranged list as it changes, such as `.onNow()`; see `LiveUpdates`.
    public func live<Arrangement: LiveArrangement>(
        _ list: Arrangement, interval: Duration = .zero
    ) -> LiveUpdates<Arrangement.Entry> {
        projections.live(list, interval: interval, remotes: RemoteWaits(log))
    }

    /// What is found by words, as it changes; see `LiveUpdates`.
    ///
    /// The first search builds the index, which is kept from then on.
    public func live(
        _ search: LiveSearch, interval: Duration = .zero
    ) -> LiveUpdates<SearchHit> {
        projections.live(search, interval: interval, remotes: RemoteWaits(log))
    }

    /// The changed rows of one table, commit by commit, from this and every other process.
    public func observe(_ projection: some Projection, table: Int = 0) -> AsyncStream<RowChanges> {
        projections.observe(projection, table: table)
    }

    /// Reconciles the store with a server, both ways, and returns when all is delivered.
    ///
    /// - Parameters:
    ///   - server: its address, such as `http://127.0.0.1:8737`.
    ///   - token: what the server knows the user by; never stored or logged.
    ///   - progress: told of each step, on some thread.
    ///
    /// What the server's side made impossible is in the report's `failure`; nothing is lost by it. For a
    /// store that stays connected make a `SyncEngine` of `log` with `isLive`. Throws `StoreError`:
    /// `.usage` (no such address), `.diskFull`, `.closed`, `.damaged`.
    @discardableResult
    public func sync(
        with server: String, token: String,
        progress: (@Sendable (SyncProgress) -> Void)? = nil
    ) async throws(StoreError) -> SyncReport {
        do {
            return try await SyncEngine(log, server: server, token: token).run(progress: progress)
        } catch {
            throw StoreError(error)
        }
    }

    /// What was said of this device's network last; `online` where nothing was.
    public func network() async throws(StoreError) -> NetworkState {
        let log = log
        return try await run { try NetworkState.current(in: log) }
    }

    /// Says what this device's network is from now on; see `NetworkState`.
    ///
    /// Every sync of the store heeds it within seconds, in whatever process. Costs a commit. Throws
    /// `StoreError`: `.readOnly`, `.diskFull`, `.closed`.
    public func setNetwork(_ state: NetworkState) async throws(StoreError) {
        let log = log
        try await run { try state.set(in: log) }
    }

    /// Stops writing and lets go of locks, before the system suspends the process.
    public func suspend() { log.suspend() }

    /// Takes up writing again after `suspend()`.
    public func resume() { log.resume() }

    /// Waits for what is under way and closes the store; later calls throw `.closed`.
    public func close() {
        projections.close()
        log.close()
    }

    func run<R: Sendable>(
        _ body: @escaping @Sendable () throws -> R
    ) async throws(StoreError) -> R {
        let result: Result<R, StoreError> = await withCheckedContinuation { waiting in
            queries.async {
                do {
                    waiting.resume(returning: .success(try body()))
                } catch {
                    waiting.resume(returning: .failure(StoreError(error)))
                }
            }
        }
        return try result.get()
    }
}
