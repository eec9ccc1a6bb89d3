import TapedeckLog
import TapedeckModel
@testable import TapedeckSync
import TapedeckSyncProtocol
import Testing

struct UpstreamTests {
    private var full: Upstream {
        var upstream = Upstream(name: "http://127.0.0.1:1")
        let lineage = LineageID(high: 3, low: 4)
        let digest = [UInt8](1...16).withUnsafeBytes { SyncDigest($0) } ?? SyncDigest()
        upstream.cursor = SyncCursor(lineage, position: 77, digest: digest)
        upstream.acknowledged = [OriginID(high: 1, low: 2): 5, OriginID(high: 3, low: 2): 9]
        upstream.lastReceipt = Receipt(
            event: EventID(origin: OriginID(high: 1, low: 2), sequence: 5), lineage: lineage,
            serverPosition: 80, receivedAt: Stamp(milliseconds: 5),
            outcome: .refused(ErrorCode(rawValue: "policy")))
        upstream.formerLineages = [LineageID(high: 8, low: 8)]
        upstream.seedPlace = [1, 2, 3]
        (upstream.seedRound, upstream.contactedAt, upstream.settledAt) = (4, 5, 6)
        upstream.lastSeed = .init(position: 7, receivedAt: Stamp(rawValue: 8))
        upstream.wait = SyncWait(reason: .offline, message: "gone", until: 99)
        return upstream
    }

    @Test func encodedRowsDecodeToTheSameValue() {
        for upstream in [full, Upstream(name: "x")] { #expect(Upstream(upstream.row) == upstream) }
    }

    @Test func truncatedRowsAreNotDecoded() {
        let value = full.row.value ?? []
        for count in 0..<value.count {
            #expect(Upstream(SyncRow(full.row.name, Array(value.prefix(count)))) == nil)
        }
        #expect(Upstream(SyncRow(full.row.name, value + [0])) == nil)
        #expect(Upstream(SyncRow("another", value)) == nil)
    }

    @Test func formerLineagesAreRemembered() {
        var upstream = full
        let (first, second) = (LineageID(high: 3, low: 4), LineageID(high: 5, low: 5))
        upstream.adopt(second)
        #expect(upstream.formerLineages == [LineageID(high: 8, low: 8), first])
        #expect(upstream.cursor == SyncCursor(second) && upstream.seedPlace == [])
        #expect(upstream.acknowledged.isEmpty && upstream.lastReceipt == nil)
        upstream.adopt(first)
        #expect(upstream.formerLineages == [LineageID(high: 8, low: 8), first, second])
        for number in 0..<200 { upstream.adopt(LineageID(high: 100, low: UInt64(number))) }
        #expect(upstream.formerLineages.count == 64)
    }
}
