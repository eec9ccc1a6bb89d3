import Foundation
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct ExportTests {
    /// A program that runs as root could otherwise replace `/dev/null`.
    @Test func devicesAndPipesAreNotReplaced() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        let (pipe, folder) = (directory.file("pipe"), directory.file("folder"))
        #expect(mkfifo(pipe, 0o600) == 0 && mkdir(folder, 0o700) == 0)
        for path in [pipe, folder] {
            let errors = [
                #expect(throws: LogError.self) { try log.export(to: path) },
                #expect(throws: LogError.self) { try log.backup(to: path) },
            ]
            #expect(errors.allSatisfy { $0?.code == .usage })
        }
        var facts = stat()
        #expect(stat(pipe, &facts) == 0 && facts.st_mode & S_IFMT == S_IFIFO)
    }

    @Test func importIntoANewStoreKeepsEverythingButPositions() throws {
        let directory = try TemporaryDirectory()
        var random = SeededRandom(Seed.fresh())
        let source = try directory.store("source")
        var ids: [EventID] = []
        for _ in 0..<60 {
            let batch = (0..<50).map { _ in ProposedEvent.full(&random, after: ids) }
            ids.append(try source.appendBlocking(batch).lastID)
        }
        try source.recordReceipts(receipts(of: ids, &random))
        let exported = try source.export(to: directory.file("all.tdx"))
        #expect(exported.events == 3_000)
        #expect(exported.receipts == UInt64(ids.count))

        let target = try directory.store("target")
        let own = target.origin
        let first = try target.importEvents(from: directory.file("all.tdx"))
        #expect(first == ImportSummary(events: 3_000, recorded: 3_000, known: 0, receipts: 60))
        #expect(try target.allEvents().map(\.content) == source.allEvents().map(\.content))
        for id in ids { #expect(try target.receipts(of: id) == source.receipts(of: id)) }
        #expect(target.origin == own)
        #expect(try target.verify().problems == [])

        let second = try target.importEvents(from: directory.file("all.tdx"))
        #expect(second == ImportSummary(events: 3_000, recorded: 0, known: 3_000, receipts: 0))
    }

    private func receipts(of ids: [EventID], _ random: inout SeededRandom) -> [Receipt] {
        let lineage = LineageID(high: 1, low: 2)
        return ids.enumerated().map { index, id in
            Receipt(
                event: id, lineage: lineage, serverPosition: UInt64(index + 1),
                receivedAt: Stamp(milliseconds: .random(in: 0...4_000_000_000_000, using: &random)),
                outcome: random.chance(20) ? .refused(.tooLarge) : .accepted)
        }
    }
}
