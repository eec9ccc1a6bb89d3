internal import Dispatch
internal import Synchronization
internal import Tapedeck

/// Records sightings that are news, many to a commit.
///
/// Each sighting has a condition of its own, and `EventLog.append` takes one a call. So the calls
/// are made at the same time: they share commits, and a slow disk is waited for a few times a batch
/// and not once a sighting. They begin in the order of the document, one after another on one
/// queue, so positions follow it.
struct FactRecorder {
    /// How many calls wait at the same time.
    static let batchCount = 2_048

    let log: EventLog

    /// What became of sightings.
    struct Outcome {
        var recorded = 0
        var known = 0
    }

    /// Records what is news; throws the first error that is no answer.
    ///
    /// - Parameter progress: called with the number of sightings that are done.
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

    /// Says how many of the batch were news.
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
                        case .success(let isNews): recorded += isNews ? 1 : 0
                        case .failure(let error):
                            // The others still wait for their own answers.
                            return .failure(error)
                        }
                    }
                    return .success(recorded)
                })
        }
        return try answer.wait()
    }

    /// Whether the sighting was news, and is recorded.
    private static func append(
        _ proposal: ProposedEvent, to log: EventLog
    ) async -> Result<Bool, LogError> {
        do throws(LogError) {
            try await log.append(
                [proposal], condition: proposal.fact.map { AppendCondition.factIsNews($0) })
            return .success(true)
        } catch {
            return error.code == .conditionFailed ? .success(false) : .failure(error)
        }
    }
}

/// Runs jobs one after another in the order in which they came.
private final class OrderedExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "storectl.record", qos: .userInitiated)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// What a thread waits for.
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
