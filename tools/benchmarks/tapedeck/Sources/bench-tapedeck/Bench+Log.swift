import Foundation
import Synchronization
import Tapedeck

extension Bench {
    func append(batch: Int) throws {
        let log = try EventLog.create(store)
        var workload = Workload(events: events, videos: videos, seed: seed)
        // Like the peers, generates the events within the measured time, one batch at a time.
        let duration = try timed {
            var waiting: [ProposedEvent] = []
            for index in 0..<events {
                waiting.append(try proposal(workload.next()))
                if waiting.count == batch || index == events - 1 {
                    try log.appendBlocking(waiting)
                    waiting.removeAll(keepingCapacity: true)
                }
            }
            // Indexing the last events is part of the measured time, except with one event per
            // commit, which measures only the log.
            if batch > 1 { try log.indexAll() }
        }
        log.close()
        line(duration)
    }

    func appendConcurrently(callers: Int) async throws {
        let log = try EventLog.create(store)
        var workload = Workload(events: events, videos: videos, seed: seed)
        var shares = [[ProposedEvent]](repeating: [], count: callers)
        for index in 0..<events {
            shares[index % callers].append(try proposal(workload.next()))
        }
        let started = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in shares {
                group.addTask {
                    for event in share { try await log.append([event]) }
                }
            }
            try await group.waitForAll()
        }
        let duration = ContinuousClock.now - started
        log.close()
        line(duration)
    }

    func importAll() throws {
        let source = try EventLog.create(directory + "/source")
        try append(to: source, isBroadcast: false)
        let file = directory + "/export.tapedeck"
        try source.export(to: file)
        source.close()
        let log = try EventLog.create(store)
        let duration = try timed {
            try log.importEvents(from: file)
            try log.indexAll()
        }
        guard try log.currentHead().rawValue == UInt64(events) else {
            throw BenchError("the import recorded \(log.head) of \(events) events")
        }
        log.close()
        line(duration)
    }

    func read() throws {
        let log = try EventLog.create(store)
        try append(to: log, isBroadcast: false)
        var sum: UInt64 = 0
        var seen = 0
        let duration = try timed {
            try log.scan { event in
                sum &+= event.payload.unsafeLoadUnaligned(
                    fromUncheckedByteOffset: 0, as: UInt64.self)
                seen += 1
            }
        }
        guard seen == events else { throw BenchError("read \(seen) of \(events) events") }
        log.close()
        line(duration, [("checksum", "\"\(sum.hex)\"")])
    }

    /// Measures single appends on an idle store, then during a rebuild and index merges.
    func appendBusy() throws {
        let log = try EventLog.create(store, options: .init(unindexedEventsMax: .max))
        try append(to: log, isBroadcast: true)
        let projections = ProjectionRunner(log, projections: [VideoRows()])
        _ = try projections.rebuild()
        var workload = Workload(events: 1 << 24, videos: videos, seed: seed + 1)
        func p99(while going: () -> Bool, atLeast: Int) throws -> (Double, Int) {
            var times: [Double] = []
            while going() || times.count < atLeast {
                let event = try proposal(workload.next(), isBroadcast: true)
                times.append(try timed { try log.appendBlocking([event]) }.seconds)
            }
            times.sort()
            return (times[times.count * 99 / 100], times.count)
        }
        let (idle, _) = try p99(while: { false }, atLeast: 2_000)
        let isDone = Atomic<Bool>(false)
        let failure = Mutex<(any Error)?>(nil)
        let worker = Thread {
            do {
                for _ in 0..<3 {
                    _ = try projections.rebuild()
                    try log.indexAll()
                }
            } catch {
                failure.withLock { $0 = error }
            }
            isDone.store(true, ordering: .releasing)
        }
        worker.start()
        let (busy, count) = try p99(
            while: { !isDone.load(ordering: .acquiring) }, atLeast: 200)
        if let error = failure.withLock({ $0 }) { throw error }
        projections.close()
        log.close()
        line(
            .seconds(busy),
            [
                ("idleSeconds", "\(idle)"), ("busySeconds", "\(busy)"),
                ("busyToIdle", "\(busy / idle)"),
            ], events: count)
    }
}

struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
