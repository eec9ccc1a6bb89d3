import Foundation
import Synchronization
package import Testing

/// The time for which a test waits before it fails, in seconds.
///
/// The limit only stops tests that would never end; no result depends on the speed of the machine.
package let waitSecondsMax: Double = 300

/// Waits until a condition is true.
///
/// - Parameters:
///   - what: The awaited condition, for the failure message.
///   - state: A description of the state, printed if the condition never becomes true.
package func eventually(
    _ what: String = "the condition", state: () throws -> String = { "" },
    _ condition: () throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(waitSecondsMax)
    while try !condition() {
        guard .now < end else {
            throw NeverHappened(
                description: "waited \(waitSecondsMax) s in vain for \(what) \(try state())")
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// Like `eventually`, for tests that do not run in tasks and may block their thread.
package func eventuallyBlocking(
    _ what: String = "the condition", state: () throws -> String = { "" },
    _ condition: () throws -> Bool
) throws {
    let end = ContinuousClock.now + .seconds(waitSecondsMax)
    while try !condition() {
        guard .now < end else {
            throw NeverHappened(
                description: "waited \(waitSecondsMax) s in vain for \(what) \(try state())")
        }
        Thread.sleep(forTimeInterval: 0.005)
    }
}

/// A condition that never became true.
package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String
}

/// Runs `body` on a separate thread and waits for it with a limit, so that a deadlock fails the
/// test.
package func finishes(
    _ what: String = "this", sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @escaping @Sendable () throws -> Void
) throws {
    let done = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    let thread = Thread {
        do { try body() } catch { failure.withLock { $0 = error } }
        done.signal()
    }
    thread.stackSize = 8 << 20
    thread.start()
    guard done.wait(timeout: .now() + waitSecondsMax) == .success else {
        Issue.record(
            "\(what) did not end within \(waitSecondsMax) s", sourceLocation: sourceLocation)
        return
    }
    if let error = failure.withLock({ $0 }) { throw error }
}

/// Runs `body` on a separate thread, so that it may block without holding up the threads that run
/// tasks.
package func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { waiting in
        let thread = Thread { waiting.resume(with: Swift.Result { try body() }) }
        thread.stackSize = 8 << 20
        thread.start()
    }
}

/// A gate that stays closed until it is opened.
package final class Latch: Sendable {
    private let condition = NSCondition()
    private let isOpen = Mutex(false)

    package init() {}

    package func open() {
        condition.lock()
        isOpen.withLock { $0 = true }
        condition.broadcast()
        condition.unlock()
    }

    /// Waits for the gate to open; returns false if it was not opened in time.
    @discardableResult
    package func wait() -> Bool {
        let end = Date(timeIntervalSinceNow: waitSecondsMax)
        condition.lock()
        defer { condition.unlock() }
        while !isOpen.withLock({ $0 }) {
            guard condition.wait(until: end) else { return false }
        }
        return true
    }
}
