import Foundation
import Tapedeck
import TapedeckTesting

/// A player that reports every second for eight hours a day.
extension Bench {
    private static let secondsPerDay = 8 * 3_600
    /// Durations from short children's films to films in several parts.
    private static let minutes = [7.0, 22, 43, 58, 95, 130]

    /// The number of reports per append if all reports are recorded.
    private static let reportsPerAppend = 1_000

    /// Generates `events` reports, records only the reports that yield an event, and builds every
    /// list.
    func playYear() async throws {
        let place = store
        let store = try TapedeckStore.open(place)
        var coalescing = PlaybackCoalescing()
        var recorded = 0
        func record(_ reports: [PlaybackCoalescing.Report]) throws {
            for report in reports {
                try store.log.appendBlocking([
                    try ProposedEvent(report.event, atMilliseconds: report.atMilliseconds)
                ])
                recorded += 1
            }
        }
        let duration = try timed {
            try play { report in
                guard let report else { return try record(coalescing.flush().map { [$0] } ?? []) }
                try record(coalescing.take(report.event, atMilliseconds: report.atMilliseconds))
            }
            try store.log.indexAll()
        }
        try await look(store)
        store.close()
        line(duration, [("recorded", "\(recorded)")])
    }

    /// Records every report, builds every list and compacts; only the compaction is timed.
    func compactYear() async throws {
        let place = store
        let store = try TapedeckStore.open(place)
        try recordAll(in: store)
        try await look(store)
        let start = ContinuousClock.now
        let report = try await store.compact()
        let duration = ContinuousClock.now - start
        try await look(store)
        store.close()
        let file = try shrink(place)
        line(
            duration,
            [
                ("removed", "\(report.removed)"), ("stubs", "\(report.stubs)"),
                ("logBytesBefore", "\(file.bytesBefore)"), ("logBytes", "\(file.bytes)"),
            ])
    }

    private func recordAll(in store: TapedeckStore) throws {
        var waiting: [ProposedEvent] = []
        func record(atLeast count: Int) throws {
            guard waiting.count >= count else { return }
            try store.log.appendBlocking(waiting)
            waiting.removeAll(keepingCapacity: true)
        }
        try play { report in
            guard let report else { return }
            waiting.append(try ProposedEvent(report.event, atMilliseconds: report.atMilliseconds))
            try record(atLeast: Bench.reportsPerAppend)
        }
        try record(atLeast: 1)
        try store.log.indexAll()
    }

    private func shrink(_ place: String) throws -> ShrinkSummary { try EventLog.shrink(place) }

    private func look(_ store: TapedeckStore) async throws {
        let count = try await store.query { try VideoQueries($0).inProgress().videos.count }
        precondition(count > 0, "no video is in progress after a year")
    }

    /// Generates `events` reports, which begin at six in the evening on each day; nil means a
    /// pause.
    private func play(_ body: (PlaybackCoalescing.Report?) throws -> Void) throws {
        var random = SeededGenerator(seed: seed)
        var report = PlaybackProgressed()
        func begin() {
            report.video = "youtube:" + UInt64.random(in: 0..<20_000, using: &random).hex.suffix(11)
            report.viewing = UInt64.random(in: .min ... .max, using: &random).hex
            report.positionSeconds = 0
            let minutes = Bench.minutes.randomElement(using: &random) ?? 0
            report.durationSeconds = minutes * 60 + .random(in: 0..<60, using: &random)
        }
        begin()
        for number in 0..<events {
            let (day, second) = number.quotientAndRemainder(dividingBy: Bench.secondsPerDay)
            let at = UInt64(1_325_440_800 + day * 86_400 + second) * 1_000
            switch Int.random(in: 0..<3_600, using: &random) {
            case 0:
                // The viewer seeks.
                report.positionSeconds = .random(in: 0..<report.durationSeconds, using: &random)
            case 1: try body(nil)
            default: report.positionSeconds += .random(in: 0.98...1.02, using: &random)
            }
            let isOver = report.positionSeconds >= report.durationSeconds
            if isOver { report.positionSeconds = report.durationSeconds }
            try body(.init(report, atMilliseconds: at))
            if isOver { begin() }
        }
        try body(nil)
    }
}
