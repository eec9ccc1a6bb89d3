import Synchronization
@testable import TapedeckSync

/// A clock that only the test moves.
final class Stopwatch: Sendable {
    private struct State {
        var passed = Duration.zero
        var sleepers: [(end: Duration, wake: AsyncStream<Never>.Continuation)] = []
    }

    private let start = ContinuousClock.now
    private let state = Mutex(State())

    var clock: ConnectionClock {
        ConnectionClock(
            now: { [self] in start + state.withLock(\.passed) },
            sleep: { [self] in try await wait($0) })
    }

    func advance(_ duration: Duration) {
        state.withLock { state in
            state.passed += duration
            let passed = state.passed
            for sleeper in state.sleepers where sleeper.end <= passed { sleeper.wake.finish() }
            state.sleepers.removeAll { $0.end <= passed }
        }
    }

    private func wait(_ duration: Duration) async throws {
        let (stream, wake) = AsyncStream<Never>.makeStream()
        state.withLock { $0.sleepers.append(($0.passed + duration, wake)) }
        for await _ in stream {}
        try Task.checkCancellation()
    }
}
