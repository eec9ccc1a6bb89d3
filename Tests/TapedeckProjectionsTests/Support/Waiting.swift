import Foundation
import Synchronization
import Testing

/// Runs `body` on a thread of its own and waits for it, but not for ever: a deadlock is a failed test
/// and not a suite that hangs.
func finishes(
    within seconds: Double = 60, _ what: String = "",
    sourceLocation: SourceLocation = #_sourceLocation, _ body: @escaping @Sendable () throws -> Void
) throws {
    let done = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    let thread = Thread {
        do { try body() } catch { failure.withLock { $0 = error } }
        done.signal()
    }
    thread.stackSize = 8 << 20
    thread.start()
    guard done.wait(timeout: .now() + seconds) == .success else {
        Issue.record("\(what) did not end within \(seconds) s", sourceLocation: sourceLocation)
        return
    }
    if let error = failure.withLock({ $0 }) { throw error }
}

/// A door that stays shut until somebody opens it.
final class Latch: Sendable {
    private let condition = NSCondition()
    private let isOpen = Mutex(false)

    func open() {
        condition.lock()
        isOpen.withLock { $0 = true }
        condition.broadcast()
        condition.unlock()
    }

    /// False where nobody has opened it in time.
    @discardableResult
    func wait(seconds: Double = 30) -> Bool {
        let end = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while !isOpen.withLock({ $0 }) {
            guard condition.wait(until: end) else { return false }
        }
        return true
    }
}
