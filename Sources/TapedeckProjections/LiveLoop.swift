internal import Dispatch
internal import Synchronization
internal import TapedeckLog
internal import TapedeckModel

/// The source of a loop: a list that keeps its last reported entries and applies changes to them.
protocol LiveSource<Entry>: AnyObject {
    /// The type of the entries.
    associatedtype Entry: Hashable & Sendable

    /// The rows to follow; their tables must not depend on the time.
    var ranges: [RowRange] { get }
    /// The projections that must be up to date.
    var projections: [any Projection] { get }
    /// The systems of the remotes whose observations the list shows.
    var systems: [String] { get }
    /// Whether there are more entries after the last one.
    var hasMore: Bool { get }
    /// The problems that affect the list.
    var failures: [LiveFailure] { get }
    /// The time at which the list changes without new events, in milliseconds since 1970.
    var nextChangeAt: Int64? { get }

    /// Applies the changes made by commits and by the passage of time.
    ///
    /// If the call throws, repeating it with the same changes completes the update.
    ///
    /// - Parameter changes: The changes in the tables of each range; nil if some changes are
    ///   unknown.
    func take(_ changes: [[RowChange]]?, at now: Int64, _ views: Views) throws
    /// Returns the changes since the last call.
    func takeChanges() -> [LiveChange<Entry>]
    /// Returns whether the list shows any row of a key.
    func shows(_ rows: KeyRows) -> Bool
}

extension LiveSource {
    var failures: [LiveFailure] { [] }
}

/// The result of an update.
enum LiveLook<Entry: Hashable & Sendable>: Sendable {
    /// Tables must be built before the list can be read; the update reports the progress.
    case loading(LiveUpdate<Entry>)
    /// The list is up to date; the update is nil if nothing changed.
    case done(LiveUpdate<Entry>?)
}

/// A follower of a list and its state; only one update may run at a time.
package final class LiveLoop<Entry: Hashable & Sendable>: @unchecked Sendable {
    /// The time to wait between updates.
    package static var interval: Duration { ProjectionRunner.pollInterval }

    private let runner: ProjectionRunner
    private let follower: DiffFollower
    private let list: any LiveSource<Entry>
    private let remotes: (any LiveRemotes)?
    private let names: [String]
    private let queue = DispatchQueue(label: "tapedeck.projections.live", qos: .userInitiated)
    private var isFirst = true
    /// The last reported state.
    private var state = LiveState()
    private var retry = LiveRetry()
    /// All current problems, and the problems that concern the list.
    private var troubles: (all: [LiveTrouble], shown: [LiveTrouble]) = ([], [])

    init(
        _ runner: ProjectionRunner, _ list: any LiveSource<Entry>, _ remotes: (any LiveRemotes)?
    ) {
        (self.runner, self.list) = (runner, list)
        follower = DiffFollower(list.ranges)
        let kept = Set(runner.drivers.map(\.fingerprint))
        self.remotes = remotes.flatMap {
            let isKept = kept.contains(ProjectionDriver.fingerprint(of: $0.projection))
            return isKept && !list.systems.isEmpty ? $0 : nil
        }
        names = list.projections.map(\.name) + (self.remotes.map { [$0.projection.name] } ?? [])
    }

    /// Creates a loop that has not yet read its list.
    package convenience init<Query: LiveQuery>(
        _ runner: ProjectionRunner, _ query: Query, _ remotes: (any LiveRemotes)? = nil
    ) where Query.Entry == Entry {
        self.init(runner, LiveRows(query), remotes)
    }

    /// Creates a loop that has not yet read its list.
    package convenience init<Arrangement: LiveArrangement>(
        _ runner: ProjectionRunner, _ arrangement: Arrangement,
        _ remotes: (any LiveRemotes)? = nil
    ) where Arrangement.Entry == Entry {
        self.init(runner, ArrangedRows(arrangement), remotes)
    }

    /// Creates a loop that has not yet read its list.
    package convenience init<Ranking: LiveRanking>(
        _ runner: ProjectionRunner, _ ranking: Ranking, _ remotes: (any LiveRemotes)? = nil
    ) where Ranking.Entry == Entry {
        self.init(runner, RankedRows(ranking), remotes)
    }

    /// Starts an update on a separate thread.
    func begin() -> AsyncThrowingStream<LiveLook<Entry>, any Error> {
        // Only the latest progress of a build matters.
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { looking in
            let isCancelled = Atomic(false)
            looking.onTermination = { _ in isCancelled.store(true, ordering: .relaxed) }
            queue.async(group: runner.looks) {
                do {
                    let update = try self.look {
                        isCancelled.load(ordering: .relaxed)
                    } loading: {
                        looking.yield(.loading($0))
                    }
                    looking.yield(.done(update))
                    looking.finish()
                } catch {
                    looking.finish(throwing: error)
                }
            }
        }
    }

    /// Returns the changes since the last update; nil if there are none.
    ///
    /// - Parameters:
    ///   - isCancelled: Whether to stop building tables; called often.
    ///   - loading: Called with the progress of a build, from several threads.
    @available(*, noasync)
    package func look(
        isCancelled: @escaping @Sendable () -> Bool = { false },
        loading: @escaping @Sendable (LiveUpdate<Entry>) -> Void = { _ in }
    ) throws -> LiveUpdate<Entry>? {
        let now = Int64(clamping: runner.log.now())
        guard retry.isDue(at: now) else { return nil }
        let progress = LiveProgress(runner.log)
        let held = update([], state)
        let options = RebuildOptions(
            progress: { step in
                guard progress.isNew(step) else { return }
                var told = held
                told.state.loading = step
                loading(told)
            }, isCancelled: { [runner] in isCancelled() || runner.isClosed })
        do {
            let update = try runner.read(names, follower: follower, options: options) { views in
                try self.take(at: now, views, wasLoading: progress.wasTold)
            }
            retry = LiveRetry()
            return update
        } catch let error as any CodedError where LiveFailure.mayPass(error) {
            state = LiveState(failures: [LiveFailure(error, retryAt: retry.fail(at: now))])
            return update([], state)
        }
    }

    private func take(
        at now: Int64, _ views: Views, wasLoading: Bool
    ) throws -> LiveUpdate<Entry>? {
        let hadMore = list.hasMore
        try list.take(follower.changes, at: now, views)
        let changes = list.takeChanges()
        let failures = try failures(at: now, views, isOther: isFirst || !changes.isEmpty)
        let state = LiveState(failures: failures)
        let isNew =
            isFirst || wasLoading || !changes.isEmpty || list.hasMore != hadMore
            || state != self.state
        (isFirst, self.state) = (false, state)
        follower.advance()
        return isNew ? update(changes, state) : nil
    }

    private func update(_ changes: [LiveChange<Entry>], _ state: LiveState) -> LiveUpdate<Entry> {
        LiveUpdate(
            changes: changes, hasMore: list.hasMore, nextChangeAt: list.nextChangeAt, state: state)
    }

    /// Returns the problems that affect the list.
    ///
    /// - Parameter isOther: Whether the list has changed since the last call.
    private func failures(
        at now: Int64, _ views: Views, isOther: Bool
    ) throws -> [LiveFailure] {
        var all = follower.frozen.values.joined()
            .sorted { ($0.projection, $0.key) < ($1.projection, $1.key) }
            .map(LiveTrouble.frozen)
        all += try remotes?.waits(at: list.systems, views).map(LiveTrouble.waiting) ?? []
        if isOther || all != troubles.all {
            troubles = (all, try all.filter { try shows($0, views) })
        }
        let failures = list.failures + troubles.shown.map { $0.failure(at: now) }
        return Array(failures.prefix(LiveState.failuresMax))
    }

    private func shows(_ trouble: LiveTrouble, _ views: Views) throws -> Bool {
        guard let key = trouble.key else { return true }
        return try runner.drivers.contains { driver in
            guard names.contains(driver.name),
                trouble.projection.map({ $0 == driver.name }) ?? true,
                key.text.utf8.starts(with: driver.tagPrefix)
            else { return false }
            return list.shows(try views.rows(of: key, driver))
        }
    }
}

