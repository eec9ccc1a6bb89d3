import Foundation
import TapedeckModel
import TapedeckServer
import TapedeckSyncProtocol
import TestSupport
import Testing

/// The server loses no data when the disk is full, and continues once there is space.
@Suite struct DiskFullTests {
    @Test func pushesOnAFullDiskAreRefusedEntirely() async throws {
        let place = try TemporaryDirectory().file("disk")
        guard let disk = MountedDirectory(megabytes: 8, at: place) else { return }
        let filler = disk.path + "/filler"
        try await RunningServer.with(directory: disk.path + "/server") { it in
            let lineage = try await it.handshake().lineage
            _ = try await it.push(sampleEntries(1, 1...10), lineage)
            try fill(filler)
            var sequence: UInt64 = 11
            var answer: HTTPAnswer?
            // Some pushes fit into free pages of the file.
            for _ in 0..<50 where answer == nil {
                var request = WirePushRequest()
                request.lineage = lineage
                var entries: [UInt8] = []
                entries.appendEvent(sampleEvent(EventID(1, sequence), payload: 60_000))
                request.entries = Data(entries)
                let sent = try await it.send(
                    "POST", "/v1/push", body: try request.encoded(as: .protobuf))
                if sent.status == 200 { sequence += 1 } else { answer = sent }
            }
            #expect(answer?.status == 507)
            let told = try #require(try answer?.error())
            #expect(told.error.code == "diskFull")
            // Clients must not see the paths of the server's files.
            #expect(!told.error.message.contains("/"))
            let hello = try await it.handshake()
            #expect(hello.origins.map(\.lastSequence) == [sequence - 1])
            #expect(try await it.send("GET", "/health").status == 200)

            try FileManager.default.removeItem(atPath: filler)
            let after = try await it.push(sampleEntries(2, 1...10), lineage)
            #expect(after.fresh == 10)
        }
        withExtendedLifetime(disk) {}
    }

    private func fill(_ path: String) throws {
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let file = try #require(FileHandle(forWritingAtPath: path))
        defer { try? file.close() }
        while (try? file.write(contentsOf: Data(repeating: 1, count: 4_096))) != nil {}
    }
}
