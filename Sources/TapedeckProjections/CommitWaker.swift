internal import Dispatch
internal import Synchronization
package import TapedeckLog

/// Wakes a waiting task when this process commits to the log; commits by other processes are
/// noticed only at the timeout.
package final class CommitWaker: Sendable {
    private struct State {
        /// Whether there has been a commit since the last wait.
        var isDue = false
        var waiting: CheckedContinuation<Void, Never>?
        /// The number of the current wait, so that the timer of an earlier wait is ignored.
        var wait: UInt64 = 0
        var observer: Int?
    }

    private let log: EventLog
    private let state = Mutex(State())

    package init(_ log: EventLog) {
        self.log = log
        let observer = log.observeCommits { [weak self] _ in self?.wake() }
        state.withLock { $0.observer = observer }
    }

    deinit {
        if let observer = state.withLock({ $0.observer }) { log.stopObserving(observer) }
    }

    /// Waits for a commit for at most `duration`; returns immediately if there has been a commit
    /// since the last wait.
    package func wait(atMost duration: Duration) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let wait = state.withLock { state -> UInt64? in
                    defer { state.isDue = false }
                    guard !state.isDue, !Task.isCancelled else { return nil }
                    state.wait += 1
                    state.waiting = continuation
                    return state.wait
                }
                guard let wait else { return continuation.resume() }
                let nanoseconds = Int(duration / .nanoseconds(1))
                DispatchQueue.global(qos: .userInitiated).asyncAfter(
                    deadline: .now() + .nanoseconds(nanoseconds)
                ) { [weak self] in self?.end(wait) }
            }
        } onCancel: {
            wake()
        }
    }

    private func wake() {
        let waiting = state.withLock { state in
            state.isDue = state.waiting == nil
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    private func end(_ wait: UInt64) {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.wait == wait else { return nil }
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }
}
