internal import Foundation

extension ProjectionRunner {
    /// Follows a list; see `LiveUpdates`.
    ///
    /// - Parameter interval: how long a loop waits at least between two updates; what happens meanwhile
    ///   comes in one.
    public func live<Query: LiveQuery>(
        _ query: Query, interval: Duration = .zero
    ) -> LiveUpdates<Query.Entry> {
        live(query, interval: interval, remotes: nil)
    }

    /// Follows a list that is arranged of rows; see `LiveUpdates`.
    public func live<Arrangement: LiveArrangement>(
        _ arrangement: Arrangement, interval: Duration = .zero
    ) -> LiveUpdates<Arrangement.Entry> {
        live(arrangement, interval: interval, remotes: nil)
    }

    /// - Parameter remotes: tells what waits at the remotes whose sightings the list shows.
    package func live<Query: LiveQuery>(
        _ query: Query, interval: Duration, remotes: (any LiveRemotes)?
    ) -> LiveUpdates<Query.Entry> {
        LiveUpdates(runner: self, interval: interval) { LiveLoop(self, query, remotes) }
    }

    /// - Parameter remotes: tells what waits at the remotes whose sightings the list shows.
    package func live<Arrangement: LiveArrangement>(
        _ arrangement: Arrangement, interval: Duration, remotes: (any LiveRemotes)?
    ) -> LiveUpdates<Arrangement.Entry> {
        LiveUpdates(runner: self, interval: interval) { LiveLoop(self, arrangement, remotes) }
    }

    /// - Parameter remotes: tells what waits at the remotes whose sightings the list shows.
    package func live<Ranking: LiveRanking>(
        _ ranking: Ranking, interval: Duration, remotes: (any LiveRemotes)?
    ) -> LiveUpdates<Ranking.Entry> {
        LiveUpdates(runner: self, interval: interval) { LiveLoop(self, ranking, remotes) }
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
/// What else is to be known comes in the same order (`LiveUpdate.state`): that tables are made first, and how
/// far they are; that a key which the list shows is frozen; that the list cannot be read, or that a remote
/// whose sightings it shows is waited for, and when that is tried again. The list stays what it is meanwhile.
///
/// A loop ends when its task is cancelled or the store is closed. It throws `ProjectionError` and `LogError`
/// where trying again is no use; asking once more goes on where it was.
public struct LiveUpdates<Entry: Hashable & Sendable>: AsyncSequence, Sendable {
    /// What has changed.
    public typealias Element = LiveUpdate<Entry>

    let runner: ProjectionRunner
    let interval: Duration
    let loop: @Sendable () -> LiveLoop<Entry>

    /// Begins with the list as it is.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// A loop over the updates of a list.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let loop: LiveLoop<Entry>
        private let interval: Duration
        private let waker: CommitWaker
        private var last: ContinuousClock.Instant?
        /// The look that is under way.
        private var looking: AsyncThrowingStream<LiveLook<Entry>, any Error>.AsyncIterator?

        init(_ updates: LiveUpdates) {
            loop = updates.loop()
            interval = updates.interval
            waker = CommitWaker(updates.runner.log)
        }

        /// The next update, for which it waits; nil at the end.
        public mutating func next() async throws -> LiveUpdate<Entry>? {
            do {
                if let last { try await Task.sleep(until: last + interval) }
                while true {
                    if let update = try await look() {
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

        /// What the look that is under way, or else the next one, tells; nil for nothing.
        private mutating func look() async throws -> LiveUpdate<Entry>? {
            try Task.checkCancellation()
            if looking == nil { looking = loop.begin().makeAsyncIterator() }
            do {
                switch try await looking?.next() {
                case .loading(let update)?: return update
                case .done(let update)?:
                    looking = nil
                    return update
                case nil: throw CancellationError()
                }
            } catch {
                looking = nil
                throw error
            }
        }
    }
}
