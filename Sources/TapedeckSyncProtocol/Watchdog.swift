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

/// Ends the reading of a request or response that misses a deadline.
///
/// A check on each arriving part would not end a body of which nothing more arrives, so the
/// deadline is watched by a task of its own. The reader moves the deadline as it proceeds.
package final class Watchdog: Sendable {
    private let clock: ConnectionClock
    private let deadline: Mutex<ContinuousClock.Instant>
    private let failure: any Error

    /// - Parameter failure: The error that `watch` throws at the deadline.
    package init(
        _ clock: ConnectionClock, deadline: ContinuousClock.Instant, failure: any Error
    ) {
        self.clock = clock
        self.deadline = Mutex(deadline)
        self.failure = failure
    }

    package func moveDeadline(to new: ContinuousClock.Instant) {
        deadline.withLock { $0 = new }
    }

    /// Returns the result of `read`, or cancels it at the deadline and throws `failure`.
    package func watch<Value: Sendable>(
        _ read: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            defer { group.cancelAll() }
            group.addTask(operation: read)
            group.addTask { try await self.waitForDeadline() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }

    /// Waits until the deadline, which can move during the wait, and throws.
    private func waitForDeadline() async throws -> Never {
        while true {
            let deadline = deadline.withLock(\.self)
            guard clock.now() < deadline else { throw failure }
            try await clock.sleep(deadline)
        }
    }
}
