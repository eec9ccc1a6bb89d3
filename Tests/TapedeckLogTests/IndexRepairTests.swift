import Foundation
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

/// A damaged index is rebuilt from the records.
@Suite(.offTasks) struct IndexRepairTests {
    @Test(arguments: VerifyTests.plants.filter { $0.testDescription.hasPrefix("index") })
    func damagedIndexIsRebuilt(_ plant: VerifyTests.Plant) throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        for round in 0..<6 { try log.appendBlocking((0..<20).map { .sample($0 + round) }) }
        try log.mergeIndex(keeping: 30, eventsPerRun: 40)
        let events = try log.allEvents()
        log.close()
        try RawStore.edit(directory.file("store"), plant.damage)

        let again = try EventLog(opening: directory.file("store"))
        #expect(try !again.verify().isIntact)
        try again.rebuildIndex()
        #expect(try again.verify().problems == [])
        #expect(try again.unindexedCount() == 0)
        try check(again, events)
        try again.appendBlocking([.sample(1)])
        try again.mergeIndex()
        #expect(try again.events(after: .start, tag: Tag("note/1")).last?.position.rawValue == 121)
        #expect(try again.verify().problems == [])
        again.close()
    }

    private func check(_ log: EventLog, _ events: [EventEnvelope]) throws {
        for tag in Set(events.flatMap(\.tags)) {
            #expect(
                try log.events(after: .start, tag: tag) == events.filter { $0.tags.contains(tag) })
        }
        for type in Set(events.map(\.type)) {
            #expect(
                try log.events(after: .start, type: type) == events.filter { $0.type == type })
        }
    }

    @Test func hintNamesTheRepairCommand() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking((0..<20).map { .sample($0) })
        try log.mergeIndex()
        log.close()
        for name in ["index entry flipped", "index covers too much"] {
            let plant = try #require(VerifyTests.plants.first { $0.testDescription == name })
            try RawStore.edit(directory.file("store"), plant.damage)
            let again = try EventLog(opening: directory.file("store"))
            let error = #expect(throws: LogError.self) {
                for number in 0..<11 {
                    _ = try again.events(after: .start, tag: Tag("note/\(number)"))
                }
                _ = try again.events(after: .start, type: "NoteTaken")
            }
            #expect(error?.hint?.contains("storectl doctor --rebuild-index") == true)
            try again.rebuildIndex()
            again.close()
        }
    }
}
