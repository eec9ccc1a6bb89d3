import Foundation
import Synchronization
import Tapedeck

extension Bench {
    func replay() throws {
        let log = try EventLog.create(store)
        try append(to: log, isBroadcast: true)
        let projection = VideoRows()
        let projections = ProjectionRunner(log, projections: [projection])
        let duration = try timed { _ = try projections.rebuild() }
        let sum = try checksum(projections, projection)
        projections.close()
        log.close()
        line(duration, [("checksum", "\"\(sum.hex)\"")])
    }

    /// Returns the checksum of all rows, computed in the same way as in the peers.
    private func checksum(_ projections: ProjectionRunner, _ projection: VideoRows) throws -> UInt64
    {
        try projections.read { views in
            var sum: UInt64 = 0
            var after: [UInt8]?
            while true {
                let rows = try views.rows(
                    of: projection, table: 0, lower: nil, upper: nil, after: after, limit: 1_000)
                for row in rows {
                    let key = try Tag(String(decoding: row.key[8...].dropLast(), as: UTF8.self))
                    guard let state = try views.state(of: projection, key: key) else {
                        throw BenchError("\(key) is in the list but has no state")
                    }
                    var hash: UInt64 = 0
                    for byte in Array(key.name.utf8) + state.title + state.sharer {
                        hash = mix(hash ^ UInt64(byte))
                    }
                    hash = mix(hash ^ state.count)
                    hash = mix(hash ^ UInt64(bitPattern: state.newest))
                    sum &+= hash
                }
                guard let last = rows.last else { return sum }
                after = last.key
            }
        }
    }

    /// Runs readers and appends during a rebuild and its flip.
    ///
    /// The flip delays only the appends that coincide with it.
    func flip() throws {
        let log = try EventLog.create(store)
        try append(to: log, isBroadcast: true)
        let projection = VideoRows()
        let projections = ProjectionRunner(log, projections: [projection])
        _ = try projections.rebuild()
        let isDone = Atomic<Bool>(false)
        let failed = Atomic<Int>(0)
        let reads = Atomic<Int>(0)
        let group = DispatchGroup()
        let reader = Thread {
            while !isDone.load(ordering: .acquiring) {
                do {
                    let rows = try projections.read { views in
                        try views.rows(
                            of: projection, table: 0, lower: nil, upper: nil, after: nil, limit: 50)
                    }
                    if rows.count < min(50, self.videos) { failed.add(1, ordering: .relaxed) }
                } catch {
                    Bench.report("\(error)")
                    failed.add(1, ordering: .relaxed)
                }
                reads.add(1, ordering: .relaxed)
            }
            group.leave()
        }
        let appends = Mutex<[Range<ContinuousClock.Instant>]>([])
        let writer = Thread {
            var workload = Workload(events: 1 << 24, videos: self.videos, seed: self.seed + 1)
            while !isDone.load(ordering: .acquiring) {
                do {
                    let event = try self.proposal(workload.next(), isBroadcast: true)
                    let started = ContinuousClock.now
                    try log.appendBlocking([event])
                    appends.withLock { $0.append(started..<ContinuousClock.now) }
                } catch {
                    Bench.report("\(error)")
                    failed.add(1, ordering: .relaxed)
                }
            }
            group.leave()
        }
        group.enter()
        group.enter()
        reader.start()
        writer.start()
        var flips: [Range<ContinuousClock.Instant>] = []
        let duration = try timed {
            for _ in 0..<3 {
                let report = try projections.rebuild()
                let ended = ContinuousClock.now
                guard let flip = report.phases.first(where: { $0.name == "flip" }) else {
                    throw BenchError("a rebuild does not report the duration of its flip")
                }
                flips.append(ended - .seconds(flip.seconds)..<ended)
            }
        }
        isDone.store(true, ordering: .releasing)
        group.wait()
        projections.close()
        log.close()
        func longest(_ some: [Range<ContinuousClock.Instant>]) -> Double {
            some.map { ($0.upperBound - $0.lowerBound).seconds }.max() ?? 0
        }
        let all = appends.withLock { $0 }
        line(
            duration,
            [
                ("readersFailed", "\(failed.load(ordering: .relaxed))"),
                ("reads", "\(reads.load(ordering: .relaxed))"),
                (
                    "writerBlockedSeconds",
                    "\(longest(all.filter { append in flips.contains { $0.overlaps(append) } }))"
                ),
                ("longestAppendSeconds", "\(longest(all))"),
                ("longestFlipSeconds", "\(longest(flips))"),
            ])
    }

    /// Measures the startup of a program: opening the store, one query, and the first page of the
    /// list.
    func coldOpen() throws {
        let duration = try timed {
            let store = try TapedeckStore.open(
                directory, creating: false, options: .init(unindexedEventsMax: .max))
            let page = try store.projections.read(["videos", "watch-later"]) {
                try VideoQueries($0).videos()
            }
            guard !page.videos.isEmpty else { throw BenchError("the list is empty") }
            store.close()
        }
        line(duration)
    }
}
