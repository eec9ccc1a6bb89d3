internal import Foundation

extension ProjectionRunner {
    /// Follows a list; see `LiveUpdates`.
    ///
    /// - Parameter interval: The minimum time between two updates; changes in between are combined.
    public func live<Query: LiveQuery>(
        _ query: Query, interval: Duration = .zero
    ) -> LiveUpdates<Query.Entry> {
        live(query, interval: interval, remotes: nil)
    }

    /// Follows an arranged list; see `LiveUpdates`.
    public func live<Arrangement: LiveArrangement>(
        _ arrangement: Arrangement, interval: Duration = .zero
    ) -> LiveUpdates<Arrangement.Entry> {
        live(arrangement, interval: interval, remotes: nil)
    }

    /// - Parameter remotes: Reports whether the store is waiting for a remote whose data the list
    ///   shows.
    package func live<Query: LiveQuery>(
        _ query: Query, interval: Duration, remotes: (any LiveRemotes)?
    ) -> LiveUpdates<Query.Entry> {
        LiveUpdates(runner: self, interval: interval) { LiveLoop(self, query, remotes) }
    }

    /// - Parameter remotes: Reports whether the store is waiting for a remote whose data the list
    ///   shows.
    package func live<Arrangement: LiveArrangement>(
        _ arrangement: Arrangement, interval: Duration, remotes: (any LiveRemotes)?
    ) -> LiveUpdates<Arrangement.Entry> {
        LiveUpdates(runner: self, interval: interval) { LiveLoop(self, arrangement, remotes) }
    }

    /// - Parameter remotes: Reports whether the store is waiting for a remote whose data the list
    ///   shows.
    package func live<Ranking: LiveRanking>(
        _ ranking: Ranking, interval: Duration, remotes: (any LiveRemotes)?
    ) -> LiveUpdates<Ranking.Entry> {
        LiveUpdates(runner: self, interval: interval) { LiveLoop(self, ranking, remotes) }
    }
}

/// A list and its changes over time.
///
/// The first update inserts all entries. Later updates contain changes that result from commits by
/// any process and from the passage of time.
///
/// Commits report the rows they changed, so only the affected entries are rebuilt. If a loop is too
/// slow to receive the reports of all commits, or if projections were rebuilt, the list is read
/// again and compared with the last reported list. Applying each update in turn therefore always
/// gives the current list. A slow loop receives one combined update instead of a backlog.
///
/// Each update also contains the state of the list (`LiveUpdate.state`). The state reports the
/// progress of building tables, frozen keys in the list, read failures, waits for remotes whose
/// data the list shows, and the time of the next retry. The list keeps its entries in every state.
///
/// A loop ends when its task is cancelled or the store is closed. A loop throws `ProjectionError`
/// or `LogError` if a retry would not help; calling `next` again continues from the last update.
public struct LiveUpdates<Entry: Hashable & Sendable>: AsyncSequence, Sendable {
    /// The type of the updates.
    public typealias Element = LiveUpdate<Entry>

    let runner: ProjectionRunner
    let interval: Duration
    let loop: @Sendable () -> LiveLoop<Entry>

    /// Creates an iterator that starts with the current list.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// An iterator over the updates of a list.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let loop: LiveLoop<Entry>
        private let interval: Duration
        private let waker: CommitWaker
        private var last: ContinuousClock.Instant?
        /// The update in progress.
        private var looking: AsyncThrowingStream<LiveLook<Entry>, any Error>.AsyncIterator?

        init(_ updates: LiveUpdates) {
            loop = updates.loop()
            interval = updates.interval
            waker = CommitWaker(updates.runner.log)
        }

        /// Waits for and returns the next update; returns nil at the end.
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

        /// Returns the result of the update in progress, or of a new update if there is none; nil
        /// if nothing changed.
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
