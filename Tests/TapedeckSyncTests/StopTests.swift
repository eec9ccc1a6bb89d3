import Foundation
import Synchronization
import TapedeckLog
import TapedeckModel
@testable import TapedeckSync
import TapedeckSyncProtocol
import TestSupport
import Testing

/// Ending a sync before it is done.
struct StopTests {
    /// A connector that never returns a response: requests end only when they are cancelled.
    private final class SilentConnector: SyncConnector {
        let requests = Atomic(0)
        /// Called at the beginning of each request.
        let began = Mutex<(@Sendable () -> Void)?>(nil)

        func send(_ request: SyncRequest) async throws(SyncFailure) -> SyncResponse {
            requests.wrappingAdd(1, ordering: .relaxed)
            began.withLock(\.self)?()
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
            throw SyncFailure(.offline, "no response")
        }

        func heads() async throws(SyncFailure) -> AsyncStream<UInt64> { AsyncStream { _ in } }

        func close() async {}
    }

    private static func append(_ log: EventLog) throws {
        try log.appendBlocking([ProposedEvent(type: "Noted", tags: [], payload: [1])])
    }

    @Test(arguments: [true, false])
    func stoppingCancelsAPendingRequest(isLive: Bool) async throws {
        let directory = NSTemporaryDirectory() + "tapedeck-stop-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let log = try EventLog.create(directory)
        defer { log.close() }
        try StopTests.append(log)
        let connector = SilentConnector()
        let engine = try SyncEngine(
            log, upstream: "there", connector, options: .init(isLive: isLive, failuresMax: 1))
        let run = Task { try await engine.run() }
        try await eventually("a request") { connector.requests.load(ordering: .relaxed) > 0 }
        engine.stop()
        let report = try await run.value
        #expect(report.failure == nil)
        // Nothing was delivered, and the store does not record anything as delivered.
        let settledAt = try StopTests.settledAt(log)
        #expect(settledAt == 0)
    }

    /// A request that has begun is cancelled even if the engine has not stored it yet.
    @Test func stoppingAtTheBeginningOfARequestCancelsIt() async throws {
        let directory = NSTemporaryDirectory() + "tapedeck-stop-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let log = try EventLog.create(directory)
        defer { log.close() }
        try StopTests.append(log)
        for _ in 0..<100 {
            let connector = SilentConnector()
            let engine = try SyncEngine(
                log, upstream: "there", connector, options: .init(failuresMax: 1))
            connector.began.withLock { $0 = { engine.stop() } }
            #expect(try await engine.run().failure == nil)
        }
    }

    private static func settledAt(_ log: EventLog) throws -> UInt64 {
        try Upstream.named("there", in: log).settledAt
    }
}
