import Foundation
@testable import TapedeckSync
import TapedeckSyncProtocol
import TestSupport
import Testing

/// Responses whose heads HTTP does not allow; one flipped bit turns 200 into 000.
@Suite(.offTasks) struct InvalidHeadTests {
    enum Request: CaseIterable {
        case handshake, live, remote, delivery

        func send(to url: String) async throws {
            switch self {
            case .handshake, .live:
                let connector = try HTTPSyncConnector(HTTPAddress(url)) { "token" }
                defer { Task { await connector.close() } }
                if self == .live {
                    _ = try await connector.heads()
                } else {
                    _ = try await connector.send(.handshake(WireHandshakeRequest()))
                }
            case .remote, .delivery:
                let transport = try HTTPRemoteTransport(base: url)
                defer { Task { await transport.close() } }
                _ = try await transport.send(RemoteRequest(self == .remote ? "GET" : "POST", "/"))
            }
        }
    }

    private static let interim = "HTTP/1.1 103 Early Hints\r\n\r\n"

    private static func head(_ status: String) -> String {
        "HTTP/1.1 \(status) OK\r\nContent-Length: 0\r\n\r\n"
    }

    @Test(arguments: Request.allCases) func invalidHeadsFailTheRequest(
        _ request: Request
    ) async throws {
        let tooMany = String(repeating: Self.interim, count: HTTPHeadCheck.interimMax + 1)
        let answers = [
            (Self.head("000"), "responded with the invalid status 0"),
            (Self.head("099"), "responded with the invalid status 99"),
            (Self.interim + Self.head("099"), "responded with the invalid status 99"),
            (Self.head("000") + Self.head("200"), "responded with the invalid status 0"),
            (tooMany + Self.head("200"), "sent too many interim responses"),
        ]
        for (answer, message) in answers {
            let server = try RawServer(answer)
            defer { server.stop() }
            let failure = await #expect(throws: SyncFailure.self) {
                try await request.send(to: server.url)
            }
            #expect(failure?.message == "\(server.url) \(message)")
            #expect(failure?.code == .offline && failure?.isTransient == true)
            // The request has arrived, so it must not be repeated blindly.
            #expect(failure?.isUnsent == false)
        }
    }

    @Test func interimResponsesAreSkipped() async throws {
        let server = try RawServer(
            String(repeating: Self.interim, count: HTTPHeadCheck.interimMax) + Self.head("204"))
        defer { server.stop() }
        let transport = try HTTPRemoteTransport(base: server.url)
        defer { Task { await transport.close() } }
        #expect(try await transport.send(RemoteRequest("GET", "/")).status == 204)
    }
}
