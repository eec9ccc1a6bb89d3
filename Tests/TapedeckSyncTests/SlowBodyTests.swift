import Foundation
import Synchronization
import TapedeckModel
@testable import TapedeckSync
import TapedeckSyncProtocol
import TestSupport
import Testing

/// Responses that arrive very slowly.
@Suite(.offTasks) struct SlowBodyTests {
    /// A clock that only the test moves.
    private final class Stopwatch: Sendable {
        private let start = ContinuousClock.now
        private let passed = Mutex(Duration.zero)

        var now: BodyPace.Clock { { [self] in start + passed.withLock(\.self) } }

        func advance(_ duration: Duration) { passed.withLock { $0 += duration } }
    }

    /// Returns the number of bytes that arrive before a body counts as too slow; nil if the whole
    /// body arrives.
    private static func bytesBeforeEnd(
        of count: Int, bytesPerSecond: Int, after wait: Duration = .zero
    ) -> Int? {
        let clock = Stopwatch()
        let pace = BodyPace(now: clock.now)
        clock.advance(wait)
        let part = max(1, bytesPerSecond)
        for arrived in stride(from: part, through: count, by: part) {
            clock.advance(.seconds(1))
            if pace.isTooSlow(afterBytes: arrived) { return arrived }
        }
        return nil
    }

    @Test func aByteASecondIsTooSlow() throws {
        let bytes = try #require(Self.bytesBeforeEnd(of: 60_000, bytesPerSecond: 1))
        #expect(bytes == SyncLimits.bodySecondsMax + 1)
    }

    /// The largest bodies arrive over 8 kB/s, even if nothing arrives for 20 s at first.
    @Test(arguments: [SyncLimits.pullBytesMax * 2, SyncLimits.pushBytesMax, 64 << 20])
    func slowMobileLinksAreNotCutOff(count: Int) {
        #expect(Self.bytesBeforeEnd(of: count, bytesPerSecond: 8_000, after: .seconds(20)) == nil)
        // The time limit for sending a request must also suffice.
        #expect(BodyPace.time(for: count) > .seconds(count / 8_000))
    }

    @Test(arguments: ["server", "remote", "remote, delivery"])
    func slowResponsesEndTheRequest(of what: String) async throws {
        let server = try RawServer(
            """
            HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\
            Content-Length: 60000\r\n\r\n\0
            """)
        defer { server.stop() }
        let start = ContinuousClock.now
        let minutes = Mutex(0)
        // Two minutes pass between any two readings of the clock.
        let clock: BodyPace.Clock = {
            start
                + .seconds(
                    minutes.withLock {
                        $0 += 2
                        return $0 * 60
                    })
        }
        let failure = await #expect(throws: SyncFailure.self) {
            if what == "server" {
                let connector = try HTTPSyncConnector(address: server.url, now: clock) { "token" }
                defer { Task { await connector.close() } }
                _ = try await connector.send(.handshake(WireHandshakeRequest()))
            } else {
                let transport = try HTTPRemoteTransport(base: server.url, now: clock)
                defer { Task { await transport.close() } }
                _ = try await transport.send(RemoteRequest(what == "remote" ? "GET" : "POST", "/"))
            }
        }
        #expect(failure?.code == .offline && failure?.isTransient == true)
        #expect(failure?.message == "\(server.url) sends its response too slowly")
        // The request has arrived, so it must not be repeated blindly.
        #expect(failure?.isUnsent == false)
    }

    /// Large requests are sent in parts and arrive unchanged.
    @Test(arguments: [0, 1, 7, 8, 9, 1_000]) func bodiesAreSplitIntoParts(count: Int) async {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var sent: [UInt8] = []
        for await part in HTTPBody.chunks(of: 8, bytes) {
            #expect((1...8).contains(part.readableBytes))
            sent += Array(part.readableBytesView)
        }
        #expect(sent == bytes)
    }
}
