import Synchronization
import TapedeckSyncProtocol

/// A clock that only the test moves.
final class Stopwatch: Sendable {
    private typealias Wake = AsyncStream<Never>.Continuation

    private static let start = ContinuousClock.now

    private struct State {
        var now = Stopwatch.start
        var sleepers: [(end: ContinuousClock.Instant, wake: Wake)] = []
        /// The tasks that wait until a task sleeps.
        var observers: [Wake] = []

        mutating func wakeSleepers() {
            for sleeper in sleepers where sleeper.end <= now { sleeper.wake.finish() }
            sleepers.removeAll { $0.end <= now }
        }

        mutating func wakeObservers() {
            guard !sleepers.isEmpty else { return }
            for observer in observers { observer.finish() }
            observers = []
        }
    }

    private let state = Mutex(State())

    var clock: ConnectionClock {
        ConnectionClock(
            now: { [self] in state.withLock(\.now) },
            sleep: { [self] end in
                await suspend { $0.sleepers.append((end, $1)) }
                try Task.checkCancellation()
            })
    }

    /// The time that has passed since the stopwatch was made.
    var passed: Duration { state.withLock(\.now) - Stopwatch.start }

    var sleeperCount: Int { state.withLock(\.sleepers.count) }

    func advance(_ duration: Duration) {
        state.withLock {
            $0.now += duration
            $0.wakeSleepers()
        }
    }

    /// Waits until a task sleeps.
    func waitForSleeper() async {
        await suspend { $0.observers.append($1) }
    }

    /// Suspends the current task until it is woken or cancelled.
    private func suspend(_ add: (inout State, Wake) -> Void) async {
        let (stream, wake) = AsyncStream<Never>.makeStream()
        state.withLock {
            add(&$0, wake)
            $0.wakeSleepers()
            $0.wakeObservers()
        }
        for await _ in stream {}
    }
}
