internal import Foundation
internal import Synchronization

/// Threads that may block: a pool of tasks must not wait for LMDB or for each other.
enum Threads {
    /// How much less of a busy processor the threads get than whoever appends or reads: a rebuild may
    /// take longer, an append should not.
    private static let niceness: Int32 = 10

    /// Makes the calling thread give way to others.
    private static func giveWay() {
        #if os(Linux)
            // Of the thread alone: on Linux every thread is scheduled by a niceness of its own.
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        #endif
    }

    /// Runs `body` on `count` threads at once and returns when all have ended; throws what the first
    /// of them threw.
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
    /// Calls `body` with each number below `count`, on all processors at once; one call alone is made here.
    ///
    /// Unlike the threads of `run` these do not give way: somebody waits for what comes out.
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

/// Hands results of numbered pieces of work to one consumer in the order of their numbers.
///
/// A worker takes a number only when it is less than a window ahead of the consumer and not too much waits
/// already, so what waits is bounded however uneven the pieces are.
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

    /// - Parameter bytesMax: with more bytes waiting, only what the consumer waits for goes on.
    init(_ range: Range<Int>, window: Int, bytesMax: Int = .max) {
        self.bytesMax = bytesMax
        next = range.lowerBound
        consumed = range.lowerBound
        end = range.upperBound
        self.window = window
    }

    /// Whether a number has to wait because of what waits before it.
    private func isHeldUp(_ number: Int) -> Bool {
        !hasFailed && waitingCount > bytesMax && number > consumed
    }

    /// The next number to work on; nil when there is none, or somebody failed.
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

    /// Hands over what came of a number, or a part of it.
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

    /// The results that are ready, in order, at least one; nil after the last, or when somebody failed.
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
