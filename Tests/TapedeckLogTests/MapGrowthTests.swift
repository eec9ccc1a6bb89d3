import Foundation
import Synchronization
@testable import TapedeckLog
@_spi(Core) import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct MapGrowthTests {
    @Test func mapGrowsDuringReadsAndLosesNothing() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store("store", .init(mapSizeBytes: 1 << 20))
        let isDone = Atomic(false)
        let reads = Atomic(0)
        let readers = DispatchGroup()
        for _ in 0..<3 {
            // Use separate threads, because other tests may block all threads of the pool.
            readers.enter()
            Thread.detachNewThread {
                defer { readers.leave() }
                while !isDone.load(ordering: .relaxed) {
                    do {
                        let head = log.head.rawValue
                        var seen: UInt64 = 0
                        try log.scan(after: 0, through: head) { seen = $0.position }
                        let found = try log.events(after: .start, limit: 50, tag: Tag("note/3"))
                        if seen != head || found.count > 50 { Issue.record("\(seen) of \(head)") }
                        reads.add(1, ordering: .relaxed)
                    } catch {
                        Issue.record(error)
                    }
                }
            }
        }
        for round in 0..<60 {
            try log.appendBlocking((0..<100).map { .sample($0 + round, payload: 1_500) })
            if round % 20 == 19 { try log.mergeIndex(keeping: 50) }
        }
        isDone.store(true, ordering: .relaxed)
        readers.wait()
        let facts = log.environment.facts()
        #expect(facts.mapSizeBytes >= 8 << 20)
        #expect(log.head.rawValue == 6_000)
        #expect(reads.load(ordering: .relaxed) > 0)
        #expect(try log.verify().problems == [])
    }

    @Test func mapGrowthOfAnotherProcessIsAdopted() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store("store", .init(mapSizeBytes: 1 << 20))
        let child = try ChildProcess(directory.file("store"), seed: 3, "12000")
        #expect(try child.finish().isDone)
        #expect(log.environment.facts().mapSizeBytes == 1 << 20)
        #expect(try log.events(after: .start, limit: 10_000, tag: Tag("child/3")).count == 10_000)
        #expect(try log.appendBlocking([.sample(1)]).firstPosition.rawValue == 12_001)
        #expect(log.environment.facts().mapSizeBytes > 1 << 20)
        #expect(try log.verify().problems == [])
    }
}
