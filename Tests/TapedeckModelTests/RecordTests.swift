@_spi(Core) import TapedeckModel
import TestSupport
import Testing

struct RecordTests {
    static let event = ProposedEvent(
        type: "NoteTaken", schemaVersion: 3,
        tags: [Tag(unchecked: "note/1"), Tag(unchecked: "user/é")],
        fact: ObservedFact(
            entity: Digest16(high: 1, low: 2), content: Digest16(high: 3, low: 4), version: 5,
            observedAt: -6),
        atMilliseconds: 1_700_000_000_000,
        causation: EventID(origin: OriginID(high: 7, low: 8), sequence: 9),
        correlation: EventID(origin: OriginID(high: 10, low: 11), sequence: 12), retention: .max,
        encoding: .sealed, payload: Array("what was noted".utf8))
    static let reissuedFrom = EventID(origin: OriginID(high: 13, low: 14), sequence: 15)
    static let keyID: [UInt8] = [0xAA, 0xBB, 0xCC]
    static let chain = [UInt8](repeating: 0xDD, count: 32)
    static let identity = RecordIdentity(
        position: 21, stamp: Stamp(milliseconds: 1_700_000_000_000), sequence: 22, origin: 23,
        type: 24)

    private var record: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendRecord(
            RecordTests.event, keyID: RecordTests.keyID, reissuedFrom: RecordTests.reissuedFrom,
            as: RecordTests.identity, chain: RecordTests.chain)
        return bytes
    }

    /// Checks that the bytes encode `event` as a record.
    private func check(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { raw in
            let view = try #require(RecordView(raw))
            let event = RecordTests.event
            #expect(view.isIntact)
            #expect(view.position == 21)
            #expect(view.stamp == RecordTests.identity.stamp)
            #expect(view.sequence == 22)
            #expect(view.origin == 23)
            #expect(view.type == 24)
            #expect(view.schemaVersion == event.schemaVersion)
            #expect(view.retention == event.retention)
            #expect(view.encoding == event.encoding)
            #expect(view.flags.contains(.stampGiven))
            #expect(Array(view.payload) == event.payload)
            var tags: [String] = []
            #expect(view.forEachTag { tags.append(String(decoding: $0, as: UTF8.self)) })
            #expect(tags == event.tags.map(\.text))
            let blocks = try #require(view.blocks)
            #expect(blocks.fact == event.fact)
            #expect(view.fact == event.fact)
            #expect(blocks.causation == event.causation)
            #expect(blocks.correlation == event.correlation)
            #expect(blocks.reissuedFrom == RecordTests.reissuedFrom)
            #expect(blocks.keyID == RecordTests.keyID)
            #expect(blocks.chain == RecordTests.chain)
        }
    }

    @Test func recordOfVersionOneStaysReadable() throws {
        let golden = try Vectors.hex("record-v1.hex", record)
        try check(golden)
        #expect(record == golden)
    }

    @Test func smallestRecordIsItsHeader() {
        var bytes: [UInt8] = []
        bytes.appendRecord(
            ProposedEvent(type: "A", tags: [], payload: []), as: RecordTests.identity, chain: [])
        #expect(bytes.count == RecordLayout.headerCount)
        bytes.withUnsafeBytes { raw in
            let view = RecordView(raw)
            #expect(view?.isIntact == true)
            #expect(view?.blocks?.chain == [])
            #expect(view?.fact == nil)
            #expect(view?.payload.isEmpty == true)
        }
    }

    @Test func everyFlippedBitIsDetected() {
        let whole = record
        for index in whole.indices {
            for bit in 0..<8 {
                var changed = whole
                changed[index] ^= UInt8(1) << UInt8(bit)
                #expect(changed.withUnsafeBytes { RecordView($0)?.isIntact } != true)
            }
        }
    }

    @Test func arbitraryBytesDoNotCrash() {
        var random = SeededRandom(Seed.fresh())
        let whole = record
        for round in 0..<20_000 {
            var bytes: [UInt8]
            if round % 2 == 0 {
                bytes = (0..<Int.random(in: 0...150, using: &random)).map { _ in
                    UInt8(truncatingIfNeeded: random.next())
                }
                if bytes.count > 4 { bytes[4] = RecordLayout.format }
                if bytes.count > 41, round % 4 == 0 { bytes[41] = 0 }
            } else {
                bytes = Array(whole.prefix(.random(in: 0...whole.count, using: &random)))
                for _ in 0..<Int.random(in: 1...5, using: &random) where !bytes.isEmpty {
                    bytes[.random(in: bytes.indices, using: &random)] = UInt8(
                        truncatingIfNeeded: random.next())
                }
            }
            bytes.withUnsafeBytes { raw in
                guard let view = RecordView(raw) else { return }
                _ = view.isIntact
                _ = view.forEachTag { _ in }
                _ = view.blocks
                _ = view.fact
                _ = view.payload.count
                _ = (view.stamp, view.sequence, view.retention, view.encoding, view.keyIDCount)
            }
        }
    }
}