/// A problem with one key, or with everything from a remote.
private enum LiveTrouble: Hashable {
    case frozen(FrozenKey)
    case waiting(RemoteWait)

    var key: Tag? {
        switch self {
        case .frozen(let frozen): Tag(unchecked: frozen.key)
        case .waiting(let wait): wait.key
        }
    }

    /// The projection that contains the key; nil if any projection may contain it.
    var projection: String? {
        if case .frozen(let frozen) = self { frozen.projection } else { nil }
    }

    func failure(at now: Int64) -> LiveFailure {
        switch self {
        case .frozen(let frozen): LiveFailure(frozen)
        case .waiting(let wait): LiveFailure(wait, at: now)
        }
    }
}

/// Schedules further attempts to read a list after a failure, with increasing pauses.
private struct LiveRetry {
    private static let firstPause: Int64 = 1_000
    private static let pauseMax: Int64 = 60_000

    private var pause = firstPause
    private var span: Range<Int64>?

    /// Returns whether a retry is due; also true if the clock went backwards.
    func isDue(at now: Int64) -> Bool { span.map { !$0.contains(now) } ?? true }

    /// - Returns: The time of the next retry, in milliseconds since 1970.
    mutating func fail(at now: Int64) -> Int64 {
        let until = now + pause
        span = now..<until
        pause = min(pause * 2, LiveRetry.pauseMax)
        return until
    }
}

/// The last reported progress of a build, which several threads report often and out of order.
private final class LiveProgress: Sendable {
    private struct Told {
        var phase = ""
        var hundredths: UInt64 = 0
        /// Whether the log is so large that progress is reported; nil if not yet checked.
        var isLong: Bool?
    }

    private let log: EventLog
    private let told = Mutex(Told())

    init(_ log: EventLog) { self.log = log }

    var wasTold: Bool { told.withLock { !$0.phase.isEmpty } }

    func isNew(_ progress: RebuildProgress) -> Bool {
        let total = max(progress.total, 1)
        let hundredths = min(progress.done, total) * 100 / total
        return told.withLock { told in
            let isLong = told.isLong ?? isLong()
            told.isLong = isLong
            guard isLong, told.phase != progress.phase || told.hundredths < hundredths else {
                return false
            }
            (told.phase, told.hundredths) = (progress.phase, hundredths)
            return true
        }
    }

    private func isLong() -> Bool {
        // If the log cannot be read, building the tables will report the error.
        ((try? log.currentHead().rawValue) ?? 0) >= LiveState.loadingEventsMin
    }
}
