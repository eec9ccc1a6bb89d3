import Foundation
package import Testing

/// Runs tests on separate threads, because they block or compute for a long time.
///
/// All tasks share one thread per processor, and tests that wait for responses need these threads.
/// Tests with `#expect(processExitsWith:)` need this trait, too: the testing library reads the
/// output of the child with blocking calls, so two children at the same time would leave no thread
/// for other tasks.
package struct OffTasks: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(OwnThreads.shared) { try await function() }
    }
}

extension Trait where Self == OffTasks {
    package static var offTasks: OffTasks { OffTasks() }
}

/// Runs each job on an idle thread, and starts a thread if there is none.
private final class OwnThreads: TaskExecutor, @unchecked Sendable {
    static let shared = OwnThreads()
    // All properties are guarded by `condition`.
    private var jobs: [UnownedJob] = []
    private var idleCount = 0
    private let condition = NSCondition()

    func enqueue(_ job: consuming ExecutorJob) {
        condition.lock()
        defer { condition.unlock() }
        jobs.append(UnownedJob(job))
        if idleCount >= jobs.count {
            condition.signal()
        } else {
            let thread = Thread { self.work() }
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    private func work() {
        while true {
            condition.lock()
            idleCount += 1
            while jobs.isEmpty { condition.wait() }
            idleCount -= 1
            let job = jobs.removeFirst()
            condition.unlock()
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
