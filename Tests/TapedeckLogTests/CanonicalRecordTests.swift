@testable import TapedeckLog
@_spi(Core) import TapedeckModel
import TestSupport
import Testing

/// Records and canonical bytes represent the same event and convert into each other.
@Suite(.offTasks) struct CanonicalRecordTests {
    private let id = EventID(origin: OriginID(high: 1, low: 2), sequence: 3)

    private func canonical(_ event: ProposedEvent, _ stamp: Stamp, _ key: [UInt8], _ from: EventID?)
        -> [UInt8]
    {
        var writer = CanonicalEvent()
        return writer.withBytes(
            of: event, id: id, stamp: stamp, keyID: key, reissuedFrom: from
        ) { Array($0) }
    }

    @Test func recordsAndCanonicalBytesConvertBothWays() throws {
        var random = SeededRandom(Seed.fresh())
        for _ in 0..<500 {
            let event = ProposedEvent.full(&random, after: [id])
            let stamp = Stamp(rawValue: random.next())
            let key = random.chance(30) ? random.bytes(.random(in: 1...64, using: &random)) : []
            let from = random.chance(20) ? id : nil
            let chain = random.chance(50) ? random.bytes(32) : []
            let identity = RecordIdentity(
                position: random.next(), stamp: stamp, sequence: 3, origin: 9, type: 8)
            var record: [UInt8] = []
            record.appendRecord(event, keyID: key, reissuedFrom: from, as: identity, chain: chain)

            let expected = canonical(event, stamp, key, from)
            var found: [UInt8] = []
            let isWhole = try record.withUnsafeBytes {
                found.appendCanonical(
                    try #require(RecordView($0)), origin: id.origin,
                    type: Array(event.type.name.utf8))
            }
            #expect(isWhole)
            #expect(found == expected)

            var again: [UInt8] = []
            try expected.withUnsafeBytes {
                again.appendRecord(try CanonicalView($0), as: identity, chain: HashChain(chain))
            }
            #expect(again == record)
        }
    }

    @Test func acceptedBytesAreTheOnlyFormOfTheirEvent() throws {
        var random = SeededRandom(Seed.fresh())
        var taken = 0
        for _ in 0..<20_000 {
            let event = ProposedEvent.full(&random, after: [id])
            var bytes = canonical(event, Stamp(milliseconds: 5), [1, 2], nil)
            for _ in 0..<Int.random(in: 1...2, using: &random) {
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.removeLast(.random(in: 0...min(bytes.count, 8), using: &random))
                case 1: bytes += random.bytes(.random(in: 0...4, using: &random))
                default:
                    guard !bytes.isEmpty else { break }
                    let index = Int.random(in: 0..<min(bytes.count, 120), using: &random)
                    bytes[index] = UInt8.random(in: 0...255, using: &random)
                }
            }
            bytes.withUnsafeBytes { raw in
                guard let view = try? CanonicalView(raw) else { return }
                taken += 1
                let identity = RecordIdentity(
                    position: 1, stamp: view.stamp, sequence: view.id.sequence, origin: 1, type: 1)
                var record: [UInt8] = []
                record.appendRecord(view, as: identity, chain: nil)
                let isSame = record.withUnsafeBytes { recordBytes in
                    guard let read = RecordView(recordBytes), read.isIntact else { return false }
                    var again: [UInt8] = []
                    return again.appendCanonical(
                        read, origin: view.id.origin, type: Array(raw[view.type]))
                        && again.elementsEqual(raw)
                }
                #expect(isSame)
            }
        }
        #expect(taken > 100)
    }
}
