internal import Synchronization
internal import TapedeckSyncProtocol

/// Ends the bodies of requests that miss their deadlines; see `BodyPace`.
///
/// One timer serves all requests. A timer or a task for each request would cost a third of the time
/// that the server needs for a small request.
final class BodyDeadlines: Sendable {
    let clock: ConnectionClock
    private let state = Mutex(State())

    private struct State {
        var bodies: [Int: Body] = [:]
        var lastNumber = 0
        /// The time at which the timer ends; nil if there is no timer.
        var timer: ContinuousClock.Instant?
    }

    private struct Body {
        var deadline: ContinuousClock.Instant
        /// Ends the body; nil if that has already happened.
        var end: (@Sendable () -> Void)?
    }

    init(_ clock: ConnectionClock) { self.clock = clock }

    /// Adds a body and returns its number; the caller must call `remove` when the body has been
    /// read.
    ///
    /// - Parameter end: Called once at the deadline; makes the reader of the body fail.
    func add(_ deadline: ContinuousClock.Instant, end: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.lastNumber += 1
            state.bodies[state.lastNumber] = Body(deadline: deadline, end: end)
            startTimer(deadline, &state)
            return state.lastNumber
        }
    }

    /// Moves the deadline of a body to a later time.
    func move(_ number: Int, to deadline: ContinuousClock.Instant) {
        state.withLock { $0.bodies[number]?.deadline = deadline }
    }

    /// Removes a body; returns whether it has missed its deadline.
    @discardableResult
    func remove(_ number: Int) -> Bool {
        state.withLock { $0.bodies.removeValue(forKey: number).map { $0.end == nil } ?? false }
    }

    /// Starts a timer unless there is one that ends early enough.
    ///
    /// The timer continues if the body is removed, because it then serves the next requests.
    private func startTimer(_ deadline: ContinuousClock.Instant, _ state: inout State) {
        if let timer = state.timer, timer <= deadline { return }
        state.timer = deadline
        Task { [clock, weak self] in
            try await clock.sleep(deadline)
            self?.endLateBodies()
        }
    }

    private func endLateBodies() {
        let now = clock.now()
        let late = state.withLock { state in
            var late: [@Sendable () -> Void] = []
            for (number, body) in state.bodies where body.deadline <= now {
                if let end = body.end { late.append(end) }
                state.bodies[number]?.end = nil
            }
            state.timer = nil
            let next = state.bodies.values.lazy.filter { $0.end != nil }.map(\.deadline).min()
            if let next { startTimer(next, &state) }
            return late
        }
        for end in late { end() }
    }
}
