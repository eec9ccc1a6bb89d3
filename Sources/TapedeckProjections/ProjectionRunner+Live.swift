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
    ) -> LiveUpdates<Query> {
        LiveUpdates(runner: self, query: query, interval: interval)
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
public struct LiveUpdates<Query: LiveQuery>: AsyncSequence, Sendable {
    /// What has changed.
    public typealias Element = LiveUpdate<Query.Entry>

    let runner: ProjectionRunner
    let query: Query
    let interval: Duration

    /// Begins with the list as it is.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// A loop over the updates of a list.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let loop: LiveLoop<Query>
        private let interval: Duration
        private let waker: CommitWaker
        private var last: ContinuousClock.Instant?

        init(_ updates: LiveUpdates) {
            loop = LiveLoop(updates.runner, updates.query)
            interval = updates.interval
            waker = CommitWaker(updates.runner.log)
        }

        /// The next update, for which it waits; nil at the end.
        public mutating func next() async throws -> LiveUpdate<Query.Entry>? {
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

/// How far somebody has come who follows a list; one looks at a time.
package final class LiveLoop<Query: LiveQuery>: @unchecked Sendable {
    /// How long one waits before the next look.
    package static var interval: Duration { ProjectionRunner.pollInterval }

    private let runner: ProjectionRunner
    private let query: Query
    private let follower: DiffFollower
    private let rows: LiveRows<Query>
    private var isFirst = true

    /// Has not looked yet.
    package init(_ runner: ProjectionRunner, _ query: Query) {
        (self.runner, self.query) = (runner, query)
        follower = DiffFollower(query.lists + query.details)
        rows = LiveRows(query)
    }

    fileprivate func next() async throws -> LiveUpdate<Query.Entry>? {
        try await withCheckedThrowingContinuation { waiting in
            runner.following.async { waiting.resume(with: Result { try self.look() }) }
        }
    }

    /// What has changed since the last look; nil for nothing.
    @available(*, noasync)
    package func look() throws -> LiveUpdate<Query.Entry>? {
        try runner.read(query.projections.map(\.name), follower: follower) { views in
            let now = Int64(clamping: self.runner.log.now())
            let hadMore = self.rows.hasMore
            if let known = self.follower.changes {
                let count = self.query.lists.count
                try self.rows.take(
                    lists: known.prefix(count), details: known.dropFirst(count), at: now, views)
            } else {
                try self.rows.reread(at: now, views)
            }
            let changes = self.rows.told()
            let isNews = self.isFirst || !changes.isEmpty || self.rows.hasMore != hadMore
            self.isFirst = false
            self.follower.advance()
            guard isNews else { return nil }
            return LiveUpdate(
                changes: changes, hasMore: self.rows.hasMore,
                nextChangeAt: self.rows.nextChangeAt)
        }
    }
}
