import Foundation
import Synchronization
import TapedeckModel
import TapedeckServer
import TapedeckSyncProtocol
import TestSupport
import Testing

/// The guarantees of every `ServerStorage`.
@Suite struct StorageConformanceTests {
    @Test(arguments: StorageKind.allCases)
    func positionsAreDenseAndTimesIncrease(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        let first = try await it.push(sampleEntries(1, 1...3))
        #expect(first.positions == [1, 2, 3])
        #expect(first.fresh == 3)
        #expect(!first.hasProblem)
        // The server's clock goes back an hour.
        it.clock.milliseconds -= 3_600_000
        let second = try await it.push(sampleEntries(2, 1...2))
        #expect(second.positions == [4, 5])
        let times = first.receivedAt + second.receivedAt
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        it.clock.milliseconds += 7_200_000
        let third = try await it.push(sampleEntries(1, 4...4))
        #expect(third.positions == [6])
        #expect(Stamp(rawValue: third.receivedAt[0]).milliseconds == it.clock.milliseconds)
        #expect(try await it.readAll().entries.map(\.receivedAt) == times + third.receivedAt)
    }

    @Test(arguments: StorageKind.allCases)
    func repeatedPushesGetTheSameResponse(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(
            kind, refuses: { $0.id.sequence == 2 ? .tooLarge : nil })
        let first = try await it.push(sampleEntries(1, 1...3))
        #expect(first.refusals.map(\.position) == [2])
        #expect(first.refusals.map(\.code) == ["tooLarge"])
        _ = try await it.push(sampleEntries(2, 1...5))
        it.clock.milliseconds += 1_000
        for _ in 1...2 {
            var again = try await it.push(sampleEntries(1, 1...3))
            #expect(again.fresh == 0)
            again.fresh = first.fresh
            #expect(again == first)
            try it.reopen()
        }
        #expect(try await it.storage.head(of: it.space).position == 8)
    }

    @Test(arguments: StorageKind.allCases)
    func pushesMayOverlapKnownEvents(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        _ = try await it.push(sampleEntries(1, 1...3))
        _ = try await it.push(sampleEntries(2, 1...1))
        let answer = try await it.push(sampleEntries(1, 2...6))
        #expect(answer.positions == [2, 3, 5, 6, 7])
        #expect(answer.fresh == 3)
        let whole = try await it.push(sampleEntries(1, 1...6))
        #expect(whole.positions == [1, 2, 3, 5, 6, 7])
    }

    @Test(arguments: StorageKind.allCases)
    func gapsEndThePush(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        let entries = sampleEntries(1, 1...2) + sampleEntries(1, 5...6)
        let answer = try await it.push(entries)
        #expect(answer.positions == [1, 2])
        #expect(answer.problem.kind == .gap)
        #expect(answer.problem.index == 2)
        #expect(answer.problem.origin == OriginID.sample(1).data)
        #expect(answer.problem.sequence == 3)
        // The entries before the gap are stored.
        #expect(try await it.readAll().entries.count == 2)
    }

    @Test(arguments: StorageKind.allCases)
    func differentEventsWithTheSameIDAreAFork(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        _ = try await it.push(sampleEntries(1, 1...4))
        let answer = try await it.push(
            sampleEntries(1, 1...2) + sampleEntries(1, 3...4, "other"))
        #expect(answer.positions == [1, 2])
        #expect(answer.problem.kind == .fork)
        #expect(answer.problem.index == 2)
        #expect(answer.problem.sequence == 3)
        #expect(try await it.storage.head(of: it.space).position == 4)
    }

    @Test(arguments: StorageKind.allCases)
    func invalidEntriesAreMalformed(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        var cutOff = sampleEntries(1, 1...2)
        cutOff.removeLast()
        var strange: [UInt8] = []
        strange.appendEvent([1, 2, 3])
        var reference: [UInt8] = []
        [UInt8](repeating: 0, count: 8).withUnsafeBytes { reference.appendEntry(.reference, $0) }
        var receipt: [UInt8] = []
        [UInt8](repeating: 0, count: 8).withUnsafeBytes { receipt.appendEntry(.receipt, $0) }
        let first = try await it.push(cutOff)
        #expect(first.positions == [1])
        #expect(first.problem.kind == .malformed)
        #expect(first.problem.index == 1)
        for bytes in [strange, reference, receipt, [9, 0, 0, 0, 0]] {
            let answer = try await it.push(Data(bytes))
            #expect(answer.problem.kind == .malformed)
            #expect(answer.positions.isEmpty)
        }
        #expect(try await it.push(Data()).positions.isEmpty)
    }

