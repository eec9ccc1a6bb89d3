import Dispatch
package import Testing

/// Runs tests on a thread of their own, one after another, because they compute for long or block: the threads for
/// tasks are as few as the processors, and tests that wait for answers need them.
package struct OffTasks: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(OneThread.shared) { try await function() }
    }
}

extension Trait where Self == OffTasks {
    package static var offTasks: OffTasks { OffTasks() }
}

private final class OneThread: TaskExecutor {
    static let shared = OneThread()
    private let queue = DispatchQueue(label: "tapedeck.tests.one-thread", qos: .utility)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
