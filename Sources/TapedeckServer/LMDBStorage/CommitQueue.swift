internal import Foundation
internal import TapedeckModel

/// What a caller wants changed in one space, and how to answer.
struct CommitRequest: Sendable {
    let space: SpaceID
    let byteCount: Int
    /// Runs in the group's transaction, more than once if that starts again; gives what to do when it
    /// is on disk.
    ///
    /// Its `ServerError`s are the caller's own and leave the rest of the group alone.
    let apply: @Sendable (inout LMDBSpaceRows) throws -> @Sendable () -> Void
    let fail: @Sendable (ServerError) -> Void
}

/// The callers that wait for the writer.
///
/// One drain at a time takes all that wait, whatever their space, writes them in one transaction,
/// commits once, and answers. There is no timer: while a commit waits for the disk, the next callers
/// gather.
final class CommitQueue: @unchecked Sendable {
    // All guarded by `condition`.
    private var waiting: [CommitRequest] = []
    private var isDraining = false
    private var wasClosed = false
    private var latched: ServerError?
    private let condition = NSCondition()
    private let writer = DispatchQueue(label: "tapedeck.server.writer", qos: .userInitiated)

    /// Adds a request; `drain` runs on the writer's queue when no drain is under way.
    func add(
        _ request: CommitRequest, drain: @escaping @Sendable () -> Void
    ) throws(ServerError) {
        condition.lock()
        let refusal = problem ?? (waiting.count >= ServerLimits.waitingMax ? .tooManyWait : nil)
        let starts = refusal == nil && !isDraining
        if refusal == nil {
            waiting.append(request)
            isDraining = true
        }
        condition.unlock()
        if let refusal { throw refusal }
        if starts { writer.async { drain() } }
    }

    /// Takes what fits in a commit; nil ends the drain.
    func take() -> [CommitRequest]? {
        condition.lock()
        defer { condition.unlock() }
        guard !waiting.isEmpty else {
            isDraining = false
            condition.broadcast()
            return nil
        }
        var bytes = 0
        var count = 0
        for request in waiting.prefix(ServerLimits.pushesPerCommitMax) {
            bytes += request.byteCount
            if count > 0, bytes > ServerLimits.bytesPerCommitMax { break }
            count += 1
        }
        let taken = Array(waiting.prefix(count))
        waiting.removeFirst(count)
        return taken
    }

    /// What every caller gets; the caller holds the lock.
    private var problem: ServerError? {
        if wasClosed {
            return ServerError(.unavailable, "the server is going away", hint: "try again later")
        }
        return latchedProblem
    }

    private var latchedProblem: ServerError? {
        latched.map {
            ServerError(
                .mustReopen, "an earlier error has stopped this storage: \($0.message)",
                hint: "start the server again", cause: $0)
        }
    }

    func checkNotLatched() throws(ServerError) {
        condition.lock()
        let problem = latchedProblem
        condition.unlock()
        if let problem { throw problem }
    }

    func checkOpen() throws(ServerError) {
        condition.lock()
        let problem = problem
        condition.unlock()
        if let problem { throw problem }
    }

    func latch(_ error: ServerError) {
        condition.lock()
        latched = error
        condition.unlock()
    }

    /// Takes no more, and returns when nothing is being written.
    func close() {
        condition.lock()
        wasClosed = true
        while isDraining { condition.wait() }
        condition.unlock()
    }
}

extension ServerError {
    static let tooManyWait = ServerError(
        .unavailable, "more than \(ServerLimits.waitingMax) pushes wait for the disk",
        hint: "try again a little later")
}
