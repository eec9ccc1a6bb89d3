import Foundation
import TapedeckLog
import TapedeckModel
import Testing

/// What a process leaves behind that is killed in the middle of appending and merging.
@Suite(.serialized) struct KillTests {
    @Test(.timeLimit(.minutes(5))) func killedProcessLosesNothingThatItAcknowledged() throws {
        let directory = try TemporaryDirectory()
        var random = SeededRandom(Seed.fresh())
        try directory.store().close()
        var acknowledged: [(seed: UInt64, count: UInt64)] = []
        for round in 0..<Seed.rounds("TAPEDECK_KILL_ROUNDS", 25) {
            // Every fourth time, two at once.
            let children = try (0..<(round % 4 == 3 ? 2 : 1)).map { _ in
                let seed = UInt64.random(in: 1...1_000_000_000, using: &random)
                return (seed, try ChildProcess(directory.file("store"), seed: seed))
            }
            for (_, child) in children { child.waitUntilOpen() }
            usleep(.random(in: 1_000...120_000, using: &random))
            for (_, child) in children { child.kill() }
            for (seed, child) in children {
                let result = try child.finish()
                #expect(!result.lines.contains { $0.hasPrefix("error") }, "\(result.lines)")
                acknowledged.append((seed, result.acknowledged))
            }
            try check(directory.file("store"), acknowledged)
        }
        let total = acknowledged.reduce(0) { $0 + $1.count }
        print("\(acknowledged.count) processes killed, \(total) events acknowledged and found")
    }

    /// All that was acknowledged is there, each process's events in order, and the store is whole.
    private func check(_ path: String, _ acknowledged: [(seed: UInt64, count: UInt64)]) throws {
        let log = try EventLog(opening: path)
        defer { log.close() }
        let report = try log.verify()
        #expect(report.problems == [])
        var found: [UInt64: UInt64] = [:]
        for event in try log.allEvents() {
            let (seed, number) = event.payload.withUnsafeBytes {
                (
                    $0.loadUnaligned(as: UInt64.self),
                    $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                )
            }
            #expect(number == found[seed, default: 0] + 1)
            found[seed] = number
        }
        for (seed, count) in acknowledged { #expect(found[seed, default: 0] >= count) }
    }

    @Test func twoProcessesAppendAtOnce() throws {
        let directory = try TemporaryDirectory()
        try directory.store().close()
        let first = try ChildProcess(directory.file("store"), seed: 1, "400")
        let second = try ChildProcess(directory.file("store"), seed: 2, "400")
        for child in [first, second] {
            let result = try child.finish()
            #expect(result.isDone, "\(result.lines.suffix(3))")
            #expect(result.acknowledged == 400)
        }
        let log = try EventLog(opening: directory.file("store"))
        #expect(log.head.rawValue == 800)
        try check(log, tag: "child/1", 400)
        try check(log, tag: "child/2", 400)
        #expect(try log.verify().problems == [])
    }

    private func check(_ log: EventLog, tag: String, _ count: Int) throws {
        #expect(try log.events(after: .start, limit: 1_000, tag: Tag(tag)).count == count)
    }

    @Test func eventsOfAnotherProcessAreSeenAtOnce() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1)])
        let child = try ChildProcess(directory.file("store"), seed: 7, "100")
        #expect(try child.finish().isDone)
        #expect(try log.currentHead().rawValue == 101)
        #expect(try log.events(after: .start, tag: Tag("child/7")).count == 100)
        #expect(try log.events(after: .start, type: "PageTurned").count > 10)
        let appended = try log.appendBlocking([.sample(2)])
        #expect(appended.firstPosition.rawValue == 102)
        #expect(appended.firstID.sequence == 102)
    }
}
