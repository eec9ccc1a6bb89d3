import Foundation
import Synchronization
import TapedeckModel
import TapedeckServer
import TapedeckSyncProtocol
import TestSupport
import Testing

/// The server as clients see it, over real sockets.
@Suite struct HTTPTests {
    @Test func devicesPushAndPull() async throws {
        try await RunningServer.with { it in
            let hello = try await it.handshake()
            #expect(hello.head == 0)
            let pushed = try await it.push(sampleEntries(1, 1...5), hello.lineage)
            #expect(pushed.positions == [1, 2, 3, 4, 5])
            var reader = SpaceReader(try #require(LineageID(hello.lineage)))
            var request = WirePullRequest()
            request.cursor = reader.cursor.wire
            request.bytesMax = 1 << 20
            let pulled: WirePullResponse = try await it.exchange("/v1/pull", request)
            try reader.take(pulled)
            #expect(reader.entries.count == 5)
            #expect(try await it.handshake().origins.map(\.lastSequence) == [5])
        }
    }

    @Test func protobufAndJSONAreEquivalent() async throws {
        try await RunningServer.with { it in
            let lineage = try await it.handshake().lineage
            let first = try await it.push(sampleEntries(1, 1...3), lineage)
            var push = WirePushRequest()
            push.lineage = lineage
            push.entries = sampleEntries(1, 1...3)
            var again: WirePushResponse = try await it.exchange("/v1/push", push, as: .json)
            again.fresh = first.fresh
            #expect(again == first)
            var pull = WirePullRequest()
            pull.cursor = SyncCursor(try #require(LineageID(lineage))).wire
            pull.bytesMax = 1 << 20
            let one: WirePullResponse = try await it.exchange("/v1/pull", pull)
            let other: WirePullResponse = try await it.exchange("/v1/pull", pull, as: .json)
            #expect(one == other)
            // The request is in one format, the response in the other.
            let mixed = try await it.send(
                "POST", "/v1/pull",
                ["Content-Type": "application/x-protobuf", "Accept": "application/json"],
                body: try pull.encoded(as: .protobuf))
            #expect(mixed.headers["content-type"] == "application/json")
            #expect(try WirePullResponse(decoding: mixed.body, as: .json) == one)
        }
    }

    @Test func bodiesMayBeCompressed() async throws {
        try await RunningServer.with { it in
            var push = WirePushRequest()
            push.lineage = try await it.handshake().lineage
            push.entries = sampleEntries(1, 1...200)
            let body = try push.encoded(as: .protobuf)
            let packed = SyncCompression.compress(body)
            #expect(packed.count < body.count / 2)
            let answer = try await it.send(
                "POST", "/v1/push",
                [
                    "Content-Type": "application/x-protobuf", "Content-Encoding": "zstd",
                    "Accept-Encoding": "gzip, zstd;q=0.5",
                ], body: packed)
            #expect(answer.status == 200)
            #expect(answer.headers["content-encoding"] == "zstd")
            let whole = try answer.body.withUnsafeBytes {
                try SyncCompression.decompress($0, countMax: 1 << 20)
            }
            let told = try WirePushResponse(decoding: whole, as: .protobuf)
            #expect(told.positions == Array(1...200))
            // Responses are compressed only on request.
            let plain = try await it.send(
                "POST", "/v1/push",
                ["Content-Type": "application/x-protobuf", "Accept-Encoding": "zstd;q=0"],
                body: body)
            #expect(plain.headers["content-encoding"] == nil)
            #expect(plain.body.count > 512)
            let damaged = try await it.send(
                "POST", "/v1/push", ["Content-Encoding": "zstd"],
                body: Array(packed.dropLast(3)))
            #expect(damaged.status == 400)
            #expect(try damaged.error().error.code == "altered")
        }
    }

    /// Devices disconnect all the time, so a disconnection must not be logged as an error.
    @Test func disconnectionsAreNotLoggedAsErrors() async throws {
        try await RunningServer.with { it in
            let requests = { it.log.lines.filter { $0.contains("request") } }
            for path in ["/v1/push", "/v1/handshake"] {
                try await onThread {
                    let connection = try it.connect()
                    try connection.writeHead(
                        "POST", path,
                        ["Authorization": "Bearer \(it.token)", "Content-Length": "1000"])
                    try connection.write([1, 2, 3])
                }
            }
            try await eventually("the log of two requests") { requests().count == 2 }
            for line in requests() {
                #expect(line.hasPrefix("info") && line.contains("status=499"), "\(line)")
                #expect(!line.contains("error="))
            }
            #expect(try await it.send("GET", "/metrics").text.contains("status=\"499\"} 1"))
        }
    }

    /// Spaces and tabs around the parts of a header have no meaning.
    @Test func spacesInHeadersAreIgnored() async throws {
        try await RunningServer.with { it in
            var push = WirePushRequest()
            push.lineage = try await it.handshake().lineage
            push.entries = sampleEntries(1, 1...200)
            let body = SyncCompression.compress(try push.encoded(as: .protobuf))
            let answer = try await it.send(
                "POST", "/v1/push",
                [
                    "Authorization": " Bearer  \(it.token) ",
                    "Content-Type": "\tapplication/x-protobuf \t",
                    "Content-Encoding": " zstd ", "Accept-Encoding": "gzip,\tzstd ;q=0.5 ",
                    "Content-Length": " \(body.count) ",
                ], body: body)
            #expect(answer.status == 200)
            #expect(answer.headers["content-encoding"] == "zstd")
        }
    }

    @Test func decompressionBombsAreRefused() async throws {
        try await RunningServer.with { it in
            let bomb = SyncCompression.compress([UInt8](repeating: 0, count: 40 << 20))
            #expect(bomb.count < 1 << 20)
            let answer = try await it.send(
                "POST", "/v1/push", ["Content-Encoding": "zstd"], body: bomb)
            #expect(answer.status == 413)
            #expect(try answer.error().error.code == "tooLarge")
        }
    }

    @Test func requestsWithoutTokenAreRejected() async throws {
        try await RunningServer.with { it in
            for path in ["/v1/handshake", "/v1/lineage", "/v1/push", "/v1/pull", "/v1/live"] {
                let method = path == "/v1/live" ? "GET" : "POST"
                for header in [nil, "Bearer td_wrong", "Basic abc", "Bearer", "Bearer  "] {
                    let answer = try await it.send(
                        method, path, header.map { ["Authorization": $0] } ?? [:],
                        authorized: false)
                    #expect(answer.status == 401)
                    #expect(answer.headers["www-authenticate"] == "Bearer")
                    #expect(try answer.error().error.code == "unauthorized")
                }
            }
            #expect(try await it.send("GET", "/health", authorized: false).status == 200)
            #expect(try await it.send("GET", "/metrics", authorized: false).status == 200)
        }
    }

    @Test func revokedTokensAreRejected() async throws {
        try await RunningServer.with { it in
            let made = try await it.server.storage.createToken(space: "other", name: "phone")
            let headers = ["Authorization": "Bearer \(made.token)"]
            let body = try WireHandshakeRequest.sample().encoded(as: .protobuf)
            let fine = try await it.send("POST", "/v1/handshake", headers, body: body)
            #expect(fine.status == 200)
            try await it.server.storage.revokeToken(made.info.id)
            let ended = try await it.send("POST", "/v1/handshake", headers, body: body)
            #expect(ended.status == 401)
        }
    }

    @Test func invalidRequestsAreRejectedWithTheirError() async throws {
        try await RunningServer.with { it in
            let lineage = try await it.handshake().lineage
            func check(
                _ status: Int, _ code: String, _ method: String, _ path: String,
                _ headers: [String: String] = [:], _ body: [UInt8] = [],
                line: SourceLocation = #_sourceLocation
            ) async throws {
                let answer = try await it.send(method, path, headers, body: body)
                #expect(answer.status == status, sourceLocation: line)
                #expect(try answer.error().error.code == code, sourceLocation: line)
                #expect(try !answer.error().error.message.isEmpty, sourceLocation: line)
            }
            let json = ["Content-Type": "application/json"]
            try await check(404, "notFound", "GET", "/")
            try await check(404, "notFound", "GET", "/v1/handshake/more")
            try await check(405, "malformedRequest", "GET", "/v1/push")
            try await check(405, "malformedRequest", "POST", "/health")
            try await check(405, "malformedRequest", "DELETE", "/v1/live")
            try await check(
                415, "malformedRequest", "POST", "/v1/push", ["Content-Type": "text/plain"])
            try await check(
                415, "malformedRequest", "POST", "/v1/push", ["Content-Encoding": "gzip"])
            try await check(
                415, "malformedRequest", "POST", "/v1/push", ["Transfer-Encoding": "gzip, chunked"])
            for body: [UInt8] in [[], [0xFF, 0xFF, 0xFF], [0x7D, 0, 0, 0, 1]] {
                try await check(400, "altered", "POST", "/v1/push", [:], body)
            }
            // The checksum of this body is valid.
            try await check(
                400, "malformedRequest", "POST", "/v1/push", [:],
                [0xFF, 0xFF, 0xFF, 0x7D, 0x00, 0xFF, 0xFF, 0xFF])
            try await check(
                400, "altered", "POST", "/v1/push", ["Content-Encoding": "zstd"], [1, 2, 3])
            try await check(400, "malformedRequest", "POST", "/v1/push", json, Array("{".utf8))
            try await check(400, "malformedRequest", "POST", "/v1/push", json, Array("{}".utf8))
            try await check(400, "malformedRequest", "POST", "/v1/pull", json, Array("{}".utf8))
            try await check(400, "malformedRequest", "POST", "/v1/lineage", json, Array("{}".utf8))
            try await check(
                400, "malformedRequest", "POST", "/v1/handshake", json,
                Array("{\"protocol\":2}".utf8))
            // A device that uses version 1 sends no checksums.
            var former = WireHandshakeRequest.sample()
            former.protocol = 1
            try await check(
                426, "protocolMismatch", "POST", "/v1/handshake", [:], former.serializedBytes())
            try await check(
                426, "protocolMismatch", "POST", "/v1/handshake", [:],
                former.encoded(as: .protobuf))
            try await check(
                426, "protocolMismatch", "POST", "/v1/handshake", json, Array("{}".utf8))
            // Fields from a newer version are skipped.
            let origin = OriginID.sample(1).data.base64EncodedString()
            let newer = "{\"protocol\":9,\"origin\":\"\(origin)\",\"novelty\":[1]}"
            let answer = try await it.send("POST", "/v1/handshake", json, body: Array(newer.utf8))
            #expect(answer.status == 200)
            #expect(try WireHandshakeResponse(decoding: answer.body, as: .json).lineage == lineage)
        }
    }

    @Test func outdatedLineagesAndCursorsAreConflicts() async throws {
        try await RunningServer.with { it in
            let lineage = try await it.handshake().lineage
            var push = WirePushRequest()
            push.lineage = LineageID.sample(9).data
            let other = try await it.send(
                "POST", "/v1/push", body: try push.encoded(as: .protobuf))
            #expect(other.status == 409)
            #expect(try other.error().error.code == "lineageChanged")
            #expect(try other.error().lineage == lineage)
            var pull = WirePullRequest()
            var cursor = SyncCursor(try #require(LineageID(lineage)))
            cursor.position = 5
            pull.cursor = cursor.wire
            let ahead = try await it.send(
                "POST", "/v1/pull", body: try pull.encoded(as: .protobuf))
            #expect(ahead.status == 409)
            #expect(try ahead.error().error.code == "cursorMismatch")
            var renew = WireLineageRequest()
            renew.cursor = cursor.wire
            renew.origin = OriginID.sample(1).data
            let renewed: WireHandshakeResponse = try await it.exchange("/v1/lineage", renew)
            #expect(renewed.lineage != lineage)
        }
    }

    @Test func bodiesThatAreTooLargeAreRefused() async throws {
        try await RunningServer.with { it in
            // The body is refused because of its announced length, before it arrives.
            for length in [String(64 << 20), String(UInt64.max)] {
                let claimed = try await it.send("POST", "/v1/push", ["Content-Length": length])
                #expect(claimed.status == 413)
                #expect(claimed.headers["connection"] == "close")
            }
            // Without an announced length, the body is refused because of its received length.
            let part = [UInt8](repeating: 0, count: 1 << 20)
            let head = Array("100000\r\n".utf8)
            let answer = try await onThread {
                let connection = try it.connect()
                try connection.writeHead(
                    "POST", "/v1/push",
                    ["Authorization": "Bearer \(it.token)", "Transfer-Encoding": "chunked"])
                for _ in 0..<40 {
                    // The server may disconnect before everything is sent.
                    do { try connection.write(head + part + Array("\r\n".utf8)) } catch { break }
                }
                return try connection.readAnswer()
            }
            #expect(answer.status == 413)
            let small = try await it.send(
                "POST", "/v1/pull", body: [UInt8](repeating: 0, count: 100_000))
            #expect(small.status == 413)
            #expect(try await it.send("GET", "/health").status == 200)
        }
    }

    /// A client that stops sending, or sends a byte a second, would hold a connection and memory
    /// forever.
    @Test(arguments: [[], [0]] as [[UInt8]])
    func bodiesThatStopAreRefused(sent: [UInt8]) async throws {
        let now = Mutex(ContinuousClock.now)
        // Time passes only while nothing arrives.
        let clock = ConnectionClock(
            now: { now.withLock(\.self) }, sleep: { end in now.withLock { $0 = end } })
        try await RunningServer.with(bodyClock: clock) { it in
            let answer = try await onThread {
                let connection = try it.connect()
                try connection.writeHead(
                    "POST", "/v1/push",
                    ["Authorization": "Bearer \(it.token)", "Content-Length": "60000"])
                try connection.write(sent)
                let answer = try connection.readAnswer()
                #expect(connection.isEnded())
                return answer
            }
            #expect(answer.status == 503)
            #expect(answer.headers["connection"] == "close")
            let error = try answer.error().error
            #expect(error.code == "unavailable" && error.message.contains("too slowly"))
            #expect(try await it.send("GET", "/health").status == 200)
        }
    }

    /// A request that is answered before its body has arrived does not hold its connection.
    @Test func answeredRequestsDoNotWaitForTheirBodies() async throws {
        try await RunningServer.with { it in
            let token = ["Authorization": "Bearer \(it.token)"]
            let requests: [(Int, String, String, [String: String])] = [
                (200, "GET", "/health", [:]), (404, "POST", "/nothing", [:]),
                (405, "POST", "/health", [:]), (401, "POST", "/v1/pull", [:]),
                (415, "POST", "/v1/push", token.merging(["Content-Type": "text/plain"]) { $1 }),
            ]
            let bodies = [["Content-Length": "8"], ["Transfer-Encoding": "chunked"]]
            try await onThread {
                var answered: [HTTPConnection] = []
                for (status, method, path, headers) in requests {
                    for body in bodies {
                        let connection = try it.connect()
                        try connection.writeHead(method, path, headers.merging(body) { $1 })
                        let answer = try connection.readAnswer()
                        #expect(answer.status == status && answer.headers["connection"] == "close")
                        answered.append(connection)
                    }
                }
                for connection in answered { #expect(connection.isEnded()) }
            }
        }
    }

    /// If the whole body was read, an error does not cost the client its connection.
    @Test func answeredRequestsKeepTheirConnections() async throws {
        try await RunningServer.with { it in
            let token = ["Authorization": "Bearer \(it.token)"]
            let statuses = try await onThread {
                let connection = try it.connect()
                let requests = [("POST", "/v1/pull", 5), ("POST", "/v1/pull", 0), ("GET", "/", 0)]
                return try requests.map { method, path, count in
                    try connection.writeHead(
                        method, path, token.merging(["Content-Length": "\(count)"]) { $1 })
                    try connection.write([UInt8](repeating: 0xFF, count: count))
                    let answer = try connection.readAnswer()
                    #expect(answer.headers["connection"] != "close")
                    return answer.status
                }
            }
            #expect(statuses == [400, 400, 404])
        }
    }

    @Test(arguments: ["HTTP/1.0\r\n", "HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n"])
    func connectionsThatAreNotKeptAliveAreClosed(_ head: String) async throws {
        try await RunningServer.with { it in
            let isClosed = try await onThread {
                let connection = try it.connect()
                try connection.write(Array("GET /health \(head)\r\n".utf8))
                #expect(try connection.readAnswer().status == 200)
                return connection.isEnded()
            }
            #expect(isClosed)
        }
    }

    /// A client that sends the rest of an unread body can send another request after it.
    @Test func connectionsThatAreBeingClosedRunNoRequests() async throws {
        try await RunningServer.with { it in
            var push = WirePushRequest()
            push.lineage = try await it.handshake().lineage
            push.entries = sampleEntries(1, 1...5)
            let body = try push.encoded(as: .protobuf)
            try await onThread {
                let connection = try it.connect()
                try connection.writeHead("POST", "/v1/push", ["Content-Length": "3"])
                try connection.write([1, 2, 3])
                try connection.writeHead(
                    "POST", "/v1/push",
                    ["Authorization": "Bearer \(it.token)", "Content-Length": "\(body.count)"])
                try connection.write(body)
                let first = try connection.readAnswer()
                #expect(first.status == 401 && first.headers["connection"] == "close")
                // The connection may already be closed.
                if let second = try? connection.readAnswer() {
                    #expect(second.status == 503)
                    #expect(try second.error().error.code == "unavailable")
                }
            }
            #expect(try await it.handshake().head == 0)
        }
    }

    @Test(arguments: [
        "NONSENSE\r\n\r\n", "GET /health HTTP/1.1\r\nno header\r\n\r\n",
        "GET /health HTTP/9.9.9\r\n\r\n",
        "GET /health HTTP/1.1\r\nX: " + String(repeating: "x", count: 20_000) + "\r\n\r\n",
    ])
    func invalidRequestsGetAnError(_ request: String) async throws {
        try await RunningServer.with { it in
            let answer = try await onThread {
                let connection = try it.connect()
                try connection.write(Array(request.utf8))
                return try connection.readAnswer()
            }
            #expect(answer.status == 400)
            let error = try answer.error().error
            #expect(error.code == "malformedRequest" && !error.hint.isEmpty)
            #expect(error.message.contains("does not follow HTTP"))
        }
    }

    /// The status 499 is only for logs and metrics, even if the client only stops sending.
    @Test(arguments: [
        ("Transfer-Encoding", "chunked", "3\r\nabc\r\nno size\r\n", "does not follow HTTP"),
        ("Content-Length", "50", "abc", "ended early"),
    ])
    func invalidBodiesGetAnError(
        _ header: String, _ value: String, _ body: String, _ problem: String
    ) async throws {
        try await RunningServer.with { it in
            let answer = try await onThread {
                let connection = try it.connect()
                try connection.writeHead(
                    "POST", "/v1/push", ["Authorization": "Bearer \(it.token)", header: value])
                try connection.write(Array(body.utf8))
                if header == "Content-Length" { connection.endWriting() }
                return try connection.readAnswer()
            }
            #expect(answer.status == 400)
            let error = try answer.error().error
            #expect(error.code == "malformedRequest" && error.message.contains(problem))
        }
    }

    @Test func responsesToHeadHaveNoBody() async throws {
        try await RunningServer.with { it in
            try await onThread {
                let connection = try it.connect()
                for (path, status) in [("/health", 405), ("/nothing", 404), ("/v1/live", 405)] {
                    try connection.writeHead("HEAD", path, [:])
                    #expect(try connection.readHead().status == status)
                }
                // A body would be read as the response to the next request.
                try connection.writeHead("GET", "/health", [:])
                #expect(try connection.readAnswer().text.contains("ok"))
            }
        }
    }

    @Test func refusedEventsKeepTheirPositions() async throws {
        try await RunningServer.with(eventBytesMax: 300) { it in
            let lineage = try await it.handshake().lineage
            var entries: [UInt8] = []
            for sequence in 1...3 as ClosedRange<UInt64> {
                entries.appendEvent(
                    sampleEvent(EventID(1, sequence), payload: sequence == 2 ? 400 : 10))
            }
            let answer = try await it.push(Data(entries), lineage)
            #expect(answer.positions == [1, 2, 3])
            #expect(answer.refusals.map(\.position) == [2])
            #expect(answer.refusals.map(\.code) == ["tooLarge"])
        }
    }

    @Test func connectionsServeManyRequests() async throws {
        try await RunningServer.with { it in
            let body = try WireHandshakeRequest.sample().encoded(as: .protobuf)
            let statuses = try await onThread {
                let connection = try it.connect()
                return try (0..<50).map { _ in
                    try connection.writeHead(
                        "POST", "/v1/handshake",
                        [
                            "Authorization": "Bearer \(it.token)",
                            "Content-Length": String(body.count),
                        ])
                    try connection.write(body)
                    return try connection.readAnswer().status
                }
            }
            #expect(statuses == Array(repeating: 200, count: 50))
        }
    }

    @Test func metricsCountRequestsAndEntries() async throws {
        try await RunningServer.with { it in
            let lineage = try await it.handshake().lineage
            _ = try await it.push(sampleEntries(1, 1...5), lineage)
            _ = try await it.push(sampleEntries(1, 4...6), lineage)
            _ = try await it.push(sampleEntries(1, 1...6), lineage)
            _ = try await it.send("GET", "/nowhere")
            let text = try await it.send("GET", "/metrics").text
            for line in [
                "tapedeck_requests_total{route=\"/v1/push\",status=\"200\"} 3",
                "tapedeck_requests_total{route=\"other\",status=\"404\"} 1",
                "tapedeck_pushed_entries_total{outcome=\"accepted\"} 6",
                "tapedeck_pushed_entries_total{outcome=\"duplicate\"} 8",
                "tapedeck_entries 6", "tapedeck_spaces 1", "tapedeck_live_connections 0",
                "tapedeck_commits_total 2",
            ] {
                #expect(text.contains(line + "\n"), "\(line) in \(text)")
            }
        }
    }

    @Test func logContainsNoSecrets() async throws {
        try await RunningServer.with { it in
            let lineage = try await it.handshake().lineage
            _ = try await it.push(sampleEntries(1, 1...2, "topsecretnote"), lineage)
            _ = try await it.send(
                "POST", "/v1/push", ["Authorization": "Bearer td_mistyped"], body: [1, 2, 3])
            let lines = it.log.lines.filter { $0.contains("request") }
            #expect(lines.contains { $0.contains("route=/v1/push") && $0.contains("status=200") })
            #expect(lines.contains { $0.contains("code=unauthorized") })
            #expect(lines.contains { $0.contains("space=1") })
            let all = it.log.lines.joined(separator: "\n")
            for secret in [it.token, "td_mistyped", "topsecretnote"] {
                #expect(!all.contains(secret))
            }
        }
    }
}
