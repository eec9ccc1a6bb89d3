import Foundation
import Synchronization
import TapedeckModel
import TapedeckServer
import TapedeckSyncProtocol
import TestSupport
import Testing

/// Live connections, which use server-sent events.
@Suite struct LiveTests {
    @Test func changedHeadsAreSent() async throws {
        try await RunningServer.with { it in
            let hello = try await it.handshake()
            let lineage = try #require(LineageID(hello.lineage))
            let live = try await LiveReader.open(it)
            #expect(try await live.change() == .head(lineage, 0))
            _ = try await it.push(sampleEntries(1, 1...3), hello.lineage)
            #expect(try await live.change() == .head(lineage, 3))
            // A second connection receives the current head immediately.
            let other = try await LiveReader.open(it)
            #expect(try await other.change() == .head(lineage, 3))
            _ = try await it.push(sampleEntries(2, 1...1), hello.lineage)
            #expect(try await live.change() == .head(lineage, 4))
            #expect(try await other.change() == .head(lineage, 4))
            var renew = WireLineageRequest()
            renew.cursor = SyncCursor(lineage, position: 9, digest: SyncDigest()).wire
            renew.origin = OriginID.sample(1).data
            let renewed: WireHandshakeResponse = try await it.exchange("/v1/lineage", renew)
            #expect(try await live.change() == .head(try #require(LineageID(renewed.lineage)), 4))
        }
    }

    @Test func liveConnectionsEndWithTheServer() async throws {
        // Only the server's shutdown can end the connections, because the next keep-alive message
        // is due in hours.
        try await RunningServer.with(keepAlive: .seconds(36_000)) { it in
            let lives = try await (0..<5).asyncMap { _ in try await LiveReader.open(it) }
            for live in lives { _ = try await live.change() }
            await it.server.shutDown()
            for live in lives { #expect(try await live.change() == .end) }
        }
    }

    @Test func headIsRepeatedUntilTheTokenIsRevoked() async throws {
        try await RunningServer.with(keepAlive: .milliseconds(50)) { it in
            let made = try await it.server.storage.createToken(space: "default", name: "phone")
            let live = try await LiveReader.open(it, token: made.token)
            let head = try await live.next()
            #expect(head != .end)
            #expect(try await live.next() == head)
            #expect(try await live.next() == head)
            try await it.server.storage.revokeToken(made.info.id)
            #expect(try await live.change() == .end)
        }
    }

    @Test func restartedServersKeepTheirState() async throws {
        let directory = try TemporaryDirectory().file("server")
        var token = ""
        var lineage = Data()
        try await RunningServer.with(directory: directory) { it in
            token = it.token
            lineage = try await it.handshake().lineage
            _ = try await it.push(sampleEntries(1, 1...3), lineage)
        }
        try await RunningServer.with(directory: directory) { it in
            #expect(it.token == token)
            let hello = try await it.handshake()
            #expect(hello.lineage == lineage)
            #expect(hello.head == 3)
            let live = try await LiveReader.open(it)
            #expect(try await live.next() == .head(try #require(LineageID(lineage)), 3))
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<R>(_ body: (Element) async throws -> R) async rethrows -> [R] {
        var all: [R] = []
        for element in self { all.append(try await body(element)) }
        return all
    }
}

/// Reads server-sent events.
private final class LiveReader: Sendable {
    enum Sign: Equatable {
        case head(LineageID, UInt64)
        case end
    }

    private struct Message: Decodable {
        var lineage: String
        var head: UInt64
    }

    private let connection: HTTPConnection
    private let last = Mutex<Sign?>(nil)

    private init(_ connection: HTTPConnection) { self.connection = connection }

    static func open(_ it: RunningServer, token: String? = nil) async throws -> LiveReader {
        let token = token ?? it.token
        let connection = try await onThread {
            let connection = try it.connect()
            try connection.writeHead(
                "GET", "/v1/live", ["Authorization": "Bearer \(token)"])
            let head = try connection.readHead()
            #expect(head.status == 200)
            #expect(head.headers["content-type"] == "text/event-stream")
            return connection
        }
        return LiveReader(connection)
    }

    /// Returns the next `Sign` that differs from the previous one.
    func change() async throws -> Sign {
        let before = last.withLock { $0 }
        while true {
            let sign = try await next()
            if sign != before { return sign }
        }
    }

    func next() async throws -> Sign {
        let connection = connection
        let sign = try await onThread { () -> Sign in
            guard let chunk = try connection.chunk() else { return .end }
            let lines = String(decoding: chunk, as: UTF8.self)
                .split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 5)
            #expect(lines[0] == "event: head")
            #expect(lines[3].isEmpty && lines[4].isEmpty)
            let data = try #require(lines[2].hasPrefix("data: ") ? lines[2].dropFirst(6) : nil)
            let message = try JSONDecoder().decode(Message.self, from: Data(data.utf8))
            #expect(lines[1] == "id: \(message.head)")
            return .head(try #require(LineageID(message.lineage)), message.head)
        }
        last.withLock { $0 = sign }
        return sign
    }
}
