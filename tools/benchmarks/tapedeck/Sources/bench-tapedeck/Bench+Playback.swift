import Foundation
import Tapedeck
import TapedeckTesting

/// A player that reports every second for eight hours a day.
extension Bench {
    private static let secondsPerDay = 8 * 3_600
    /// From films for children to films in parts.
    private static let minutes = [7.0, 22, 43, 58, 95, 130]

    /// Records as many reports as events, each day from six in the afternoon, and builds every list.
    func playYear() async throws {
        let store = try TapedeckStore.open(store)
        var random = SeededGenerator(seed: seed)
        var coalescing = PlaybackCoalescing()
        var report = PlaybackProgressed()
        var (viewings, recorded) = (0, 0)
        func begin() {
            viewings += 1
            report.video = "youtube:" + UInt64.random(in: 0..<20_000, using: &random).hex.suffix(11)
            report.viewing = UInt64.random(in: .min ... .max, using: &random).hex
            report.positionSeconds = 0
            let minutes = Bench.minutes.randomElement(using: &random) ?? 0
            report.durationSeconds = minutes * 60 + .random(in: 0..<60, using: &random)
        }
        func record(_ reports: [PlaybackCoalescing.Report]) throws {
            for report in reports {
                try store.log.appendBlocking([
                    try ProposedEvent(report.event, atMilliseconds: report.atMilliseconds)
                ])
                recorded += 1
            }
        }
        let duration = try timed {
            begin()
            for number in 0..<events {
                let (day, second) = number.quotientAndRemainder(dividingBy: Bench.secondsPerDay)
                let at = UInt64(1_325_440_800 + day * 86_400 + second) * 1_000
                switch Int.random(in: 0..<3_600, using: &random) {
                case 0:
                    // Somebody looks for a place in it.
                    report.positionSeconds = .random(
                        in: 0..<report.durationSeconds, using: &random)
                case 1: try record(coalescing.flush().map { [$0] } ?? [])
                default: report.positionSeconds += .random(in: 0.98...1.02, using: &random)
                }
                if report.positionSeconds >= report.durationSeconds {
                    report.positionSeconds = report.durationSeconds
                    try record(coalescing.take(report, atMilliseconds: at))
                    begin()
                } else {
                    try record(coalescing.take(report, atMilliseconds: at))
                }
            }
            try record(coalescing.flush().map { [$0] } ?? [])
            try store.log.indexAll()
        }
        let count = try await store.query { try VideoQueries($0).inProgress().videos.count }
        precondition(count > 0, "no video is in progress after a year")
        store.close()
        line(duration, [("recorded", "\(recorded)"), ("viewings", "\(viewings)")])
    }
}
