import Foundation
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

/// Processes that are killed while they append and merge lose no acknowledged events.
///
/// `TAPEDECK_KILL_ROUNDS` is the number of rounds, for one writer and for two at once; a round
/// takes about a tenth of a second. Each round checks the events that it has added, every
/// `roundsPerVerify`th round verifies the entire store, and every `roundsPerStore`th round creates
/// a new store, so that the cost of a round does not grow with the number of rounds.
@Suite(.serialized, .offTasks) struct KillTests {
    private static let rounds = Seed.rounds("TAPEDECK_KILL_ROUNDS", 25)
    private static let roundsPerVerify = 20
    private static let roundsPerStore = 100

    @Test(arguments: [1, 2])
    func killedProcessLosesNoAcknowledgedEvents(writers: Int) throws {
        let directory = try TemporaryDirectory()
        var random = SeededRandom(Seed.fresh())
        var total: UInt64 = 0
        var store = ""
        var checked = LogPosition.start
        for round in 0..<KillTests.rounds {
            if round % KillTests.roundsPerStore == 0 {
                store = directory.file("store\(round)")
                checked = .start
                try EventLog.create(store).close()
            }
            let killed = try kill(writers, in: store, &random)
            let isLast = round == KillTests.rounds - 1
            checked = try check(
                store, killed, after: checked,
                isWhole: isLast || round % KillTests.roundsPerVerify == 0)
            total += killed.values.reduce(0, +)
            if isLast || (round + 1) % KillTests.roundsPerStore == 0 { try verify(store) }
        }
        print("\(KillTests.rounds) rounds, \(writers) killed each, \(total) acknowledged events")
    }

    /// Lets processes append for a short time, kills them, and returns the number of events that
    /// each process acknowledged, by the seed of the process.
    private func kill(
        _ writers: Int, in store: String, _ random: inout SeededRandom
    ) throws -> [UInt64: UInt64] {
        var children: [UInt64: ChildProcess] = [:]
        while children.count < writers {
            let seed = UInt64.random(in: 1 ... .max, using: &random)
            children[seed] = try ChildProcess(store, seed: seed)
        }
        for child in children.values { child.waitUntilOpen() }
        usleep(.random(in: 1_000...60_000, using: &random))
        for child in children.values { child.kill() }
        return try children.mapValues { child in
            let result = try child.finish()
            #expect(!result.lines.contains { $0.hasPrefix("error") }, "\(result.lines)")
            return result.acknowledged
        }
    }

    /// Checks the events that processes added after a position, and returns the end of the log.
    ///
    /// The log must contain all acknowledged events; the events of each process must be in order
    /// and have no gap.
    private func check(
        _ path: String, _ acknowledged: [UInt64: UInt64], after start: LogPosition, isWhole: Bool
    ) throws -> LogPosition {
        let log = try EventLog(opening: path)
        defer { log.close() }
        if isWhole { #expect(try log.verify().problems == []) }
        var found: [UInt64: UInt64] = [:]
        var last = start
        while true {
            let events = try log.events(after: last, limit: EventLog.eventsPerReadMax)
            guard let end = events.last?.position else { break }
            for event in events {
                let (seed, number) = event.payload.withUnsafeBytes {
                    (
                        $0.loadUnaligned(as: UInt64.self),
                        $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                    )
                }
                #expect(number == found[seed, default: 0] + 1)
                found[seed] = number
            }
            last = end
        }
        #expect(Set(found.keys).isSubset(of: acknowledged.keys))
        for (seed, count) in acknowledged { #expect(found[seed, default: 0] >= count) }
        return last
    }

    private func verify(_ path: String) throws {
        let log = try EventLog(opening: path)
        defer { log.close() }
        let events = try log.allEvents()
        #expect(log.head == events.last?.position ?? .start)
        for type in Set(events.map(\.type)) {
            var indexed: [LogPosition] = []
            while true {
                let more = try log.events(
                    after: indexed.last ?? .start, limit: EventLog.eventsPerReadMax, type: type)
                if more.isEmpty { break }
                indexed += more.map(\.position)
            }
            #expect(indexed == events.filter { $0.type == type }.map(\.position))
        }
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

    @Test func eventsOfAnotherProcessAreVisibleAtOnce() throws {
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