struct CanonicalEventTests {
    private func canonical() -> [UInt8] {
        var writer = CanonicalEvent()
        return writer.withBytes(
            of: RecordTests.event, id: EventID(origin: OriginID(high: 16, low: 17), sequence: 22),
            stamp: RecordTests.identity.stamp, keyID: RecordTests.keyID,
            reissuedFrom: RecordTests.reissuedFrom
        ) { Array($0) }
    }

    @Test func canonicalBytesAndHashChainNeverChange() throws {
        let bytes = canonical()
        #expect(try Vectors.hex("canonical-v1.hex", bytes) == bytes)
        var chain = HashChain()
        #expect(chain.bytes == [UInt8](repeating: 0, count: 32))
        bytes.withUnsafeBytes { chain.add($0) }
        bytes.withUnsafeBytes { chain.add($0) }
        #expect(try Vectors.hex("chain-v1.hex", chain.bytes) == chain.bytes)
        #expect(HashChain(chain.bytes) == chain)
        #expect(HashChain([1, 2]) == nil)
    }

    @Test func everyPartOfAnEventChangesItsBytes() {
        let event = RecordTests.event
        let id = EventID(origin: OriginID(high: 16, low: 17), sequence: 22)
        let stamp = RecordTests.identity.stamp
        var all: Set<[UInt8]> = []
        var writer = CanonicalEvent()
        func add(
            _ event: ProposedEvent, _ id: EventID, _ stamp: Stamp, _ key: [UInt8], _ from: EventID?
        ) {
            all.insert(
                writer.withBytes(of: event, id: id, stamp: stamp, keyID: key, reissuedFrom: from) {
                    Array($0)
                })
        }
        add(event, id, stamp, [], nil)
        add(event, id, stamp, [1], nil)
        add(event, id, stamp, [], id)
        add(event, EventID(origin: id.origin, sequence: 23), stamp, [], nil)
        add(event, id, Stamp(milliseconds: 1), [], nil)
        let changes: [(inout ProposedEvent) -> Void] = [
            { $0.type = "Other" }, { $0.schemaVersion = 4 }, { $0.tags.removeLast() },
            { $0.tags.reverse() }, { $0.fact = nil }, { $0.atMilliseconds = nil },
            { $0.causation = nil }, { $0.correlation = nil }, { $0.retention = .sum },
            { $0.encoding = .plain }, { $0.payload.append(0) },
        ]
        for change in changes {
            var changed = event
            change(&changed)
            add(changed, id, stamp, [], nil)
        }
        #expect(all.count == 5 + changes.count)
    }
}

@Suite("The checksums of three records are checked together")
struct ThreeRecordsTests {
    @Test("A changed byte in any of the three records is detected, whatever their lengths")
    func changedByteInAnyOfThreeRecordsIsDetected() throws {
        for sizes in [[0, 0, 0], [1, 20, 333], [64, 64, 64], [900, 3, 17]] {
            var records: [[UInt8]] = try sizes.enumerated().map { index, size in
                var bytes: [UInt8] = []
                bytes.appendRecord(
                    ProposedEvent(
                        type: "Type", tags: [try Tag("video", "youtube:\(index)")],
                        payload: (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ index) }),
                    as: RecordIdentity(
                        position: UInt64(index) + 1, stamp: .zero, sequence: 1, origin: 0, type: 0),
                    chain: [])
                return bytes
            }
            #expect(ThreeRecordsTests.areIntact(records) != false)
            for index in 0..<3 {
                for byte in records[index].indices {
                    records[index][byte] ^= 0x10
                    #expect(ThreeRecordsTests.areIntact(records) != true)
                    records[index][byte] ^= 0x10
                }
            }
        }
    }

    private static func areIntact(_ records: [[UInt8]]) -> Bool? {
        records[0].withUnsafeBytes { first in
            records[1].withUnsafeBytes { second in
                records[2].withUnsafeBytes { RecordView.areIntact(first, second, $0) }
            }
        }
    }
}
