import CSQLite
import Foundation
import Hummingbird
import Logging
import NIOCore

/// A service that inserts an event per request and responds with its position: `sqlite-service
/// DIR`.
///
/// Once the service is listening, it prints a line of JSON, as `storectl serve` does. The service
/// accepts only one token, whereas Tapedeck's server looks up each token.
@main
struct SQLiteService {
    static func main() async throws {
        guard CommandLine.arguments.count == 2 else {
            FileHandle.standardError.write(Data("usage: sqlite-service DIR\n".utf8))
            exit(64)
        }
        let directory = CommandLine.arguments[1]
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let token = "\(UInt64.random(in: .min ... .max))"
        let tokenFile = directory + "/token"
        try token.write(toFile: tokenFile, atomically: true, encoding: .utf8)

        let responder = EventResponder(
            writer: try EventWriter(path: directory + "/events.sqlite"), token: "Bearer " + token)
        var logger = Logger(label: "sqlite-service")
        logger.logLevel = .warning
        let application = Application(
            responder: responder,
            configuration: .init(address: .hostname("127.0.0.1", port: 0), backlog: 1_024),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                print(
                    "{\"url\":\"http://127.0.0.1:\(port)\",\"tokenFile\":\"\(tokenFile)\","
                        + "\"version\":\"SQLite \(SQLITE_VERSION)\"}")
                fflush(nil)
            },
            logger: logger)
        try await application.runService()
    }
}

/// `POST /events`: 201 and the position, 8 bytes, little-endian.
///
/// Like Tapedeck's server, the service has no router.
struct EventResponder: HTTPResponder {
    typealias Context = BasicRequestContext

    private static let bodyBytesMax = 1 << 20

    let writer: EventWriter
    let token: String

    func respond(to request: Request, context: Context) async throws -> Response {
        guard request.method == .post, request.uri.path == "/events" else {
            return Response(status: .notFound)
        }
        guard request.headers[.authorization] == token else {
            return Response(status: .unauthorized)
        }
        let body = try await request.body.collect(upTo: EventResponder.bodyBytesMax)
        guard let event = PostedEvent([UInt8](body.readableBytesView)) else {
            return Response(status: .badRequest)
        }
        do {
            var answer = ByteBuffer()
            answer.writeInteger(try await writer.add(event), endianness: .little)
            return Response(
                status: .created, headers: [.contentType: "application/octet-stream"],
                body: ResponseBody(byteBuffer: answer))
        } catch {
            context.logger.error("\(error)")
            return Response(status: .internalServerError)
        }
    }
}