    @Test(arguments: StorageKind.allCases)
    func receiptsAreStoredOnce(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        _ = try await it.push(sampleEntries(1, 1...2))
        let early = Receipt(
            event: EventID(1, 2), lineage: .sample(900), serverPosition: 7,
            receivedAt: Stamp(milliseconds: 5_000))
        var entries: [UInt8] = []
        entries.appendEntry(early)
        let first = try await it.push(Data(entries))
        #expect(first.positions == [3])
        #expect(first.fresh == 1)
        try it.reopen()
        let again = try await it.push(Data(entries))
        #expect(again.positions == [0])
        #expect(again.fresh == 0)
        let stored = try await it.readAll().entries[2]
        #expect(stored.kind == .receipt)
        #expect(stored.body == Array(entries.dropFirst(SyncEntryReader.headCount)))
        // This receipt is for an unknown event.
        var unknown: [UInt8] = []
        var stranger = early
        stranger.event = EventID(1, 3)
        unknown.appendEntry(stranger)
        let refused = try await it.push(Data(unknown))
        #expect(refused.problem.kind == .unknownEvent)
        #expect(refused.problem.sequence == 3)
    }

    @Test(arguments: StorageKind.allCases)
    func earlierReceiptsAreStoredToo(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        let own = try await it.push(sampleEntries(1, 1...1))
        func push(_ milliseconds: UInt64, _ lineage: LineageID) async throws -> [UInt64] {
            var entries: [UInt8] = []
            entries.appendEntry(
                Receipt(
                    event: EventID(1, 1), lineage: lineage, serverPosition: 1,
                    receivedAt: Stamp(milliseconds: milliseconds)))
            return try await it.push(Data(entries)).positions
        }
        let other = LineageID.sample(900)
        #expect(try await push(5_000, other) == [2])
        #expect(try await push(6_000, other) == [0])
        #expect(try await push(4_000, other) == [3])
        #expect(try await push(5_000, other) == [0])
        // For the current lineage, the log itself serves as the receipt.
        let lineage = try await it.lineage()
        let received = Stamp(rawValue: own.receivedAt[0]).milliseconds
        #expect(try await push(received + 1, lineage) == [0])
        #expect(try await push(received - 1, lineage) == [4])
    }

    @Test(arguments: StorageKind.allCases)
    func pullsContinueFromAnyCursor(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        for round in 0..<10 {
            _ = try await it.push(
                sampleEntries(1, UInt64(round * 2 + 1)...UInt64(round * 2 + 2)))
            _ = try await it.push(sampleEntries(2, UInt64(round + 1)...UInt64(round + 1)))
        }
        let whole = try await it.readAll()
        #expect(whole.entries.map(\.position) == Array(1...30))
        var step = SpaceReader(try await it.lineage())
        // A limit of one byte returns one entry at a time.
        while try await step.read(it.storage, it.space, bytesMax: 1) {
            let rest = try await it.storage.pull(
                it.space, after: step.cursor, bytesMax: 1 << 20, held: nil)
            let others = whole.entries.dropFirst(step.entries.count)
            #expect(rest.receivedAt == others.map(\.receivedAt))
        }
        #expect(step.entries == whole.entries)
        #expect(step.cursor == whole.cursor)
    }

    @Test(arguments: StorageKind.allCases)
    func pullsStayWithinTheByteLimit(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        _ = try await it.push(sampleEntries(1, 1...100))
        let one = sampleEntries(1, 1...1).count
        let answer = try await it.storage.pull(
            it.space, after: SyncCursor(try await it.lineage()), bytesMax: one * 10 + 1,
            held: nil)
        #expect(answer.entries.count <= one * 10 + 1)
        #expect(answer.receivedAt.count == 10)
        #expect(answer.head == 100)
    }

