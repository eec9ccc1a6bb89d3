import Foundation
import Synchronization
import Tapedeck
import TapedeckTesting

extension BenchSync {
    /// Measures the time from the call that records an event on one device until the event is in
    /// another device's log, while both devices stay connected.
    ///
    /// The pauses between events have random lengths, so that no timer always fires at its most
    /// favourable time.
    func live() async throws {
        let source = try Device(directory + "/source")
        let reader = try Device(directory + "/reader")
        try source.record(1, seed: seed, videos: videos)
        let engines = try [source, reader].map {
            try SyncEngine(
                $0.log, server: url, token: token, options: .init(isLive: true, failuresMax: 1))
        }
        let settled = Numbers()
        let times = try await withThrowingTaskGroup(of: [Double].self) { group in
            for (number, engine) in engines.enumerated() {
                group.addTask {
                    let report = try await engine.run { progress in
                        if progress.isSettled { settled.insert(number) }
                    }
                    if let failure = report.failure { throw failure }
                    return []
                }
            }
            let begun = ContinuousClock.now
            while settled.count < 2 || reader.log.head < source.log.head {
                try await Task.sleep(for: .milliseconds(10))
                guard ContinuousClock.now - begun < .seconds(30) else {
                    for engine in engines { engine.stop() }
                    throw BenchError("the devices did not connect within 30 s")
                }
            }
            group.addTask {
                defer { for engine in engines { engine.stop() } }
                return try await BenchSync.onThread { try follow(source, reader) }
            }
            var times: [Double] = []
            for try await some in group { times += some }
            return times
        }
        let sorted = times.sorted()
        line(
            .seconds(times.reduce(0, +)),
            [
                ("p50Seconds", sorted[sorted.count / 2]),
                ("p99Seconds", sorted[sorted.count * 99 / 100]),
                ("maxSeconds", sorted[sorted.count - 1]),
            ])
        source.log.close()
        reader.log.close()
    }

    private func follow(_ source: Device, _ reader: Device) throws -> [Double] {
        var activity = ActivityGenerator(seed: seed + 1, videos: videos)
        var pauses = SeededGenerator(seed: seed)
        return try (0..<events).map { _ in
            usleep(UInt32(pauses.below(UInt64(40_000))))
            let event = try activity.next().event()
            let started = ContinuousClock.now
            let head = try source.log.appendBlocking([event]).lastPosition
            while try reader.log.currentHead() < head {
                guard ContinuousClock.now - started < .seconds(30) else {
                    throw BenchError("an event did not arrive within 30 s")
                }
                usleep(100)
            }
            return (ContinuousClock.now - started).seconds
        }
    }

    /// Runs blocking work outside the threads that run tasks.
    private static func onThread<R: Sendable>(
        _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { waiting in
            Thread.detachNewThread { waiting.resume(with: Result { try body() }) }
        }
    }
}

private final class Numbers: Sendable {
    private let all = Mutex<Set<Int>>([])

    var count: Int { all.withLock(\.count) }

    func insert(_ number: Int) { all.withLock { _ = $0.insert(number) } }
}
