internal import Dispatch
internal import TapedeckLMDB
package import TapedeckLog
package import TapedeckModel

/// # Deciding
///
/// A decision reads states, and its events are recorded only if nothing that those states are folded from
/// has been recorded since. What it reads is noted as it reads (`ReadRecorder`), so nobody can name too
/// little; the rest is an append condition (`ReadBoundary`), evaluated in the transaction that writes the
/// events. So it makes no difference who was quicker: a task, a process, or a sync.
///
/// Who has just recorded something has its views at hand and is the quicker one again, so a process that
/// never pauses could overtake another for ever. A decision that was overtaken a few times takes the turn:
/// those of other processes, and of other lanes, wait until it is made. That is a courtesy for which nobody
/// waits longer than `turnSecondsMax`; what keeps decisions right is the condition alone.
extension ProjectionRunner {
    /// How often a decision is made again before it is given up.
    ///
    /// Each time somebody else was quicker.
    package static let decisionAttemptsMax = 64

    /// How often a decision is overtaken before it takes the turn.
    private static let overtakenMax = 4

    /// The longest that a decision waits for the turn of another, and how often it looks.
    private static let turnSecondsMax: Duration = .seconds(1)
    private static let turnInterval: Duration = .milliseconds(1)

    /// Records what follows from the state of one key, as of the moment in which it is recorded.
    ///
    /// - Parameter decide: gets the state, or the one before the first event; may be called more than once.
    /// - Returns: nil where nothing was decided.
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

    /// Records what follows from whatever `decide` reads, as of the moment in which it is recorded.
    ///
    /// - Parameter names: the projections that it reads; nil for all.
    /// - Returns: nil where nothing was decided.
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

    /// Waits while another decision has the turn.
    private func awaitTurns() async throws {
        let end = ContinuousClock.now + ProjectionRunner.turnSecondsMax
        while try !StoreLock.isNobodysTurn(log.directory), .now < end {
            try await Task.sleep(for: ProjectionRunner.turnInterval)
        }
    }

    /// Takes the turn; nil where others have it for too long.
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
            "a decision was overtaken \(attempts) times: others recorded what it rests on",
            hint:
                "try again when less is going on; a decision that reads fewer keys is overtaken less",
            cause: cause)
    }
}
