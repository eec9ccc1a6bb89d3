internal import Dispatch
public import Foundation
public import TapedeckLog
public import TapedeckModel
public import TapedeckProjections
public import TapedeckSync
public import TapedeckVideo

/// A store: an append-only log of events, and the projections derived from it.
///
/// ```swift
/// let store = try TapedeckStore.open(directory)
/// try await store.append([toggled])
/// let list = try await store.query { try VideoQueries($0).watchLater() }
/// store.close()
/// ```
///
/// `StoreRemotes`, in the product `TapedeckConnectors`, syncs with remote systems. To use
/// `StoreRemotes`, open the store with the projections of the connectors, too:
///
/// ```swift
/// let store = try TapedeckStore.open(
///     directory, projections: VideoProjections.standard.all + Connectors.projections)
/// let remotes = StoreRemotes(store.log, store.projections)
/// let report = try await remotes.sync("home")
/// ```
///
/// A store is safe to use from any task or thread. Several processes may open the same store. Each
/// process must open it only once and share the object.
public final class TapedeckStore: Sendable {
    /// The log, which provides positions, ids and raw events.
    public let log: EventLog
    /// The projections, which can be rebuilt and verified, and whose frozen keys can be inspected.
    public let projections: ProjectionRunner
    // Queries block on LMDB and on folding, so they run outside Swift's cooperative thread pool.
    private let queries = DispatchQueue(
        label: "tapedeck.queries", qos: .userInitiated, attributes: .concurrent)

    private init(_ log: EventLog, _ projections: [any Projection]) {
        self.log = log
        self.projections = ProjectionRunner(log, projections: projections)
    }

    /// Opens the store in `directory`.
    ///
    /// - Parameters:
    ///   - directory: The store's directory.
    ///   - creating: Whether to create a missing store.
    ///   - projections: The projections to maintain; by default, those of the video domain.
    ///   - options: The options of the log.
    ///
    /// Throws `StoreError`: `.noStore`, `.busy` (the store is already open in this process),
    /// `.damaged`, `.newerFormat`, `.accessDenied`, `.diskFull`.
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

    /// The maximum number of retries while other processes create and erase the store.
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

    /// Opens the store in a local directory.
    ///
    /// Throws `StoreError`: `.usage` (the URL is not a file URL), and the same errors as `open`
    /// with a path.
    public static func open(
        _ directory: URL, creating: Bool = true,
        projections: [any Projection] = VideoProjections.standard.all,
        options: EventLog.Options = EventLog.Options()
    ) throws(StoreError) -> TapedeckStore {
        guard directory.isFileURL else {
            throw StoreError(
                ModelError(
                    .usage,
                    "the URL is not a file URL: its scheme is \(directory.scheme ?? "missing")",
                    hint: "use a file URL or a path"))
        }
        return try open(
            directory.path(percentEncoded: false), creating: creating, projections: projections,
            options: options)
    }

    /// Records typed events, all or none, and returns when they are on disk.
    ///
    /// - Parameters:
    ///   - events: The events, in the order in which they happened.
    ///   - atMilliseconds: The time at which they happened, in Unix milliseconds; nil for the
    ///     current time.
    ///   - condition: A condition that must hold for the events to be recorded; nil for none.
    ///
    /// Throws `StoreError`: the errors for invalid events, `.conditionFailed`, `.diskFull`,
    /// `.closed`.
    @discardableResult
    public func append(
        _ events: [any Event], atMilliseconds: UInt64? = nil, condition: AppendCondition? = nil
    ) async throws(StoreError) -> AppendedEvents {
        let proposals = try StoreError.wrapping {
            try events.map { try ProposedEvent($0, atMilliseconds: atMilliseconds) }
        }
        do {
            guard let appended = try await log.append(proposals, condition: condition) else {
                throw LogError(.internalError, "a durable append returned no positions")
            }
            return appended
        } catch {
            throw StoreError(error)
        }
    }

    /// Records an event in memory immediately and on disk within 100 ms; suitable for periodic
    /// playback reports.
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

    /// Returns the events after a position, in log order; see `EventLog.events`.
    public func read(
        after position: LogPosition = .start, limit: Int = 1_000, type: EventType? = nil,
        tag: Tag? = nil
    ) async throws(StoreError) -> [EventEnvelope] {
        let log = log
        return try await run { try log.events(after: position, limit: limit, type: type, tag: tag) }
    }

