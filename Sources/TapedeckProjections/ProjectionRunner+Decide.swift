internal import Dispatch
internal import TapedeckLMDB
package import TapedeckLog
package import TapedeckModel

/// # Deciding
///
/// A decision reads states and proposes events, which are recorded only if no event has changed
/// those states since. `ReadRecorder` notes every read, so callers cannot forget one.
/// `ReadBoundary` turns the reads into an append condition, which is evaluated in the transaction
/// that writes the events. A conflict is therefore always detected, whether it comes from a task,
/// another process or a sync.
///
/// The process that wrote last has current views and tends to win the next race again, so a busy
/// process could starve the others. After several conflicts, a decision therefore takes the turn
/// lock: decisions in other processes and lanes wait until it is done. The lock only improves
/// fairness, and never delays a decision by more than `turnSecondsMax`; correctness depends on the
/// append condition alone.
extension ProjectionRunner {
    /// The maximum number of attempts per decision; each failed attempt conflicted with a
    /// concurrent write.
    package static let decisionAttemptsMax = 64

    /// The number of conflicts after which a decision takes the turn lock.
    private static let overtakenMax = 4

    /// The maximum time to wait for another decision to release the turn lock; the lock is checked
    /// again after each `turnInterval`.
    private static let turnSecondsMax: Duration = .seconds(1)
    private static let turnInterval: Duration = .milliseconds(1)

    /// Records events that depend on the state of one key, if that state is still current.
    ///
    /// - Parameter decide: Called with the current state, or with the initial state if the key has
    ///   no events. `decide` may be called more than once.
    /// - Returns: The recorded events; nil if `decide` returned none.
    @discardableResult
    package func decide<P: Projection>(
        _ projection: P, key: Tag, attemptsMax: Int = decisionAttemptsMax,
        _ decide: @escaping @Sendable (P.State) throws -> [any Event]
    ) async throws -> AppendedEvents? {
        let lane = EventFilter(tags: [key], types: projection.eventTypes)
        await lanes.enter(lane)
        defer { lanes.leave(lane) }
        return try await attempt(attemptsMax) {
            try await self.attempt([projection.name]) { views in
                try decide(try views.state(of: projection, key: key) ?? P.State())
            }
        }
    }

    /// Records events that depend on views, if everything that `decide` read is still current.
    ///
    /// - Parameter names: The projections that `decide` reads; nil for all.
    /// - Returns: The recorded events; nil if `decide` returned none.
    @discardableResult
    package func decide(
        reading names: [String]? = nil, attemptsMax: Int = decisionAttemptsMax,
        _ decide: @escaping @Sendable (Views) throws -> [any Event]
    ) async throws -> AppendedEvents? {
        try await awaitTurns()
        switch try await attempt(names, decide) {
        case .done(let appended): return appended
        case .overtaken(let cause) where attemptsMax <= 1: throw givenUp(attemptsMax, cause)
        case .overtaken: break
        }
        await lanes.enter(nil)
        defer { lanes.leave(nil) }
        return try await attempt(attemptsMax - 1) { try await self.attempt(names, decide) }
    }

    private enum Attempt: Sendable {
        case done(AppendedEvents?)
        case overtaken(LogError)
    }

    private func attempt(
        _ most: Int, _ body: () async throws -> Attempt
    ) async throws -> AppendedEvents? {
        var made = 0
        var turn: FileLock?
        while true {
            if turn == nil { try await awaitTurns() }
            switch try await body() {
            case .done(let appended): return appended
            case .overtaken(let cause):
                made += 1
                guard made < most else { throw givenUp(made, cause) }
                try Task.checkCancellation()
                if made >= ProjectionRunner.overtakenMax, turn == nil {
                    turn = try await takeTurn()
                }
            }
        }
    }

    /// Waits while another decision holds the turn lock.
    private func awaitTurns() async throws {
        let end = ContinuousClock.now + ProjectionRunner.turnSecondsMax
        while try !StoreLock.isDecisionLockFree(log.directory), .now < end {
            try await Task.sleep(for: ProjectionRunner.turnInterval)
        }
    }

    /// Takes the turn lock; returns nil if other decisions hold it for too long.
    private func takeTurn() async throws -> FileLock? {
        let end = ContinuousClock.now + ProjectionRunner.turnSecondsMax
        while ContinuousClock.now < end {
            if let turn = try StoreLock.turn(log.directory) { return turn }
            try await Task.sleep(for: ProjectionRunner.turnInterval)
        }
        return nil
    }

    private func attempt(
        _ names: [String]?, _ decide: @escaping @Sendable (Views) throws -> [any Event]
    ) async throws -> Attempt {
        let (proposals, boundary) = try await withCheckedThrowingContinuation { waiting in
            deciding.async {
                waiting.resume(
                    with: Result {
                        let recorder = ReadRecorder()
                        let events = try self.read(names, recorder: recorder, decide)
                        return (try events.map { try ProposedEvent($0) }, recorder.boundary)
                    })
            }
        }
        guard !proposals.isEmpty else { return .done(nil) }
        do throws(LogError) {
            return .done(
                try await log.append(proposals, condition: boundary.map { .unchanged($0) }))
        } catch {
            guard error.code == .conditionFailed else { throw error }
            return .overtaken(error)
        }
    }

    private func givenUp(_ attempts: Int, _ cause: LogError) -> ProjectionError {
        ProjectionError(
            .conditionFailed,
            "the decision conflicted with concurrent writes \(attempts) times",
            hint: "try again; a decision that reads fewer keys conflicts less often",
            cause: cause)
    }
}
