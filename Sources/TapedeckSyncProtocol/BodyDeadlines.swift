internal import Synchronization

/// The time as connections measure it; tests replace it.
package struct ConnectionClock: Sendable {
    package var now: @Sendable () -> ContinuousClock.Instant
    /// Waits until a point in time; throws when the task is cancelled.
    package var sleep: @Sendable (ContinuousClock.Instant) async throws -> Void

    package init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        sleep: @escaping @Sendable (ContinuousClock.Instant) async throws -> Void = {
            try await Task.sleep(until: $0, clock: .continuous)
        }
    ) {
        (self.now, self.sleep) = (now, sleep)
    }
}

/// Ends the bodies of requests and responses that miss their deadlines; see `BodyPace`.
///
/// A check on each arriving part would not end a body of which nothing more arrives. One timer
/// serves all bodies, because a timer for each body would cost a third of the time that the server
/// needs for a small request.
package final class BodyDeadlines: Sendable {
    /// The deadlines of a process's connections.
    package static let system = BodyDeadlines(ConnectionClock())

    package let clock: ConnectionClock
    private let state = Mutex(State())

    private struct State {
        var bodies: [Int: Body] = [:]
        var lastNumber = 0
        /// The time at which the timer ends; nil if there is no timer.
        var timer: ContinuousClock.Instant?
    }

    private struct Body {
        var deadline: ContinuousClock.Instant
        /// Makes the reader of the body fail; nil if it cannot yet be ended.
        var end: (@Sendable () -> Void)?
        var isLate = false
    }

    package init(_ clock: ConnectionClock) { self.clock = clock }

    /// Adds a body and returns its number; the caller must call `remove` when the body has been
    /// read.
    ///
    /// - Parameter end: Called once at the deadline; makes the reader of the body fail. Nil if
    ///   `setEnd` follows.
    package func add(
        _ deadline: ContinuousClock.Instant, end: (@Sendable () -> Void)? = nil
    ) -> Int {
        state.withLock { state in
            state.lastNumber += 1
            state.bodies[state.lastNumber] = Body(deadline: deadline, end: end)
            startTimer(deadline, &state)
            return state.lastNumber
        }
    }

    /// Moves the deadline of a body to a later time.
    package func move(_ number: Int, to deadline: ContinuousClock.Instant) {
        state.withLock { $0.bodies[number]?.deadline = deadline }
    }

    /// Removes a body; returns whether it has missed its deadline.
    @discardableResult
    package func remove(_ number: Int) -> Bool {
        state.withLock { $0.bodies.removeValue(forKey: number)?.isLate ?? false }
    }

    /// Returns the result of `read`, or cancels it at the deadline and returns nil.
    ///
    /// - Parameter read: Receives a function that moves the deadline to a later time.
    package func watch<Value: Sendable>(
        _ deadline: ContinuousClock.Instant,
        _ read:
            @escaping @Sendable (
                _ move: @Sendable (ContinuousClock.Instant) -> Void
            ) async throws -> Value
    ) async throws -> Value? {
        let number = add(deadline)
        let reading = Task { try await read { self.move(number, to: $0) } }
        setEnd(of: number) { reading.cancel() }
        let result = await withTaskCancellationHandler {
            await reading.result
        } onCancel: {
            reading.cancel()
        }
        return remove(number) ? nil : try result.get()
    }

    private func setEnd(of number: Int, _ end: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.bodies[number]?.end = end
            return state.bodies[number]?.isLate ?? false
        }
        if isLate { end() }
    }

    /// Starts a timer unless there is one that ends early enough.
    ///
    /// The timer continues if the body is removed, because it then serves the next bodies.
    private func startTimer(_ deadline: ContinuousClock.Instant, _ state: inout State) {
        if let timer = state.timer, timer <= deadline { return }
        state.timer = deadline
        // The timer must not inherit the priority of the body that happens to start it.
        Task.detached { [clock, weak self] in
            try await clock.sleep(deadline)
            self?.endLateBodies(timer: deadline)
        }
    }

    /// Does nothing if an earlier timer has taken over.
    private func endLateBodies(timer: ContinuousClock.Instant) {
        let now = clock.now()
        let late = state.withLock { state in
            var late: [@Sendable () -> Void] = []
            guard state.timer == timer else { return late }
            for (number, body) in state.bodies where !body.isLate && body.deadline <= now {
                if let end = body.end { late.append(end) }
                state.bodies[number]?.isLate = true
            }
            state.timer = nil
            let next = state.bodies.values.lazy.filter { !$0.isLate }.map(\.deadline).min()
            if let next { startTimer(next, &state) }
            return late
        }
        for end in late { end() }
    }
}
