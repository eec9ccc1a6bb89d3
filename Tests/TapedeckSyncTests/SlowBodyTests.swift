import Foundation
import Synchronization
import TapedeckModel
@testable import TapedeckSync
import TapedeckSyncProtocol
import TestSupport
import Testing

/// Responses that arrive very slowly.
@Suite(.offTasks) struct SlowBodyTests {
    /// Returns the number of bytes that arrive before a body counts as too slow; nil if the whole
    /// body arrives.
    private static func bytesBeforeEnd(
        of count: Int, bytesPerSecond: Int, after wait: Duration = .zero
    ) -> Int? {
        let stopwatch = Stopwatch()
        let pace = BodyPace(clock: stopwatch.clock)
        var deadline = pace.deadline(afterBytes: 0)
        stopwatch.advance(wait)
        let part = max(1, bytesPerSecond)
        for arrived in stride(from: part, through: count, by: part) {
            stopwatch.advance(.seconds(1))
            guard stopwatch.clock.now() < deadline else { return arrived }
            deadline = pace.deadline(afterBytes: arrived)
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

    /// A body that stops, or whose end does not arrive, is not waited for, however much of it
    /// arrived quickly.
    @Test(arguments: [0, 1, 16 << 20])
    func bodiesThatStopAreTooSlow(count: Int) async throws {
        let stopwatch = Stopwatch()
        let parts = ScriptedParts.stream(
            [.send([UInt8](repeating: 0, count: count)), .wait(.seconds(30)), .hang], stopwatch)
        let error = await #expect(throws: HTTPBodyError.self) {
            try await HTTPBody.collect(
                parts, bytesMax: count, BodyDeadlines(stopwatch.clock))
        }
        #expect(error == .tooSlow && stopwatch.passed == .seconds(30))
    }

    /// A body may pause for almost 30 s at a time if it is fast enough overall.
    @Test func bodiesThatPauseArrive() async throws {
        let stopwatch = Stopwatch()
        let part = [UInt8](repeating: 1, count: 128 << 10)
        let parts = ScriptedParts.stream(
            [
                .send(part), .wait(.seconds(29)), .send(part), .wait(.seconds(29)), .send(part),
                .wait(.seconds(1)),
            ], stopwatch)
        let bytes = try await HTTPBody.collect(
            parts, bytesMax: 1 << 20, BodyDeadlines(stopwatch.clock))
        #expect(bytes == part + part + part)
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
        let clock = ConnectionClock(
            now: {
                minutes.withLock {
                    $0 += 2
                    return start + .seconds($0 * 60)
                }
            }, sleep: { _ in })
        let failure = await #expect(throws: SyncFailure.self) {
            if what == "server" {
                let connector = try HTTPSyncConnector(
                    HTTPAddress(server.url), deadlines: BodyDeadlines(clock)
                ) { "token" }
                defer { Task { await connector.close() } }
                _ = try await connector.send(.handshake(WireHandshakeRequest()))
            } else {
                let transport = try HTTPRemoteTransport(
                    base: server.url, deadlines: BodyDeadlines(clock))
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
