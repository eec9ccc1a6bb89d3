import Foundation
import TapedeckLog
import TapedeckModel
import TapedeckSyncProtocol
import TestSupport
import Testing

@testable import TapedeckSync

/// Whatever a server responds, the error of a sync has a code for failures of a remote (exit 7).
@Suite(.offTasks) struct RefusedSyncTests {
    private static let statuses = [
        301, 302, 400, 401, 403, 404, 405, 409, 410, 411, 413, 415, 418, 426, 429, 431, 451, 499,
        500, 501, 502, 503, 504, 507, 599,
    ]

    private func error(
        _ log: EventLog, _ status: Int, _ body: [UInt8], type: String
    ) async throws -> SyncError? {
        let head =
            "HTTP/1.1 \(status) Refused\r\nContent-Type: \(type)\r\n"
            + "Content-Length: \(body.count)\r\n\r\n"
        let server = try RawServer(Array(head.utf8) + body)
        defer { server.stop() }
        let engine = try SyncEngine(log, server: server.url, token: "token")
        return await #expect(throws: SyncError.self) { try await engine.preview() }
    }

    @Test func everyStatusIsAFailureOfTheServer() async throws {
        let directory = try TemporaryDirectory()
        let log = try EventLog.create(directory.file("store"))
        defer { log.close() }
        for status in Self.statuses {
            let page = try await error(
                log, status, Array("<html></html>".utf8), type: "text/html")
            #expect(page?.code.exit == .remote, "\(status)")
            #expect(page?.hint != nil, "\(status)")
        }
    }

    @Test(arguments: [400, 404, 413, 507])
    func everyCodeIsAFailureOfTheServer(_ status: Int) async throws {
        let directory = try TemporaryDirectory()
        let log = try EventLog.create(directory.file("store"))
        defer { log.close() }
        for code in ErrorCode.table.map(\.code.rawValue) + ["someNewerCode"] {
            var answer = WireErrorResponse()
            answer.error.code = code
            answer.error.message = "the server cannot do this"
            let error = try await error(
                log, status, answer.encoded(as: .protobuf), type: WireFormat.protobuf.mediaType)
            #expect(error?.code.exit == .remote, "\(code)")
            #expect(error?.message.contains("the server cannot do this") == true)
        }
    }
}
