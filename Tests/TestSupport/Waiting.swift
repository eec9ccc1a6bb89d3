import Foundation
import Synchronization
package import Testing

/// How long a test waits for an event before it fails.
///
/// It only bounds tests that would never end: no result depends
/// on how fast the machine is.
package let waitSecondsMax: Double = 300

/// Waits until a condition holds.
///
/// - Parameters:
///   - what: what the test waits for, as the failure names it.
///   - state: what is printed of the state if it never holds.
package func eventually(
    _ what: String = "the condition", state: () throws -> String = { "" },
    _ condition: () throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(waitSecondsMax)
    while try !condition() {
        guard .now < end else {
            throw NeverHappened(
                description: "\(what) did not come within \(waitSecondsMax) s \(try state())")
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// The same for tests that are no tasks and may block their thread.
package func eventuallyBlocking(
    _ what: String = "the condition", state: () throws -> String = { "" },
    _ condition: () throws -> Bool
) throws {
    let end = ContinuousClock.now + .seconds(waitSecondsMax)
    while try !condition() {
        guard .now < end else {
            throw NeverHappened(
                description: "\(what) did not come within \(waitSecondsMax) s \(try state())")
        }
        Thread.sleep(forTimeInterval: 0.005)
    }
}

/// What a test waited for in vain.
package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String
}

/// Runs `body` on a thread of its own and waits for it, but not for ever: a deadlock is a failed test.
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

/// Runs `body` on a thread of its own, so that it may block while the threads for tasks go on.
package func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { waiting in
        let thread = Thread { waiting.resume(with: Swift.Result { try body() }) }
        thread.stackSize = 8 << 20
        thread.start()
    }
}

/// A door that stays shut until it is opened.
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

    /// Returns false if nothing opened it.
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
