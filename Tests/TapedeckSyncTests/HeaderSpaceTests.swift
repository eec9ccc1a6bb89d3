import Foundation
import TapedeckModel
import TapedeckSyncProtocol
import TestSupport
import Testing

@testable import TapedeckSync

/// Whitespace around the value of a header is not part of the value (RFC 9110, section 5.5).
@Suite(.offTasks) struct HeaderSpaceTests {
    private static let late = """
        Date: \t Sun, 06 Nov 1994 08:49:37 GMT \t\r
        Retry-After: Sun, 06 Nov 1994 08:50:17 GMT \r\n
        """

    @Test(arguments: ["Retry-After:  40 \r\n", "Retry-After:\t40\t\r\n", late])
    func requestedPausesAreRead(_ fields: String) async throws {
        let server = try RawServer(
            "HTTP/1.1 503 Unavailable\r\n" + fields + "Content-Length: 0 \r\n\r\n")
        defer { server.stop() }
        let connector = try HTTPSyncConnector(HTTPAddress(server.url)) { "token" }
        defer { Task { await connector.close() } }
        let failure = await #expect(throws: SyncFailure.self) {
            _ = try await connector.send(.handshake(WireHandshakeRequest()))
        }
        #expect(failure?.retryAfter == 40_000)
        // The server answers only one request per connection.
        let other = try HTTPSyncConnector(HTTPAddress(server.url)) { "token" }
        defer { Task { await other.close() } }
        let live = await #expect(throws: SyncFailure.self) { _ = try await other.heads() }
        #expect(live?.retryAfter == 40_000)
        let transport = try HTTPRemoteTransport(base: server.url)
        defer { Task { await transport.close() } }
        let answer = try await transport.send(RemoteRequest("GET", "/"))
        #expect(answer.retryAfter == 40_000)
    }

    @Test func headersOfRemotesAreRead() async throws {
        let server = try RawServer(
            "HTTP/1.1 302 Found\r\nLocation: /b \t\r\nCache-Control: \tmax-age=60 \r\n"
                + "Age: 20 \r\nContent-Length: 0\r\n\r\n")
        defer { server.stop() }
        let transport = try HTTPRemoteTransport(base: server.url)
        defer { Task { await transport.close() } }
        let request = RemoteRequest("GET", "/a")
        let answer = try await transport.send(request)
        #expect(answer.freshFor == 40_000)
        #expect(RemoteRedirect(answer, to: request, at: server.url)?.request?.path == "/b")
    }

    /// The names of codings are case-insensitive.
    @Test func bodiesAreDecompressed() async throws {
        var message = WireHandshakeResponse()
        message.head = 7
        let body = SyncCompression.compress(try message.encoded(as: .protobuf))
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf \r\n"
            + "Content-Encoding: ZSTD \r\nContent-Length: \(body.count)\r\n\r\n"
        let server = try RawServer(Array(head.utf8) + body)
        defer { server.stop() }
        let connector = try HTTPSyncConnector(HTTPAddress(server.url)) { "token" }
        defer { Task { await connector.close() } }
        let response = try await connector.send(.handshake(WireHandshakeRequest()))
        #expect(response == .handshake(message))
    }
}
