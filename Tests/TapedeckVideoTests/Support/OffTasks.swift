import Dispatch
import Testing

/// Runs tests that compute for long on a thread of their own, one after another: the tasks' threads are
/// as few as the machine's cores, and tests that wait for answers need them.
struct OffTasks: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(OneThread.shared) { try await function() }
    }
}

extension Trait where Self == OffTasks {
    static var offTasks: OffTasks { OffTasks() }
}

private final class OneThread: TaskExecutor {
    static let shared = OneThread()
    private let queue = DispatchQueue(label: "tapedeck.tests.one-thread", qos: .utility)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
