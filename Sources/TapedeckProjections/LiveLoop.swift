internal import Dispatch
internal import Synchronization
internal import TapedeckLog
internal import TapedeckModel

/// What a loop looks at: a list that knows what it was, and takes in what happens.
protocol LiveSource<Entry>: AnyObject {
    /// What it is a list of.
    associatedtype Entry: Hashable & Sendable

    /// Of which rows it has to be told; the same tables at every time.
    var ranges: [RowRange] { get }
    /// What has to be up to date for it.
    var projections: [any Projection] { get }
    /// The systems of the remotes whose sightings it shows.
    var systems: [String] { get }
    /// Whether there are entries behind its end.
    var hasMore: Bool { get }
    /// What keeps it from being what it should be.
    var failures: [LiveFailure] { get }
    /// When it is another because of the time alone, in Unix milliseconds.
    var nextChangeAt: Int64? { get }

    /// Takes in what commits have changed, and that it is a later time; where it throws, taking the same once
    /// more does the rest.
    ///
    /// - Parameter changes: those of each of the ranges' tables; nil where not all of them are known.
    func take(_ changes: [[RowChange]]?, at now: Int64, _ views: Views) throws
    /// What has changed since it was told last.
    func told() -> [LiveChange<Entry>]
    /// Whether it shows something of a key.
    func shows(_ rows: KeyRows) -> Bool
}

extension LiveSource {
    var failures: [LiveFailure] { [] }
}

/// What a look tells.
enum LiveLook<Entry: Hashable & Sendable>: Sendable {
    /// Tables are made first.
    case loading(LiveUpdate<Entry>)
    /// Nil for nothing new.
    case done(LiveUpdate<Entry>?)
}

/// How far somebody has come who follows a list; one looks at a time.
package final class LiveLoop<Entry: Hashable & Sendable>: @unchecked Sendable {
    /// How long one waits before the next look.
    package static var interval: Duration { ProjectionRunner.pollInterval }

    private let runner: ProjectionRunner
    private let follower: DiffFollower
    private let list: any LiveSource<Entry>
    private let remotes: (any LiveRemotes)?
    private let names: [String]
    private let queue = DispatchQueue(label: "tapedeck.projections.live", qos: .userInitiated)
    private var isFirst = true
    /// What was told last.
    private var state = LiveState()
    private var retry = LiveRetry()
    /// What is wrong anywhere, and what of it concerns the list.
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

    /// Has not looked yet.
    package convenience init<Query: LiveQuery>(
        _ runner: ProjectionRunner, _ query: Query, _ remotes: (any LiveRemotes)? = nil
    ) where Query.Entry == Entry {
        self.init(runner, LiveRows(query), remotes)
    }

    /// Has not looked yet.
    package convenience init<Arrangement: LiveArrangement>(
        _ runner: ProjectionRunner, _ arrangement: Arrangement,
        _ remotes: (any LiveRemotes)? = nil
    ) where Arrangement.Entry == Entry {
        self.init(runner, ArrangedRows(arrangement), remotes)
    }

    /// Has not looked yet.
    package convenience init<Ranking: LiveRanking>(
        _ runner: ProjectionRunner, _ ranking: Ranking, _ remotes: (any LiveRemotes)? = nil
    ) where Ranking.Entry == Entry {
        self.init(runner, RankedRows(ranking), remotes)
    }

    /// Looks, on a thread of its own.
    func begin() -> AsyncThrowingStream<LiveLook<Entry>, any Error> {
        // Of how far tables are, the last word counts.
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

    /// What has changed since the last look; nil for nothing.
    ///
    /// - Parameters:
    ///   - isCancelled: whether tables that are made need not be finished; asked often.
    ///   - loading: told how far these are, on several threads.
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
                guard progress.isNews(step) else { return }
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
        let changes = list.told()
        let failures = try failures(at: now, views, isOther: isFirst || !changes.isEmpty)
        let state = LiveState(failures: failures)
        let isNews =
            isFirst || wasLoading || !changes.isEmpty || list.hasMore != hadMore
            || state != self.state
        (isFirst, self.state) = (false, state)
        follower.advance()
        return isNews ? update(changes, state) : nil
    }

    private func update(_ changes: [LiveChange<Entry>], _ state: LiveState) -> LiveUpdate<Entry> {
        LiveUpdate(
            changes: changes, hasMore: list.hasMore, nextChangeAt: list.nextChangeAt, state: state)
    }

    /// What the list cannot show as it should.
    ///
    /// - Parameter isOther: whether it is another list than when this was asked last.
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

/// Something that is wrong with a key, or with all that a remote tells.
private enum LiveTrouble: Hashable {
    case frozen(FrozenKey)
    case waiting(RemoteWait)

    var key: Tag? {
        switch self {
        case .frozen(let frozen): Tag(unchecked: frozen.key)
        case .waiting(let wait): wait.key
        }
    }

    /// Where the key is; nil for anywhere.
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

/// When a list that could not be read is looked at again: the more often that failed, the later.
private struct LiveRetry {
    private static let firstPause: Int64 = 1_000
    private static let pauseMax: Int64 = 60_000

    private var pause = firstPause
    private var span: Range<Int64>?

    /// Also where a clock was put back.
    func isDue(at now: Int64) -> Bool { span.map { !$0.contains(now) } ?? true }

    /// - Returns: when it is tried again, in Unix milliseconds.
    mutating func fail(at now: Int64) -> Int64 {
        let until = now + pause
        span = now..<until
        pause = min(pause * 2, LiveRetry.pauseMax)
        return until
    }
}

/// How far tables are that are made, as it was told last: threads tell it often, and out of order.
private final class LiveProgress: Sendable {
    private struct Told {
        var phase = ""
        var hundredths: UInt64 = 0
        /// Nil where nobody has looked yet.
        var isLong: Bool?
    }

    private let log: EventLog
    private let told = Mutex(Told())

    init(_ log: EventLog) { self.log = log }

    var wasTold: Bool { told.withLock { !$0.phase.isEmpty } }

    func isNews(_ progress: RebuildProgress) -> Bool {
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
        // Where the log cannot be read, that is told by whoever makes the tables.
        ((try? log.currentHead().rawValue) ?? 0) >= LiveState.loadingEventsMin
    }
}
