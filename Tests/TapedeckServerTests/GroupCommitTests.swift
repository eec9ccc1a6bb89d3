import Foundation
import TapedeckModel
@testable import TapedeckServer
import TapedeckSyncProtocol
import TestSupport
import Testing

/// Waiting pushes share a commit without affecting each other.
@Suite struct GroupCommitTests {
    @Test func pushesOfManySpacesShareCommits() async throws {
        let storage = try LMDBStorage(ServerDirectory(try TemporaryDirectory().file("server")))
        defer { storage.close() }
        var spaces: [SpaceHead] = []
        var ids: [SpaceID] = []
        for number in 1...64 {
            let id = try await storage.createToken(space: "s\(number)", name: "test").info.space
            ids.append(id)
            spaces.append(try await storage.head(of: id))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (id, head) in zip(ids, spaces) {
                group.addTask {
                    for sequence in 1...10 as ClosedRange<UInt64> {
                        let answer = try await storage.push(
                            id, lineage: head.lineage,
                            entries: sampleEntries(1, sequence...sequence))
                        #expect(answer.positions == [sequence])
                    }
                }
            }
            try await group.waitForAll()
        }
        let counts = try await storage.counts()
        #expect(counts.headsTotal == 640)
        #expect(counts.spaces == 64)
        #expect(counts.commits < 640)
    }

    @Test func failingPushesDoNotAffectOthers() async throws {
        let storage = try LMDBStorage(ServerDirectory(try TemporaryDirectory().file("server")))
        defer { storage.close() }
        let space = try await storage.createToken(space: "default", name: "test").info.space
        let lineage = try await storage.head(of: space).lineage
        let counted = await withTaskGroup(of: String.self) { group in
            for origin in 1...30 as ClosedRange<UInt64> {
                group.addTask {
                    let (target, named) =
                        switch origin % 3 {
                        case 0: (SpaceID(rawValue: 99), lineage)
                        case 1: (space, LineageID.sample(9))
                        default: (space, lineage)
                        }
                    do throws(ServerError) {
                        let answer = try await storage.push(
                            target, lineage: named, entries: sampleEntries(origin, 1...2))
                        return "\(answer.fresh)"
                    } catch {
                        return "\(error.code)"
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(counted == ["notFound": 10, "lineageChanged": 10, "2": 10])
        #expect(try await storage.head(of: space).position == 20)
    }

    @Test func mapGrowsWithThePushedEntries() async throws {
        let directory = ServerDirectory(try TemporaryDirectory().file("server"))
        let storage = try LMDBStorage(directory, options: .init(mapSizeBytes: 1 << 20))
        defer { storage.close() }
        let space = try await storage.createToken(space: "default", name: "test").info.space
        let lineage = try await storage.head(of: space).lineage
        var entries: [UInt8] = []
        for sequence in 1...40 as ClosedRange<UInt64> {
            entries.appendEvent(sampleEvent(EventID(1, sequence), payload: 100_000))
        }
        let answer = try await storage.push(space, lineage: lineage, entries: Data(entries))
        #expect(answer.fresh == 40)
        // An entry that is larger than the limit is returned alone.
        let pulled = try await storage.pull(
            space, after: SyncCursor(lineage), bytesMax: 1_000, held: nil)
        #expect(pulled.receivedAt.count == 1)
        #expect(pulled.entries.count > 100_000)
    }

    @Test func pushesBeyondTheQueueLimitAreRefused() throws {
        let queue = CommitQueue()
        let request = CommitRequest(
            space: SpaceID(rawValue: 1), byteCount: 1, apply: { _ in {} }, fail: { _ in })
        // The queue is never drained.
        for _ in 0..<ServerLimits.waitingMax { try queue.add(request, drain: {}) }
        let error = #expect(throws: ServerError.self) { try queue.add(request, drain: {}) }
        #expect(error?.code == .unavailable)
        #expect(queue.take()?.count == ServerLimits.pushesPerCommitMax)
        try queue.add(request, drain: {})
        queue.latch(ServerError(.inputOutput, "the disk is gone"))
        let latched = #expect(throws: ServerError.self) { try queue.add(request, drain: {}) }
        #expect(latched?.code == .mustReopen)
    }
}
