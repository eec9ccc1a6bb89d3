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
}
