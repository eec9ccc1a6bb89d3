internal import Foundation
internal import Synchronization
internal import TapedeckLMDB
public import TapedeckLog
internal import TapedeckModel

/// Keeps projections up with the log, rebuilds them, and reads them.
///
/// Which file holds which projection stands in the log's catalogue:
///
/// | state of a projection | what happens |
/// |---|---|
/// | on demand, and nobody has asked for it | nothing |
/// | no file, or one that is damaged, of another log or history, or left unsynced by an earlier boot | rebuilt from the log when first needed |
/// | a file, few events behind | the events are folded in small transactions |
/// | a file, very many events behind | rebuilt beside, then flipped |
///
/// Invariants:
/// 1. A projection's rows and its checkpoint commit in one transaction.
/// 2. A reader sees all of a commit or nothing, and at least all that was appended before it asked.
/// 3. Rebuilding touches neither the log's writer lock, but for the flip, nor the live tables.
/// 4. What a file was folded from is in the log: all of it is compared when the file is opened
///    (`HistoryMark`), its last event whenever something is read or folded.
/// 5. A file is marked as unsynced in the log before the first write to it in a boot.
///
/// Locks, in the order in which they are taken: the store's rebuild lock, `folding`, `opening`, the
/// writer of a views file, the log. Who holds a transaction of the log takes nothing else: a log whose
/// map has to grow waits for its readers, and these must not wait in turn.
public final class ProjectionRunner: Sendable {
    /// Behind by more than this and by more than half of the log, a projection is rebuilt instead of
    /// followed: below it, following is faster than a new file.
    static let followedEventsMax: UInt64 = 100_000

    /// How often observers look for the commits of other processes.
    static let pollInterval = Duration.milliseconds(10)

    let log: EventLog
    let drivers: [ProjectionDriver]
    /// Who serves which projection now; changed under `opening`.
    let files = Mutex<[Digest16: ViewsFile]>([:])
    let routing = Mutex<[[Digest16]: (types: Int, origins: Int, routing: Routing)]>([:])
    let overrides = Mutex<OverrideTable?>(nil)
    /// Held while this process folds into live tables: one batch after another, whoever asks.
    let folding = NSLock()
    /// Held while files are opened, flipped or let go of.
    let opening = NSLock()
    /// The looks of those who follow lists.
    let looks = DispatchGroup()
    let following = DispatchQueue(label: "tapedeck.projections.follow", qos: .userInitiated)
    let deciding = DispatchQueue(
        label: "tapedeck.projections.decide", qos: .userInitiated, attributes: .concurrent)
    let lanes = DecisionLanes()
    /// The projections that this process builds anew.
    let rebuilding = Mutex<Set<Digest16>>([])
    let isFollowing = Mutex<(scheduled: Bool, observer: Int?)>((false, nil))
    private let wasClosed = Atomic(false)

    /// Prepares to serve `projections`; opens nothing until something is read.
    ///
    /// A projection that is there twice is served once.
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

    /// Puts what was folded on disk and closes the files; later calls throw `.closed`.
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
            // A failure leaves the file marked unsynced, and it is rebuilt after another boot.
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

    /// Marks a file as being on disk, if nobody has written to it meanwhile.
    private func settle(_ file: ViewsFile) throws {
        let unsynced = ViewsEntry(number: file.number, boot: StoreDirectory.bootID)
        let before = try file.environment.read { try file.checkpoints($0) }
        let dirty = try before.keys.filter { try log.viewsEntry($0) == unsynced }
        guard !dirty.isEmpty else { return }
        try file.environment.synchronize()
        try file.environment.write { views in
            // Every fold changes a checkpoint; one that came since has left pages that are not on disk.
            guard try file.checkpoints(views) == before else { return }
            try log.setViews(ViewsEntry(number: file.number, boot: ""), for: dirty)
        }
    }

    // MARK: - Following

    /// Folds new events in the background as they are appended, from now on.
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
            // What stops it here (a closed store, a full disk) is thrown to whoever reads next.
            _ = try? self.catchUp(self.keptDrivers())
        }
    }
}
