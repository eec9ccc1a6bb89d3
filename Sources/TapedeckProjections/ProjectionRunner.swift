internal import Foundation
internal import Synchronization
internal import TapedeckLMDB
public import TapedeckLog
internal import TapedeckModel

/// Updates, rebuilds and reads projections.
///
/// The catalogue in the log lists the file of each projection. Reads skip an on-demand projection
/// until a call has requested it by name. Otherwise, the state of a projection's file determines
/// how a read brings the projection up to date:
///
/// - If there is no usable file, the projection is rebuilt from the log on first use. A file is
///   unusable if it is damaged, belongs to another log or history, or was not synced before the
///   last reboot.
/// - If the file lacks a few events, they are folded in small transactions.
/// - If the file lacks very many events, a new file is built next to it and then replaces it.
///
/// Invariants:
/// 1. The rows of a projection and its checkpoint are committed in one transaction.
/// 2. A reader sees each commit either completely or not at all, and sees everything appended
///    before its read began.
/// 3. A rebuild never locks the live tables, and takes the log's write lock only for the final
///    switch.
/// 4. The log contains all events that have been folded into a file. When the file is opened, its
///    entire history is compared with the log's (`HistoryMark`). At each read and fold, only the
///    last folded event is compared.
/// 5. A file is marked as unsynced in the log before the first write to it after a boot.
///
/// Locks are acquired in this order: the store's rebuild lock, `folding`, `opening`, the write
/// transaction of a views file, the log. Never acquire a lock while holding a log transaction. If
/// the map of the log must grow, the log waits for its readers, so the readers must not wait for
/// anything.
public final class ProjectionRunner: Sendable {
    /// The number of outstanding events above which a projection is rebuilt.
    ///
    /// If there are fewer events, or if they make up less than half of the log, folding them is
    /// faster than building a new file.
    static let followedEventsMax: UInt64 = 100_000

    /// The interval at which observers check for commits by other processes.
    static let pollInterval = Duration.milliseconds(10)

    let log: EventLog
    let drivers: [ProjectionDriver]
    /// The open file of each projection; changed only while holding `opening`.
    let files = Mutex<[Digest16: ViewsFile]>([:])
    let routing = Mutex<[[Digest16]: (types: Int, origins: Int, routing: Routing)]>([:])
    let overrides = Mutex<OverrideTable?>(nil)
    /// Held while this process folds into live tables, so that only one batch is folded at a time.
    let folding = NSLock()
    /// Held while files are opened, switched or dropped.
    let opening = NSLock()
    /// The updates of followed lists that are in progress.
    let looks = DispatchGroup()
    let following = DispatchQueue(label: "tapedeck.projections.follow", qos: .userInitiated)
    let deciding = DispatchQueue(
        label: "tapedeck.projections.decide", qos: .userInitiated, attributes: .concurrent)
    let lanes = DecisionLanes()
    /// The projections that this process is rebuilding.
    let rebuilding = Mutex<Set<Digest16>>([])
    let isFollowing = Mutex<(scheduled: Bool, observer: Int?)>((false, nil))
    private let wasClosed = Atomic(false)

    /// Prepares to serve `projections`; opens no files until the first read.
    ///
    /// Duplicate projections are ignored.
    public init(_ log: EventLog, projections: [any Projection]) {
        self.log = log
        var known: Set<Digest16> = []
        drivers = projections.map { ProjectionRunner.driver($0) }
            .filter { known.insert($0.fingerprint).inserted }
    }

    static func driver(_ projection: any Projection) -> ProjectionDriver {
        func typed<P: Projection>(_ projection: P) -> ProjectionDriver { TypedDriver(projection) }
        return typed(projection)
    }

    // MARK: - Closing

    /// Syncs folded data to disk and closes the files; later calls throw `.closed`.
    public func close() {
        wasClosed.store(true, ordering: .sequentiallyConsistent)
        stopFollowing()
        following.sync {}
        looks.wait()
        folding.lock()
        defer { folding.unlock() }
        opening.lock()
        let open = files.withLock { files in
            defer { files = [:] }
            return Dictionary(
                files.values.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        }
        opening.unlock()
        for file in open.values {
            // After a failure the file stays marked as unsynced, and is rebuilt after a reboot.
            try? settle(file)
            file.close()
        }
    }

    var isClosed: Bool { wasClosed.load(ordering: .sequentiallyConsistent) }

    func checkOpen() throws(ProjectionError) {
        guard !isClosed else {
            throw ProjectionError(
                .closed, "the projections are closed", hint: "open the store again")
        }
    }

    /// Marks a file as synced, unless another process has written to it since.
    private func settle(_ file: ViewsFile) throws {
        let unsynced = ViewsEntry(number: file.number, boot: StoreDirectory.bootID)
        let before = try file.environment.read { try file.checkpoints($0) }
        let dirty = try before.keys.filter { try log.viewsEntry($0) == unsynced }
        guard !dirty.isEmpty else { return }
        try file.environment.synchronize()
        try file.environment.write { views in
            // Every fold changes a checkpoint. If a checkpoint has changed, there are newer pages
            // that are not synced.
            guard try file.checkpoints(views) == before else { return }
            try log.setViews(ViewsEntry(number: file.number, boot: ""), for: dirty)
        }
    }

    // MARK: - Following

    /// Starts folding new events in the background as they are appended.
    public func follow() {
        isFollowing.withLock { state in
            guard state.observer == nil else { return }
            state.observer = log.observeCommits { [weak self] _ in self?.scheduleCatchUp() }
        }
        scheduleCatchUp()
    }

    func stopFollowing() {
        let observer = isFollowing.withLock { state in
            defer { state.observer = nil }
            return state.observer
        }
        if let observer { log.stopObserving(observer) }
    }

    func scheduleCatchUp() {
        let starts = isFollowing.withLock { state in
            if state.scheduled { return false }
            state.scheduled = true
            return true
        }
        guard starts else { return }
        following.async { [weak self] in
            guard let self else { return }
            self.isFollowing.withLock { $0.scheduled = false }
            // Errors are ignored here, for example if the store is closed or the disk is full,
            // because the next reader receives them.
            _ = try? self.catchUp(self.keptDrivers())
        }
    }
}
