import Synchronization
import TapedeckLog
import TapedeckModel
import TapedeckSyncProtocol
import TestSupport
import Testing

@testable import TapedeckSync

/// A server that accepts everything except live connections.
@Suite(.offTasks) struct LiveRefusalTests {
    private final class RefusingConnector: SyncConnector {
        /// The number of attempts to open a live connection.
        let attempts = Atomic(0)

        func send(_ request: SyncRequest) async throws(SyncFailure) -> SyncResponse {
            var answer = WireHandshakeResponse()
            answer.protocol = SyncLimits.protocolVersion
            answer.lineage = LineageID(high: 1, low: 1).data
            return .handshake(answer)
        }

        func heads() async throws(SyncFailure) -> AsyncStream<UInt64> {
            attempts.wrappingAdd(1, ordering: .relaxed)
            throw SyncFailure(.throttled, "too many live connections", retryAfter: 3_600_000)
        }

        func close() async {}
    }

    @Test func theConnectionIsNotOpenedBeforeTheRequestedTime() async throws {
        let directory = try TemporaryDirectory()
        let log = try EventLog.create(directory.file("store"))
        defer { log.close() }
        let connector = RefusingConnector()
        let engine = try SyncEngine(
            log, upstream: "there", connector, options: .init(isLive: true, failuresMax: 1))
        let reasons = Mutex<[ErrorCode]>([])
        let report = try await engine.run { progress in
            guard let wait = progress.wait else { return }
            let count = reasons.withLock { reasons in
                reasons.append(wait.reason)
                return reasons.count
            }
            // Each wake begins the next pull without waiting for it.
            if count < 5 { engine.wake() } else { engine.stop() }
        }
        #expect(report.failure == nil)
        #expect(reasons.withLock(\.self).allSatisfy { $0 == .throttled })
        #expect(connector.attempts.load(ordering: .relaxed) == 1)
        // Everything is delivered, so nothing waits.
        let states = try await onThread { try SyncStatus.all(in: log).map(\.state) }
        #expect(states == [.upToDate])
    }
}
