import Foundation
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct IndexTests {
    @Test func indexAndTailAlwaysCoverTheEntireLog() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        var random = SeededRandom(Seed.fresh())
        for _ in 0..<60 {
            try log.appendBlocking(
                (0..<Int.random(in: 1...30, using: &random)).map { _ in
                    .full(&random, after: [])
                })
            if random.chance(60) {
                try log.mergeIndex(
                    keeping: .random(in: 0...40, using: &random),
                    eventsPerRun: .random(in: 1...50, using: &random))
            }
            try checkIndex(log)
        }
        #expect(try log.unindexedCount() < log.head.rawValue)
    }

    @Test func mergeUndoneByAFullMapLosesNothing() throws {
        let directory = try TemporaryDirectory()
        // Use many terms and little event data, so that merging fills the map.
        let log = try directory.store("store", .init(mapSizeBytes: 1 << 20))
        var number = 0
        for _ in 0..<6 {
            let events = (0..<400).map { _ in
                number += 1
                return ProposedEvent(
                    type: "NoteTaken",
                    tags: (0..<20).map { Tag(unchecked: "note/\(number)-\($0)") }, payload: [])
            }
            try log.appendBlocking(events)
            try log.mergeIndex(eventsPerRun: 100)
        }
        #expect(log.environment.facts().mapSizeBytes > 1 << 20)
        #expect(try log.verify().problems == [])
        #expect(try log.unindexedCount() == 0)
        try checkIndex(log, every: 97)
    }

    @Test func concurrentMergesKeepTheIndexComplete() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        let group = DispatchGroup()
        for worker in 0..<4 {
            DispatchQueue.global().async(group: group) {
                for round in 0..<15 {
                    do {
                        try log.appendBlocking((0..<40).map { .sample($0 + worker + round) })
                        try log.mergeIndex(keeping: UInt64(round), eventsPerRun: 30)
                    } catch {
                        Issue.record(error)
                    }
                }
            }
        }
        group.wait()
        #expect(try log.verify().problems == [])
        try checkIndex(log)
    }

    @Test func backgroundMergeKeepsTheTailShort() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store("store", .init(unindexedEventsMax: 200))
        for round in 0..<20 { try log.appendBlocking((0..<100).map { .sample($0 + round) }) }
        try eventuallyBlocking("a short tail", state: { "\(try log.unindexedCount()) unindexed" }) {
            try log.unindexedCount() <= 300
        }
        try checkIndex(log)
    }

    @Test func typeRecordedByAnotherProcessIsFoundInTheTail() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([ProposedEvent(type: "Opened", tags: [], payload: [])])
        // This process reads the tail once before the other process adds new types.
        #expect(try log.events(after: .start, type: "NoteTaken").isEmpty)
        let child = try ChildProcess(directory.file("store"), seed: 5, "60")
        #expect(try child.finish().isDone)
        // The condition is checked inside the append's transaction, before the in-memory caches are
        // refreshed.
        let error = #expect(throws: LogError.self) {
            try log.appendBlocking(
                [.sample(1)],
                condition: .noEvent(
                    with: [], types: ["NoteTaken"], after: .start))
        }
        #expect(error?.code == .conditionFailed)
        try checkIndex(log)
    }

    /// A store with sample events must never be synced.
    @Test(arguments: 0..<4) func sampleEventsAreFound(merges: Int) throws {
        let directory = try TemporaryDirectory()
        var log = try directory.store()
        var event = ProposedEvent.sample(7)
        event.tags.append(EventLog.sampleTag)
        // The index is merged before the sample event, after it, both or never.
        for (index, events) in [(0..<9).map { .sample($0) }, [event], [.sample(1)]].enumerated() {
            try log.appendBlocking(events)
            if merges & 1 << min(index, 1) != 0 { try log.mergeIndex() }
            #expect(try log.containsSamples() == (index > 0))
            log.close()
            log = try EventLog(opening: directory.file("store"))
            #expect(try log.containsSamples() == (index > 0))
        }
    }

    /// Checks that every tag and type finds exactly the events that have it.
    private func checkIndex(_ log: EventLog, every: Int = 1) throws {
        let all = try log.allEvents()
        var tags: [TapedeckModel.Tag: [LogPosition]] = [:]
        var types: [EventType: [LogPosition]] = [:]
        for event in all {
            for tag in Set(event.tags) { tags[tag, default: []].append(event.position) }
            types[event.type, default: []].append(event.position)
        }
        for (number, (tag, positions)) in tags.enumerated() where number % every == 0 {
            #expect(
                try log.events(after: .start, limit: 10_000, tag: tag).map(\.position) == positions)
        }
        for (type, positions) in types {
            #expect(
                try log.events(after: .start, limit: 10_000, type: type).map(\.position)
                    == positions)
        }
    }
}