    /// Reads projections, including everything appended before the call.
    ///
    /// - Parameters:
    ///   - names: The projections that `body` reads; nil for all projections of the store.
    ///   - body: Extracts the needed data from the views, which are valid only during the call.
    public func query<R: Sendable>(
        _ names: [String]? = nil, _ body: @escaping @Sendable (Views) throws -> R
    ) async throws(StoreError) -> R {
        let projections = projections
        return try await run { try projections.read(names, body) }
    }

    /// Reads projections as of a point in the log; see `ProjectionRunner.read(_:asOf:)`.
    ///
    /// Reading a key costs a lookup for each of its events; reading a long list costs a rebuild of
    /// its projection. Throws the same errors as `query`, and `.usage` if the log has not reached
    /// the position.
    public func query<R: Sendable>(
        _ names: [String]? = nil, asOf point: HistoryPoint,
        _ body: @escaping @Sendable (Views) throws -> R
    ) async throws(StoreError) -> R {
        let projections = projections
        return try await run { try projections.read(names, asOf: point, body) }
    }

    /// Explains why a projection's key has its state: returns the rule and the role of each event;
    /// see `ProjectionRunner.explain`.
    ///
    /// - Parameters:
    ///   - projection: The name of the projection, such as `watch-later`.
    ///   - key: The key, such as a video's tag.
    ///   - point: The point in the log; nil for its current end.
    ///   - excluded: The events to ignore, as if they had not happened.
    ///
    /// Throws `StoreError`: `.notFound` (the projection or an event does not exist), `.usage` (the
    /// key is not of the projection's kind, or the log has not reached the position), `.tooLarge`
    /// (more than a million events), `.closed`.
    public func explain(
        _ projection: String, key: Tag, asOf point: HistoryPoint? = nil,
        without excluded: [EventID] = []
    ) async throws(StoreError) -> KeyExplanation {
        let projections = projections
        return try await run {
            try projections.explain(projection, key: key, asOf: point, without: excluded)
        }
    }

    /// Returns a live list that follows changes by any process; see `LiveUpdates`.
    ///
    /// - Parameters:
    ///   - list: The list, such as `.group(.timeline)`, or your own `LiveQuery`.
    ///   - interval: The minimum time between two updates that a loop over the list receives.
    public func live<Query: LiveQuery>(
        _ list: Query, interval: Duration = .zero
    ) -> LiveUpdates<Query.Entry> {
        projections.live(list, interval: interval, remotes: RemoteWaits(log))
    }

    /// Returns a live arranged list, such as `.onNow()`; see `LiveUpdates`.
    public func live<Arrangement: LiveArrangement>(
        _ list: Arrangement, interval: Duration = .zero
    ) -> LiveUpdates<Arrangement.Entry> {
        projections.live(list, interval: interval, remotes: RemoteWaits(log))
    }

    /// Returns live search results; see `LiveUpdates`.
    ///
    /// The first search builds the index, which is then kept up to date.
    public func live(
        _ search: LiveSearch, interval: Duration = .zero
    ) -> LiveUpdates<SearchHit> {
        projections.live(search, interval: interval, remotes: RemoteWaits(log))
    }

    /// Returns a stream of the changes to one table, including those committed by other processes.
    public func observe(_ projection: some Projection, table: Int = 0) -> AsyncStream<RowChanges> {
        projections.observe(projection, table: table)
    }

    /// Syncs the store with a server, in both directions, and returns when everything is delivered.
    ///
    /// - Parameters:
    ///   - server: The server's URL, such as `http://127.0.0.1:8737`.
    ///   - token: The token that authenticates the user; it is never stored or logged.
    ///   - progress: Called after each step, on an unspecified thread.
    ///
    /// If the sync fails, the report's `failure` contains the reason; nothing is lost. To stay
    /// connected, create a `SyncEngine` for `log` with `isLive`. Throws `StoreError`: `.usage` (the
    /// URL is invalid, or the store contains sample events), `.diskFull`, `.closed`, `.damaged`.
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

    /// Returns the network state that was set last; `.online` by default.
    public func network() async throws(StoreError) -> NetworkState {
        let log = log
        return try await run { try NetworkState.current(in: log) }
    }

    /// Sets the state of this device's network; see `NetworkState`.
    ///
    /// Every sync of the store, in any process, adapts to the new state within seconds. Setting the
    /// state costs a commit. Throws `StoreError`: `.readOnly`, `.diskFull`, `.closed`.
    public func setNetwork(_ state: NetworkState) async throws(StoreError) {
        let log = log
        try await run { try state.set(in: log) }
    }

    /// Stops writing and releases locks, before the system suspends the process.
    public func suspend() { log.suspend() }

    /// Resumes writing after `suspend()`.
    public func resume() { log.resume() }

    /// Waits for pending work and closes the store; later calls throw `.closed`.
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
