internal import Foundation
internal import TapedeckModel

/// A requested change to one space, and its completion.
struct CommitRequest: Sendable {
    let space: SpaceID
    let byteCount: Int
    /// Applies the change in the group's transaction, and returns the completion to call once the
    /// transaction is on disk.
    ///
    /// The closure may run more than once if the transaction restarts. A `ServerError` affects only
    /// this request, not the rest of the group.
    let apply: @Sendable (inout LMDBSpaceRows) throws -> @Sendable () -> Void
    let fail: @Sendable (ServerError) -> Void
}

/// The queue of callers waiting for the writer.
///
/// Only one drain runs at a time. The drain takes the waiting requests of all spaces, writes them
/// in one transaction, commits once, and completes them. There is no timer: while a commit waits
/// for the disk, the next requests queue up.
final class CommitQueue: @unchecked Sendable {
    // The following properties are guarded by `condition`.
    private var waiting: [CommitRequest] = []
    private var isDraining = false
    private var wasClosed = false
    private var latched: ServerError?
    private let condition = NSCondition()
    private let writer = DispatchQueue(label: "tapedeck.server.writer", qos: .userInitiated)

    /// Adds a request; runs `drain` on the writer's queue unless a drain is running.
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

    /// Removes and returns the requests for the next commit; returns nil if there are none, which
    /// ends the drain.
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

    /// The error that every caller receives, or nil if there is none; read it only while holding
    /// the lock.
    private var problem: ServerError? {
        if wasClosed {
            return ServerError(.unavailable, "the server is shutting down", hint: "try again later")
        }
        return latchedProblem
    }

    private var latchedProblem: ServerError? {
        latched.map {
            ServerError(
                .mustReopen, "an earlier error stopped this storage: \($0.message)",
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

    /// Rejects new requests, and returns when pending writes are done.
    func close() {
        condition.lock()
        wasClosed = true
        while isDraining { condition.wait() }
        condition.unlock()
    }
}

extension ServerError {
    static let tooManyWait = ServerError(
        .unavailable, "more than \(ServerLimits.waitingMax) pushes are waiting for the disk",
        hint: "try again later")
}
