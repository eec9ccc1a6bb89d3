internal import Foundation
internal import Synchronization

/// A few queues for LMDB reads, which block and must not run on Swift's cooperative thread pool.
final class ReadPool: Sendable {
    private let queues = (1...ServerLimits.readersMax).map {
        DispatchQueue(label: "tapedeck.server.reader-\($0)", qos: .userInitiated)
    }
    private let turn = Atomic(0)

    func run<R: Sendable>(
        _ body: @escaping @Sendable () throws -> R
    ) async throws(ServerError) -> R {
        let number = turn.wrappingAdd(1, ordering: .relaxed).oldValue
        let queue = queues[Int(UInt(bitPattern: number) % UInt(queues.count))]
        let result: Result<R, ServerError> = await withCheckedContinuation { waiting in
            queue.async {
                do {
                    waiting.resume(returning: .success(try body()))
                } catch {
                    waiting.resume(returning: .failure(ServerError(wrapping: error)))
                }
            }
        }
        return try result.get()
    }
}
