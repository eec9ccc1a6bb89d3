internal import Foundation
internal import TapedeckLog
internal import TapedeckModel

extension ProjectionRunner {
    /// Follows a list; see `LiveUpdates`.
    ///
    /// - Parameter interval: how long a loop waits at least between two updates; what happens meanwhile
    ///   comes in one.
    public func live<Query: LiveQuery>(
        _ query: Query, interval: Duration = .zero
    ) -> LiveUpdates<Query.Entry> {
        LiveUpdates(runner: self, interval: interval) { LiveRows(query) }
    }

    /// Follows a list that is arranged of rows; see `LiveUpdates`.
    public func live<Arrangement: LiveArrangement>(
        _ arrangement: Arrangement, interval: Duration = .zero
    ) -> LiveUpdates<Arrangement.Entry> {
        LiveUpdates(runner: self, interval: interval) { ArrangedRows(arrangement) }
    }
}

/// A list as it changes: the first update inserts what is there, later ones tell what commits of this and
/// every other process have changed of it, and what the time has.
///
/// Nothing is asked again: a commit tells which rows it changed, and their entries are made anew. Where a
/// loop comes back so late that this is no longer known, or projections were rebuilt, the list is read and
/// compared with what was told, so that updates always lead from one list to the next. A loop that asks late
/// finds one update with all that has happened; nothing piles up for it.
///
/// A loop ends when its task is cancelled or the store is closed. It throws `ProjectionError` and `LogError`
/// as a read does; asking once more goes on where it was.
public struct LiveUpdates<Entry: Hashable & Sendable>: AsyncSequence, Sendable {
    /// What has changed.
    public typealias Element = LiveUpdate<Entry>

    let runner: ProjectionRunner
    let interval: Duration
    let source: @Sendable () -> any LiveSource<Entry>

    /// Begins with the list as it is.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// A loop over the updates of a list.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let loop: LiveLoop<Entry>
        private let interval: Duration
        private let waker: CommitWaker
        private var last: ContinuousClock.Instant?

        init(_ updates: LiveUpdates) {
            loop = LiveLoop(updates.runner, updates.source())
            interval = updates.interval
            waker = CommitWaker(updates.runner.log)
        }

        /// The next update, for which it waits; nil at the end.
        public mutating func next() async throws -> LiveUpdate<Entry>? {
            do {
                if let last { try await Task.sleep(until: last + interval) }
                while true {
                    try Task.checkCancellation()
                    if let update = try await loop.next() {
                        last = .now
                        return update
                    }
                    await waker.wait(atMost: ProjectionRunner.pollInterval)
                }
            } catch is CancellationError {
                return nil
            } catch let error as ProjectionError where error.code == .closed {
                return nil
            }
        }
    }
}

/// What a loop looks at: a list that knows what it was, and takes in what happens.
protocol LiveSource<Entry>: AnyObject {
    /// What it is a list of.
    associatedtype Entry: Hashable & Sendable

    /// Of which rows it has to be told; the same tables at every time.
    var ranges: [RowRange] { get }
    /// What has to be up to date for it.
    var projections: [any Projection] { get }
    /// Whether there are entries behind its end.
    var hasMore: Bool { get }
    /// When it is another because of the time alone, in Unix milliseconds.
    var nextChangeAt: Int64? { get }

    /// Takes in what commits have changed, and that it is a later time; where it throws, taking the same once
    /// more does the rest.
    ///
    /// - Parameter changes: those of each of the ranges' tables; nil where not all of them are known.
    func take(_ changes: [[RowChange]]?, at now: Int64, _ views: Views) throws
    /// What has changed since it was told last.
    func told() -> [LiveChange<Entry>]
}

/// How far somebody has come who follows a list; one looks at a time.
package final class LiveLoop<Entry: Hashable & Sendable>: @unchecked Sendable {
    /// How long one waits before the next look.
    package static var interval: Duration { ProjectionRunner.pollInterval }

    private let runner: ProjectionRunner
    private let follower: DiffFollower
    private let list: any LiveSource<Entry>
    private let names: [String]
    private var isFirst = true

    init(_ runner: ProjectionRunner, _ list: any LiveSource<Entry>) {
        (self.runner, self.list) = (runner, list)
        follower = DiffFollower(list.ranges)
        names = list.projections.map(\.name)
    }

    /// Has not looked yet.
    package convenience init<Query: LiveQuery>(
        _ runner: ProjectionRunner, _ query: Query
    ) where Query.Entry == Entry {
        self.init(runner, LiveRows(query))
    }

    /// Has not looked yet.
    package convenience init<Arrangement: LiveArrangement>(
        _ runner: ProjectionRunner, _ arrangement: Arrangement
    ) where Arrangement.Entry == Entry {
        self.init(runner, ArrangedRows(arrangement))
    }

    fileprivate func next() async throws -> LiveUpdate<Entry>? {
        try await withCheckedThrowingContinuation { waiting in
            runner.following.async { waiting.resume(with: Result { try self.look() }) }
        }
    }

    /// What has changed since the last look; nil for nothing.
    @available(*, noasync)
    package func look() throws -> LiveUpdate<Entry>? {
        try runner.read(names, follower: follower) { views in
            let now = Int64(clamping: self.runner.log.now())
            let hadMore = self.list.hasMore
            try self.list.take(self.follower.changes, at: now, views)
            let changes = self.list.told()
            let isNews = self.isFirst || !changes.isEmpty || self.list.hasMore != hadMore
            self.isFirst = false
            self.follower.advance()
            guard isNews else { return nil }
            return LiveUpdate(
                changes: changes, hasMore: self.list.hasMore, nextChangeAt: self.list.nextChangeAt)
        }
    }
}
