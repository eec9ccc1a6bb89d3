public import TapedeckLog
public import TapedeckModel
public import TapedeckProjections

extension TapedeckStore {
    /// How often a decision is made again before it is given up, unless the call says otherwise.
    public static let decisionAttemptsMax = ProjectionRunner.decisionAttemptsMax

    /// Reads the state of one key, asks what is to happen, and records that, only if the state is still the
    /// same.
    ///
    /// ```swift
    /// try await store.decide(SeatsOfHall(), key: Tag("hall", "1")) { hall in
    ///     guard hall.taken < hall.seats else { throw SoldOut() }
    ///     return [SeatTaken(hall: "1")]
    /// }
    /// ```
    ///
    /// Where anything was recorded in between that the state is folded from, by this process, by another
    /// one or by a sync, the state is read and `decision` asked again. That is an event with the tag `key`
    /// and one of the projection's types, or a receipt of such an event. So of all who take the last seat
    /// of this store one gets it. Other devices decide on their own stores: what they decided arrives by
    /// sync, and the fold has to cope.
    ///
    /// - Parameters:
    ///   - projection: one that the store was opened with.
    ///   - key: a tag of the kind that the projection has for keys.
    ///   - attemptsMax: how often `decision` is asked at the most.
    ///   - decision: gets the state, or the one before the first event; returns what happens, perhaps
    ///     nothing. It is asked once or more often and must do nothing else.
    /// - Returns: what was recorded; nil where nothing was decided.
    ///
    /// Costs a query and a durable append, each time. Decisions of this process on one key of one
    /// projection wait for each other, so that they do not overtake each other; on other keys they share
    /// commits.
    ///
    /// Throws what `decision` throws, as it is; nothing is recorded then. Besides `StoreError`:
    /// `.conditionFailed` (overtaken `attemptsMax` times), `.frozen` (the key's fold has refused an event),
    /// `.notFound` (the store does not keep the projection), and what `append` and `query` throw; and
    /// `CancellationError` where the task is cancelled between two attempts.
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

    /// Reads what it likes, asks what is to happen, and records that, only if what was read is still so.
    ///
    /// As `decide(_:key:attemptsMax:_:)`, for decisions that rest on several keys or projections. What
    /// `decision` reads is noted: a key's state or items count as this key, rows count as all keys of their
    /// projection, so a decision that reads rows is overtaken by every event of the projection's types. Of
    /// a frozen key its rows are read as they stood.
    ///
    /// - Parameters:
    ///   - names: the projections that `decision` reads; nil for all.
    ///   - attemptsMax: how often `decision` is asked at the most.
    ///   - decision: reads, and returns what happens; it must do nothing else, and return soon.
    /// - Returns: what was recorded; nil where nothing was decided.
    ///
    /// Costs and throws what the other one does. Decisions of this process that were overtaken wait for each
    /// other.
    @discardableResult
    public func decide(
        reading names: [String]? = nil, attemptsMax: Int = decisionAttemptsMax,
        _ decision: @escaping @Sendable (Views) throws -> [any Event]
    ) async throws -> AppendedEvents? {
        try await naming {
            try await projections.decide(reading: names, attemptsMax: attemptsMax, decision)
        }
    }

    /// Gives what the rooms below throw the facade's name, and leaves alone what others do.
    private func naming<R>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let error where error is LogError || error is ProjectionError || error is ModelError
        {
            throw StoreError(error)
        }
    }
}
