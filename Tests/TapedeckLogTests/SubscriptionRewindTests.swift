import Foundation
@_spi(Core) import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

/// Subscriptions to a log that was restored and then continued with other events.
@Suite(.offTasks) struct SubscriptionRewindTests: SubscriptionSuite {
    /// The log file is replaced by an earlier copy, and then other events are recorded.
    @Test(arguments: [SubscriptionStart.beginning, .now], [0, 5, 40, 400])
    func restoredLogIsDeliveredFromItsCommonHistory(
        start: SubscriptionStart, lost: Int
    ) async throws {
        let directory = try TemporaryDirectory()
        var log = try directory.store()
        try appended(300, in: log)
        log.close()
        let copy = try Data(contentsOf: URL(fileURLWithPath: directory.file("store/log.mdb")))
        log = try EventLog(opening: directory.file("store"))
        try appended(lost, orNone: log)
        var mails = try subscribe(log, from: start)
        try appended(20, in: log)
        let head = log.head.rawValue
        let first = start == .now ? UInt64(300 + lost + 1) : 1
        var place: LogSubscription.Place?
        for position in first...head {
            if place == nil || position % 256 == 0 {
                place = try await mails.next(after: place)?.place
            }
            try await acknowledge(position, mails)
        }
        log.close()
        try copy.write(to: URL(fileURLWithPath: directory.file("store/log.mdb")))

        log = try EventLog(opening: directory.file("store"))
        try appended(200, in: log, type: "After")
        mails = try subscribe(log, from: start)
        var found: [UInt64] = []
        while found.last != 500, let delivery = try await mails.next(after: nil) {
            found += delivery.events.map(\.position.rawValue)
            if let last = delivery.events.last { try await mails.acknowledge(through: last) }
        }
        let from = try #require(found.first)
        // No new event is skipped, and few events are delivered again.
        #expect(from <= 301)
        #expect(found == Array(from...500))
        #expect(301 - from <= UInt64(2 * (lost + 20)), "\(lost): began at \(from)")
        log.close()
    }

    private func appended(_ count: Int, orNone log: EventLog) throws {
        if count > 0 { try appended(count, in: log) }
    }

    @Test func olderMarksAreFartherApart() {
        var random = SeededRandom(Seed.fresh())
        for _ in 0..<8 {
            var marks = SubscriptionMarks([.start])
            var position: UInt64 = 0
            let jump = Int.random(in: 0...50, using: &random)
            var passed: Set<UInt64> = [0]
            for _ in 0..<1_500 {
                position += random.chance(jump) ? .random(in: 1...100_000, using: &random) : 1
                passed.insert(position)
                marks.add(SubscriptionMark(position: position, checksum: 1, history: .start))
                let held = marks.all.map(\.position)
                #expect(held.first == position && held.last == 0)
                #expect(held == held.sorted(by: >) && held.count <= SubscriptionMarks.countMax)
            }
            // However far the log goes back, the closest mark before that point is at most
            // `ratioMax` times as far back.
            for lost in passed where lost < position {
                let held = marks.all.map(\.position).first { $0 <= lost } ?? .max
                #expect(
                    position - held <= SubscriptionMarks.ratioMax * (position - lost), "\(lost)")
            }
        }
    }
}
