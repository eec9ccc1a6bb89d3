import Foundation
import TapedeckLMDB
import TapedeckLog
import TapedeckModel
import Testing

struct PageCheckTests {
    @Test func whatLMDBWritesIsSound() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        for round in 0..<40 {
            let events = (0..<100).map { number in
                ProposedEvent(
                    type: "Noted", tags: [Tag(unchecked: "note/\(number % 7)")],
                    payload: [UInt8](repeating: UInt8(number), count: number * round))
            }
            try log.appendBlocking(events)
            if round % 8 == 0 { try log.mergeIndex() }
        }
        let report = try PageCheck.run(directory.file("store/log.mdb"))
        #expect(report.problems == [])
        #expect(report.usedPages > 1_000)
    }

    /// LMDB need not write pages that a transaction takes and frees again, even at the file's end.
    @Test func fileThatEndsBeforeItsLastFreePagesIsOpened() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("short.mdb")
        let environment = try Environment(path: path, options: .init(creates: true))
        let table = try environment.openTable("t", integerKeys: true)
        for isFilling in [true, false] {
            try environment.write { transaction in
                for key in UInt64(0)..<2_000 {
                    if isFilling {
                        try transaction.put(table, integer: key, [UInt8](repeating: 1, count: 300))
                    } else {
                        try transaction.delete(table, integer: key)
                    }
                }
            }
        }
        for key in UInt64(0)..<5 {
            try environment.write { try $0.put(table, integer: key, [7]) }
        }
        environment.close()
        let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
        #expect(truncate(path, off_t(size - 2 * 4_096)) == 0)
        #expect(try PageCheck.run(path).problems == [])
        let again = try Environment(path: path, options: .init())
        let found = try again.openTable("t", integerKeys: true)
        #expect(try again.read { try $0.count(found) } == 5)
        again.close()
        #expect(truncate(path, 4 * 4_096) == 0)
        #expect(try !PageCheck.run(path).problems.isEmpty)
    }

    @Test func fileThatIsNoneOfLMDBsIsRefusedWithItsPage() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("noise.mdb")
        try Data(count: 20_000).write(to: URL(fileURLWithPath: path))
        #expect(try PageCheck.run(path).problems.map(\.page) == [0])
        let error = #expect(throws: LMDBError.self) {
            try Environment(path: path, options: .init())
        }
        #expect(error?.kind == .damaged)
        #expect(throws: LMDBError.self) { try PageCheck.run(directory.file("none")) }
    }

    @Test func checkOfAFileThatIsWrittenToIsPatient() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            for number in 0..<300 {
                do { try log.appendBlocking([.sample(number)]) } catch { Issue.record(error) }
            }
        }
        for _ in 0..<40 { #expect(try PageCheck.run(directory.file("store/log.mdb")).isSound) }
        group.wait()
    }
}
