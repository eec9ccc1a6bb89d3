import Foundation
import Logging
import Synchronization
import TapedeckModel
import TapedeckServer
import TapedeckSyncProtocol
import TestSupport
import Testing

/// A server that runs while a test's body runs.
struct RunningServer: Sendable {
    let server: SyncServer
    let address: SyncServer.Address
    let token: String
    let log: RecordedLog

    static func with(
        eventBytesMax: Int? = nil, directory: String? = nil, keepAlive: Duration = .seconds(15),
        bodyClock: ConnectionClock = ConnectionClock(), name: String = #function,
        _ body: (RunningServer) async throws -> Void
    ) async throws {
        let place = try directory ?? TemporaryDirectory(name).file("server")
        let (addresses, listening) = AsyncStream.makeStream(of: SyncServer.Address.self)
        let log = RecordedLog()
        var configuration = SyncServer.Configuration(
            directory: place, port: 0, eventBytesMax: eventBytesMax, endsOnSignals: false,
            logger: log.logger, onListening: { listening.yield($0) })
        configuration.keepAlive = keepAlive
        configuration.bodyClock = bodyClock
        let server = try SyncServer(configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { listening.finish() }
                try await server.run()
            }
            for await address in addresses {
                let token = try String(contentsOfFile: address.tokenFile, encoding: .utf8)
                    .trimmingCharacters(in: .newlines)
                do {
                    try await body(
                        RunningServer(server: server, address: address, token: token, log: log))
                } catch {
                    await server.shutDown()
                    throw error
                }
                await server.shutDown()
                break
            }
            try await group.waitForAll()
        }
    }

    func connect() throws -> HTTPConnection { try HTTPConnection(port: address.port) }

    /// Sends one request on its own connection.
    func send(
        _ method: String, _ path: String, _ headers: [String: String] = [:], body: [UInt8] = [],
        authorized: Bool = true
    ) async throws -> HTTPAnswer {
        var all = headers
        if authorized, all["Authorization"] == nil { all["Authorization"] = "Bearer \(token)" }
        if method == "POST", all["Content-Length"] == nil, all["Transfer-Encoding"] == nil {
            all["Content-Length"] = String(body.count)
        }
        let fields = all
        return try await onThread {
            let connection = try connect()
            try connection.writeHead(method, path, fields)
            if !body.isEmpty { try connection.write(body) }
            return try connection.readAnswer()
        }
    }

    /// Sends a message and expects status 200.
    func exchange<Answer: WireMessage>(
        _ path: String, _ message: some WireMessage, as format: WireFormat = .protobuf,
        _: Answer.Type = Answer.self
    ) async throws -> Answer {
        let answer = try await send(
            "POST", path, ["Content-Type": format.mediaType], body: try message.encoded(as: format))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.headers["content-type"] == format.mediaType)
        return try Answer(decoding: answer.body, as: format)
    }

    func handshake() async throws -> WireHandshakeResponse {
        try await exchange("/v1/handshake", WireHandshakeRequest.sample())
    }

    func push(_ entries: Data, _ lineage: Data) async throws -> WirePushResponse {
        var request = WirePushRequest()
        request.lineage = lineage
        request.entries = entries
        return try await exchange("/v1/push", request)
    }
}

extension WireHandshakeRequest {
    static func sample() -> WireHandshakeRequest {
        var request = WireHandshakeRequest()
        request.protocol = 2
        request.origin = OriginID.sample(1).data
        return request
    }
}

extension HTTPAnswer {
    /// Returns the error in a response of either format.
    func error() throws -> WireErrorResponse {
        let format = try #require(headers["content-type"].flatMap { WireFormat(mediaType: $0) })
        return try WireErrorResponse(decoding: body, as: format)
    }
}

/// Records all log messages.
final class RecordedLog: Sendable {
    private let kept = Mutex<[String]>([])

    var lines: [String] { kept.withLock { $0 } }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = self.metadata.merging(event.metadata ?? [:]) { $1 }
            let facts = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            log.kept.withLock {
                $0.append("\(event.level) \(event.message) \(facts.joined(separator: " "))")
            }
        }
    }
}
