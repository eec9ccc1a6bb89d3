public import TapedeckLog
public import TapedeckModel
public import TapedeckProjections

extension TapedeckStore {
    /// The default maximum number of attempts per decision.
    public static let decisionAttemptsMax = ProjectionRunner.decisionAttemptsMax

    /// Reads the state of one key, runs `decision`, and records the returned events only if the
    /// state has not changed.
    ///
    /// ```swift
    /// try await store.decide(SeatsOfHall(), key: Tag("hall", "1")) { hall in
    ///     guard hall.taken < hall.seats else { throw SoldOut() }
    ///     return [SeatTaken(hall: "1")]
    /// }
    /// ```
    ///
    /// If an event that affects the state is recorded in between, by this process, another process
    /// or a sync, the state is read again, and `decision` runs again. An event affects the state if
    /// it has the tag `key` and one of the projection's types. A receipt for one of these events
    /// also affects the state. So if several callers try to take the last seat in this store, only
    /// one gets it. Other devices decide in their own stores. Events from other devices arrive by
    /// sync, and the fold must resolve conflicts.
    ///
    /// - Parameters:
    ///   - projection: A projection with which the store was opened.
    ///   - key: A tag of the projection's key kind.
    ///   - attemptsMax: The maximum number of times that `decision` runs.
    ///   - decision: Receives the state, or the initial state before the first event, and returns
    ///     the events to record, possibly none. `decision` may run several times and must have no
    ///     side effects.
    /// - Returns: The recorded events; nil if there were none.
    ///
    /// The cost is a query and a durable append per attempt. Within this process, decisions on the
    /// same key of the same projection run one after another, so they do not conflict; decisions on
    /// different keys share commits.
    ///
    /// If `decision` throws, rethrows its error unchanged and records nothing. Also throws
    /// `StoreError`: `.conditionFailed` (conflicts in all `attemptsMax` attempts), `.frozen` (the
    /// key's fold rejected an event), `.notFound` (the store does not have the projection), and the
    /// same errors as `append` and `query`. Throws `CancellationError` if the task is cancelled
    /// between two attempts.
    @discardableResult
    public func decide<P: Projection>(
        _ projection: P, key: Tag, attemptsMax: Int = decisionAttemptsMax,
        _ decision: @escaping @Sendable (P.State) throws -> [any Event]
    ) async throws -> AppendedEvents? {
        try await naming {
            try await projections.decide(
                projection, key: key, attemptsMax: attemptsMax, decision)
        }
    }

    /// Runs `decision`, which may read any views, and records the events it returns only if the
    /// data it read has not changed.
    ///
    /// This method works like `decide(_:key:attemptsMax:_:)`, but for decisions that depend on
    /// several keys or projections. The store tracks what `decision` reads. A decision that reads a
    /// state or an item depends on the key, and conflicts with events of this key. A decision that
    /// reads rows depends on all keys of the projection, and conflicts with every event of the
    /// projection's types. If a key is frozen, `decision` reads the rows that the key had when it
    /// was frozen.
    ///
    /// - Parameters:
    ///   - names: The projections that `decision` reads; nil for all.
    ///   - attemptsMax: The maximum number of times that `decision` runs.
    ///   - decision: Reads views and returns the events to record. `decision` must be quick and
    ///     have no side effects.
    /// - Returns: The recorded events; nil if there were none.
    ///
    /// Has the same costs and errors as `decide(_:key:attemptsMax:_:)`. Within this process,
    /// decisions are retried one at a time after a conflict.
    @discardableResult
    public func decide(
        reading names: [String]? = nil, attemptsMax: Int = decisionAttemptsMax,
        _ decision: @escaping @Sendable (Views) throws -> [any Event]
    ) async throws -> AppendedEvents? {
        try await naming {
            try await projections.decide(reading: names, attemptsMax: attemptsMax, decision)
        }
    }

    /// Converts errors from the underlying modules to `StoreError`, and rethrows other errors
    /// unchanged.
    private func naming<R>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let error where error is LogError || error is ProjectionError || error is ModelError
        {
            throw StoreError(error)
        }
    }
}