    @Test(arguments: StorageKind.allCases)
    func ownEventsArePulledAsReferences(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(
            kind, refuses: { $0.id == EventID(1, 2) ? .tooLarge : nil })
        _ = try await it.push(sampleEntries(1, 1...2) + sampleEntries(2, 1...2))
        var reader = SpaceReader(try await it.lineage())
        #expect(
            try await reader.read(
                it.storage, it.space, origin: .sample(1), own: { sampleEvent(EventID(1, $0)) })
                == false)
        #expect(reader.entries.map(\.kind) == [.reference, .reference, .event, .event])
        #expect(reader.entries[1].refusal == "tooLarge")
        // The digest covers the events, whether they are sent in full or as references.
        #expect(reader.cursor == (try await it.readAll().cursor))
    }

    /// Compacted events are pushed and pulled as range stubs.
    @Test(arguments: StorageKind.allCases)
    func rangeStubsRepresentTheirEvents(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        func chain(_ sequence: UInt64, _ text: String = "note") -> HashChain {
            var chain = HashChain()
            for number in 1...max(1, sequence) where sequence > 0 {
                sampleEvent(EventID(1, number), text).withUnsafeBytes { chain.add($0) }
            }
            return chain
        }
        func stub(
            _ sequences: ClosedRange<UInt64>, _ text: String = "note"
        ) throws -> [UInt8] {
            try RangeStub(
                origin: .sample(1), sequences: sequences, stamp: .zero,
                before: chain(sequences.lowerBound - 1, text),
                after: chain(sequences.upperBound, text)
            ).canonical
        }
        func push(_ stub: [UInt8]) async throws -> WirePushResponse {
            var entries: [UInt8] = []
            entries.appendEvent(stub)
            return try await it.push(Data(entries))
        }
        _ = try await it.push(sampleEntries(1, 1...3))
        #expect(try await push(stub(5...9)).problem.kind == .gap)
        #expect(try await push(stub(4...9, "other")).problem.kind == .fork)
        #expect(try await push(stub(1...3, "other")).problem.kind == .fork)
        let known = try await push(stub(1...3))
        #expect(known.positions == [3] && known.fresh == 0)
        // The unknown part of the stub is stored after the known events.
        let taken = try await push(stub(2...9))
        #expect(taken.positions == [4] && taken.fresh == 1)
        let repeated = try await push(stub(2...9))
        #expect(repeated.positions == [4] && repeated.receivedAt == taken.receivedAt)
        #expect(try await push(stub(6...7)).positions == [4])
        // Events that the stub represents are known, whatever their content.
        #expect(try await it.push(sampleEntries(1, 5...6)).positions == [4, 4])
        #expect(try await it.push(sampleEntries(1, 10...12)).positions == [5, 6, 7])
        #expect(try await push(stub(13...20)).positions == [8])
        #expect(try await push(stub(21...30)).positions == [9])
        #expect(try await it.push(sampleEntries(1, 31...31)).positions == [10])
        try it.reopen()
        #expect(try await it.push(sampleEntries(1, 11...11)).positions == [6])
        #expect(try await it.push(sampleEntries(1, 25...25)).positions == [9])
        #expect(try await it.push(sampleEntries(1, 31...31)).positions == [10])
        let origins = try await it.storage.handshake(it.space).origins
        #expect(origins.map(\.lastSequence) == [31])
        #expect(origins.map(\.chain) == [Data(chain(31).bytes)])
        let all = try await it.readAll()
        #expect(all.entries.count == 10)
        let held = try stub(4...9)
        #expect(all.entries[3].body == held)
        // A device that has only its own events after number 11 receives its earlier events in full
        // and its later events as references.
        let answer = try await it.storage.pull(
            it.space, after: SyncCursor(try await it.lineage()), bytesMax: 1 << 20,
            held: EventID(1, 11))
        var kinds: [SyncEntryKind] = []
        answer.entries.withUnsafeBytes { bytes in
            var reader = SyncEntryReader(bytes)
            while let entry = reader.next() { kinds.append(entry.kind) }
        }
        #expect(
            kinds == [
                .event, .event, .event, .event, .event, .event, .reference, .event, .event,
                .reference,
            ])
    }

    @Test(arguments: StorageKind.allCases)
    func cursorsFromAnotherLogAreRefused(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        _ = try await it.push(sampleEntries(1, 1...3))
        let good = try await it.readAll().cursor
        var wrong: [(SyncCursor, ErrorCode)] = []
        var cursor = good
        cursor.position = 2
        wrong.append((cursor, .cursorMismatch))
        cursor.position = 4
        wrong.append((cursor, .cursorMismatch))
        cursor = SyncCursor(good.lineage)
        cursor.digest = good.digest
        wrong.append((cursor, .cursorMismatch))
        cursor = good
        cursor.lineage = .sample(999)
        wrong.append((cursor, .lineageChanged))
        for (cursor, code) in wrong {
            let error = await #expect(throws: ServerError.self) {
                _ = try await it.storage.pull(
                    it.space, after: cursor, bytesMax: 1_000, held: nil)
            }
            #expect(error?.code == code)
            if code == .lineageChanged { #expect(error?.lineage == good.lineage) }
        }
        let error = await #expect(throws: ServerError.self) {
            _ = try await it.storage.push(
                it.space, lineage: .sample(999), entries: sampleEntries(1, 4...4))
        }
        #expect(error?.code == .lineageChanged)
    }

    @Test(arguments: StorageKind.allCases)
    func cursorBeyondTheLogCausesANewLineage(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        _ = try await it.push(sampleEntries(1, 1...3))
        let before = try await it.readAll()
        let same = try await it.storage.renewLineage(it.space, cursor: before.cursor)
        #expect(same.lineage == before.cursor.lineage.data)
        var ahead = before.cursor
        ahead.position = 9
        let renewed = try await it.storage.renewLineage(it.space, cursor: ahead)
        #expect(renewed.lineage != before.cursor.lineage.data)
        #expect(renewed.head == 3)
        // Another request with a cursor of the former lineage does not change the lineage again.
        let again = try await it.storage.renewLineage(it.space, cursor: ahead)
        #expect(again.lineage == renewed.lineage)
        try it.reopen()
        let after = try await it.readAll()
        #expect(after.cursor.lineage.data == renewed.lineage)
        #expect(after.entries == before.entries)
        #expect(after.cursor.digest == before.cursor.digest)
    }

    @Test(arguments: StorageKind.allCases)
    func receiptForALostEventStartsANewLineage(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        let pushed = try await it.push(sampleEntries(1, 1...3))
        let start = SyncCursor(try await it.lineage())
        func receipt(_ sequence: UInt64, at position: UInt64, _ time: UInt64) -> Receipt {
            Receipt(
                event: EventID(1, sequence), lineage: start.lineage, serverPosition: position,
                receivedAt: Stamp(rawValue: time))
        }
        let held = try await it.storage.renewLineage(
            it.space, cursor: start, proof: receipt(2, at: 2, pushed.receivedAt[1]))
        #expect(held.lineage == start.lineage.data)
        // A receipt from another lineage proves nothing.
        var other = receipt(4, at: 4, pushed.receivedAt[2])
        other.lineage = .sample(900)
        let same = try await it.storage.renewLineage(it.space, cursor: start, proof: other)
        #expect(same.lineage == start.lineage.data)
        let wrong = [
            receipt(4, at: 4, pushed.receivedAt[2]), receipt(3, at: 2, pushed.receivedAt[1]),
            receipt(2, at: 2, pushed.receivedAt[1] + 1), receipt(1, at: 0, 0),
        ]
        for var proof in wrong {
            let cursor = SyncCursor(try await it.lineage())
            proof.lineage = cursor.lineage
            let renewed = try await it.storage.renewLineage(
                it.space, cursor: cursor, proof: proof)
            #expect(renewed.lineage != cursor.lineage.data)
        }
    }

    @Test(arguments: StorageKind.allCases)
    func historiesThatDifferBeforeThePushAreAFork(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        _ = try await it.push(sampleEntries(1, 1...3))
        try it.reopen()
        let lineage = try await it.lineage()
        func base(_ sequence: UInt64, _ text: String) -> WireOriginState {
            var chain = HashChain()
            for number in 1...sequence {
                sampleEvent(EventID(1, number), text).withUnsafeBytes { chain.add($0) }
            }
            var state = WireOriginState()
            state.origin = OriginID.sample(1).data
            state.lastSequence = sequence
            state.chain = Data(chain.bytes)
            return state
        }
        let known = try await it.storage.handshake(it.space).origins
        #expect(known == [base(3, "note")])
        let fork = try await it.storage.push(
            it.space, lineage: lineage, entries: sampleEntries(1, 4...5),
            bases: [base(3, "other")])
        #expect(fork.problem.kind == .fork)
        #expect(fork.problem.sequence == 0)
        #expect(fork.positions.isEmpty)
        let fine = try await it.storage.push(
            it.space, lineage: lineage, entries: sampleEntries(1, 4...5),
            bases: [base(3, "note")])
        #expect(fine.positions == [4, 5])
        // The server compares a base only if it is the server's last event of the origin. Here, it
        // compares the pushed events instead.
        let repeated = try await it.storage.push(
            it.space, lineage: lineage, entries: sampleEntries(1, 4...5),
            bases: [base(3, "other")])
        #expect(repeated.positions == [4, 5])
    }

    @Test(arguments: StorageKind.allCases)
    func handshakesListEveryOrigin(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        _ = try await it.push(sampleEntries(2, 1...3) + sampleEntries(1, 1...1))
        try it.reopen()
        let answer = try await it.storage.handshake(it.space)
        #expect(answer.protocol == 2)
        #expect(answer.head == 4)
        #expect(answer.origins.map(\.origin) == [OriginID.sample(1).data, OriginID.sample(2).data])
        #expect(answer.origins.map(\.lastSequence) == [1, 3])
        #expect(answer.timeMilliseconds == it.clock.milliseconds)
        #expect(answer.pushBytesMax == UInt64(SyncLimits.pushBytesMax))
    }

    @Test(arguments: StorageKind.allCases)
    func spacesAreIndependent(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        let other = try await it.storage.createToken(space: "other", name: "test").info.space
        _ = try await it.push(sampleEntries(1, 1...3))
        let answer = try await it.push(sampleEntries(1, 1...2, "other"), in: other)
        #expect(answer.positions == [1, 2])
        #expect(!answer.hasProblem)
        #expect(try await it.storage.head(of: it.space).position == 3)
        #expect(try await it.storage.head(of: other).position == 2)
        #expect(
            try await it.storage.head(of: other).lineage
                != (try await it.storage.head(of: it.space).lineage))
        #expect(try await it.storage.handshake(other).origins.map(\.lastSequence) == [2])
        let error = await #expect(throws: ServerError.self) {
            _ = try await it.storage.handshake(SpaceID(rawValue: 77))
        }
        #expect(error?.code == .notFound)
    }

    @Test(arguments: StorageKind.allCases)
    func tokensGrantAccessToTheirSpaceUntilRevoked(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        let made = try await it.storage.createToken(space: "other", name: "phone")
        #expect(made.token.hasPrefix("td_"))
        #expect(try await it.storage.space(forToken: made.token) == made.info.space)
        #expect(try await it.storage.space(forToken: made.token + "x") == nil)
        #expect(try await it.storage.space(forToken: "") == nil)
        try it.reopen()
        let listed = try await it.storage.tokens()
        #expect(listed.count == 2)
        #expect(listed.contains(made.info))
        it.clock.milliseconds += 10
        let revoked = try await it.storage.revokeToken(made.info.id)
        #expect(revoked.revokedAt == it.clock.milliseconds)
        #expect(try await it.storage.space(forToken: made.token) == nil)
        let error = await #expect(throws: ServerError.self) {
            try await it.storage.revokeToken("nobody")
        }
        #expect(error?.code == .notFound)
    }

    @Test(arguments: StorageKind.allCases)
    func invalidSpaceNamesAreRefused(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        for name in ["", "a b", "ä", String(repeating: "x", count: 65), "a/b"] {
            let error = await #expect(throws: ServerError.self) {
                _ = try await it.storage.createToken(space: name, name: "test")
            }
            #expect(error?.code == .usage)
        }
    }

    @Test(arguments: StorageKind.allCases)
    func observersReceiveEveryNewHead(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        let heard = Heard()
        it.storage.observeHeads { space, head in heard.add(space, head) }
        _ = try await it.push(sampleEntries(1, 1...3))
        _ = try await it.push(sampleEntries(1, 1...3))
        _ = try await it.push(sampleEntries(1, 4...4))
        var ahead = try await it.readAll().cursor
        ahead.position += 1
        _ = try await it.storage.renewLineage(it.space, cursor: ahead)
        // A push may return before the observers are called.
        try await eventually("the third head") { heard.all.count >= 3 }
        #expect(heard.all.map(\.position) == [3, 4, 4])
        #expect(heard.all[1].lineage != heard.all[2].lineage)
    }

    @Test(arguments: StorageKind.allCases)
    func concurrentPushesAreAllStored(kind: StorageKind) async throws {
        let it = try await StorageUnderTest(kind)
        let storage = it.storage
        let space = it.space
        let lineage = try await it.lineage()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for origin in 1...16 as ClosedRange<UInt64> {
                group.addTask {
                    for sequence in 1...20 as ClosedRange<UInt64> {
                        let answer = try await storage.push(
                            space, lineage: lineage,
                            entries: sampleEntries(origin, sequence...sequence))
                        #expect(answer.fresh == 1)
                    }
                }
            }
            try await group.waitForAll()
        }
        let read = try await it.readAll()
        #expect(read.entries.count == 320)
        let times = read.entries.map(\.receivedAt)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    }
}

private final class Heard: Sendable {
    private let heads = Mutex<[SpaceHead]>([])

    func add(_ space: SpaceID, _ head: SpaceHead) { heads.withLock { $0.append(head) } }

    var all: [SpaceHead] { heads.withLock { $0 } }
}
