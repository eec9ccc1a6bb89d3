import Foundation
import TapedeckLog
import TapedeckModel
import TapedeckSyncProtocol
import TestSupport
import Testing

@testable import TapedeckSync

/// Whatever a server responds, the error of a sync has a code for failures of a remote (exit 7) and
/// a hint.
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

    @Test func storesWithSampleEventsAreNotSynced() throws {
        let directory = try TemporaryDirectory()
        let log = try EventLog.create(directory.file("store"))
        defer { log.close() }
        try log.appendBlocking([
            ProposedEvent(type: "Noted", tags: [EventLog.sampleTag], payload: [1])
        ])
        let error = #expect(throws: LogError.self) {
            try SyncEngine(log, server: "http://127.0.0.1:1", token: "token")
        }
        #expect(error?.code == .usage && error?.message.contains("sample events") == true)
        #expect(error?.hint?.isEmpty == false)
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
            #expect(error?.hint?.isEmpty == false, "\(code)")
        }
    }

    /// A one-time sync ends if the server asks for a long wait.
    @Test(arguments: [429, 503]) func longWaitIsAFailureWithAHint(_ status: Int) async throws {
        let directory = try TemporaryDirectory()
        let log = try EventLog.create(directory.file("store"))
        defer { log.close() }
        let server = try RawServer(
            "HTTP/1.1 \(status) Later\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n")
        defer { server.stop() }
        let report = try await SyncEngine(log, server: server.url, token: "token").run()
        #expect(report.until != nil)
        #expect(report.failure?.code == (status == 429 ? .throttled : .unavailable))
        #expect(report.failure?.hint?.isEmpty == false)
    }

    /// Connectors do not add general hints, because a failed login has better ones.
    @Test func everyFailureOfARemoteGetsAHint() throws {
        let remote = Remote(name: "home", system: "shelby", url: "https://a.example", parts: [])
        for status in Self.statuses {
            let failure = try #require(RemoteResponse(status: status).failure)
            let error = SyncError(failure.ofRemote.naming(remote))
            #expect(error.code.exit == .remote, "\(status)")
            #expect(error.hint?.isEmpty == false, "\(status)")
            if ![301, 302, 401, 403].contains(status) { #expect(failure.hint == nil, "\(status)") }
        }
        for code in ErrorCode.table.map(\.code) + [ErrorCode(rawValue: "someNewerCode")] {
            #expect(SyncError(SyncFailure(code, "refused")).hint?.isEmpty == false, "\(code)")
            #expect(SyncError(SyncFailure(code, "refused", hint: "own")).hint == "own")
        }
    }
}
