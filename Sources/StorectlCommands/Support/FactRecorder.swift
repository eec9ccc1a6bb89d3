internal import Dispatch
internal import Synchronization
internal import Tapedeck

/// Records new observations, many per commit.
///
/// Each observation has its own condition, and `EventLog.append` takes one condition per call. The
/// calls therefore run concurrently and share commits, so that a batch waits for a slow disk a few
/// times instead of once per observation. The calls start one after another on a single queue, so
/// the observations have the same order in the log as in the document.
struct FactRecorder {
    /// The maximum number of concurrent calls.
    static let batchCount = 2_048

    let log: EventLog

    /// The numbers of new and known observations.
    struct Outcome {
        var recorded = 0
        var known = 0
    }

    /// Records the new observations; an observation that the log already contains is not an error.
    ///
    /// - Parameter progress: Called with the number of observations processed so far.
    /// - Throws: The first error thrown by an append.
    func record(
        _ proposals: [ProposedEvent], progress: (Int) -> Void = { _ in }
    ) throws -> Outcome {
        var outcome = Outcome()
        var done = 0
        while done < proposals.count {
            let end = min(done + FactRecorder.batchCount, proposals.count)
            let recorded = try recordBatch(Array(proposals[done..<end]))
            outcome.recorded += recorded
            outcome.known += end - done - recorded
            done = end
            progress(done)
        }
        return outcome
    }

    /// Records the new observations of a batch and returns their number.
    private func recordBatch(_ batch: [ProposedEvent]) throws -> Int {
        let log = log
        let answer = Answer()
        Task(executorPreference: OrderedExecutor()) {
            answer.finish(
                await withTaskGroup(of: Result<Bool, LogError>.self) { group in
                    for proposal in batch {
                        group.addTask { await FactRecorder.append(proposal, to: log) }
                    }
                    var recorded = 0
                    for await result in group {
                        switch result {
                        case .success(let isNew): recorded += isNew ? 1 : 0
                        case .failure(let error):
                            // The group still waits for the remaining calls.
                            return .failure(error)
                        }
                    }
                    return .success(recorded)
                })
        }
        return try answer.wait()
    }

    /// Appends an observation and returns whether it was new.
    private static func append(
        _ proposal: ProposedEvent, to log: EventLog
    ) async -> Result<Bool, LogError> {
        do throws(LogError) {
            try await log.append(
                [proposal], condition: proposal.fact.map { AppendCondition.factIsNew($0) })
            return .success(true)
        } catch {
            return error.code == .conditionFailed ? .success(false) : .failure(error)
        }
    }
}

/// Runs jobs one after another, in the order in which they were enqueued.
private final class OrderedExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "storectl.record", qos: .userInitiated)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// A result that a thread waits for.
private final class Answer: Sendable {
    private let result = Mutex<Result<Int, LogError>>(.success(0))
    private let finished = DispatchSemaphore(value: 0)

    func finish(_ value: Result<Int, LogError>) {
        result.withLock { $0 = value }
        finished.signal()
    }

    func wait() throws -> Int {
        finished.wait()
        return try result.withLock { $0 }.get()
    }
}
