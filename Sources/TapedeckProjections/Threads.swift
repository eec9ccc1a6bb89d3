internal import Foundation
internal import Synchronization

/// Runs blocking work on dedicated threads, because tasks in a shared pool must not wait for LMDB
/// or each other.
enum Threads {
    /// The niceness of the threads, which makes them yield to appends and reads: a rebuild may take
    /// longer, but an append should not.
    private static let niceness: Int32 = 10

    /// Lowers the priority of the calling thread.
    private static func giveWay() {
        #if os(Linux)
            // On Linux, each thread has its own niceness.
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        #endif
    }

    /// Runs `body` on `count` threads and returns when all have finished; throws the first error.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        let failure = Mutex<(any Error)?>(nil)
        let group = DispatchGroup()
        for index in 0..<count {
            group.enter()
            let thread = Thread {
                giveWay()
                do {
                    try body(index)
                } catch {
                    failure.withLock { if $0 == nil { $0 = error } }
                }
                group.leave()
            }
            thread.stackSize = 8 << 20
            thread.qualityOfService = .utility
            thread.name = "tapedeck.rebuild.\(index)"
            thread.start()
        }
        group.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }
}

extension Threads {
    /// Calls `body` with each number below `count`, in parallel on all processors; if `count` is 1,
    /// uses the calling thread.
    ///
    /// Unlike the threads of `run`, these threads keep their priority, because the caller is
    /// waiting for the result.
    static func perform<R: Sendable>(
        _ count: Int, _ body: @Sendable (Int) throws -> R
    ) throws -> [R] {
        if count == 1 { return [try body(0)] }
        let results = Mutex<[Result<R, any Error>?]>(.init(repeating: nil, count: count))
        DispatchQueue.concurrentPerform(iterations: count) { index in
            let result = Result { try body(index) }
            results.withLock { $0[index] = result }
        }
        return try results.withLock { $0 }.compactMap { try $0?.get() }
    }
}

/// Passes the results of numbered pieces of work to one consumer in number order.
///
/// A worker may begin a piece only if its number is in a window that begins at the piece that the
/// consumer needs next. While more than `bytesMax` bytes are waiting, only that piece may proceed.
/// This bounds the memory, however uneven the pieces are.
final class OrderedHandover<Value>: @unchecked Sendable {
    private struct Results {
        var values: [Value] = []
        var byteCount = 0
        var isWhole = false
    }

    // Guarded by `condition`.
    private var next: Int
    private var consumed: Int
    private var waiting: [Int: Results] = [:]
    private var waitingCount = 0
    private var hasFailed = false
    private let end: Int
    private let window: Int
    private let bytesMax: Int
    private let condition = NSCondition()

    /// - Parameter bytesMax: The maximum number of buffered bytes; above it, only the piece
    ///   that the consumer needs next may proceed.
    init(_ range: Range<Int>, window: Int, bytesMax: Int = .max) {
        self.bytesMax = bytesMax
        next = range.lowerBound
        consumed = range.lowerBound
        end = range.upperBound
        self.window = window
    }

    /// Returns whether a number must wait because too many bytes are waiting and the consumer needs
    /// an earlier number first.
    private func isHeldUp(_ number: Int) -> Bool {
        !hasFailed && waitingCount > bytesMax && number > consumed
    }

    /// Waits until a worker may start the next piece, and returns the number of the piece; nil if
    /// no pieces are left or a worker has failed.
    func take() -> Int? {
        condition.lock()
        defer { condition.unlock() }
        while !hasFailed, next < end, next >= consumed + window || isHeldUp(next) {
            condition.wait()
        }
        guard !hasFailed, next < end else { return nil }
        defer { next += 1 }
        return next
    }

    /// Hands over the result with the given number, or part of that result.
    func put(_ number: Int, _ value: sending Value, byteCount: Int = 0, isLast: Bool = true) {
        condition.lock()
        while isHeldUp(number) { condition.wait() }
        var results = waiting.removeValue(forKey: number) ?? Results()
        results.values.append(value)
        results.byteCount += byteCount
        results.isWhole = isLast
        waiting[number] = results
        waitingCount += byteCount
        condition.broadcast()
        condition.unlock()
    }

    /// Waits for results and returns the available ones in order; nil after the last result or a
    /// failure.
    func collect() -> [Value]? {
        condition.lock()
        defer { condition.unlock() }
        while !hasFailed, consumed < end, waiting[consumed] == nil { condition.wait() }
        guard !hasFailed, consumed < end else { return nil }
        var ready: [Value] = []
        while let results = waiting.removeValue(forKey: consumed) {
            ready += results.values
            waitingCount -= results.byteCount
            guard results.isWhole else { break }
            consumed += 1
        }
        condition.broadcast()
        return ready
    }

    func fail() {
        condition.lock()
        hasFailed = true
        condition.broadcast()
        condition.unlock()
    }
}
