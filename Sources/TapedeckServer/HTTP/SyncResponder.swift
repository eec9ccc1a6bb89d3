internal import Foundation
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import TapedeckModel
internal import TapedeckSyncProtocol

/// Handles requests: authorizes them, runs them and renders the responses.
///
/// Every response other than 2xx is a `WireErrorResponse`. Requests are checked in this order:
/// capacity, path, method, token, media types, length, message. The body of a request without a
/// valid token is never read.
struct SyncResponder: HTTPResponder {
    typealias Context = SyncRequestContext

    let storage: any ServerStorage
    let live: LiveConnections
    let metrics: ServerMetrics
    let gate: RequestGate
    let logger: Logger
    /// Whether `/metrics` also requires a token.
    let protectsMetrics: Bool
    let deadlines: BodyDeadlines

    /// The facts about a request that go into logs and metrics.
    private struct Record {
        var route: SyncRoute?
        var space: SpaceID?
        let body = BodyProgress()
        var failure: HTTPFailure?
    }

    func respond(to request: Request, context: Context) async throws -> Response {
        let start = ContinuousClock.now
        var record = Record()
        var response: Response
        do {
            try gate.enter(context.connection)
            defer { gate.leave() }
            response = try await answer(request, context, &record)
        } catch {
            let failure = error as? HTTPFailure ?? HTTPFailure(ServerError(wrapping: error))
            record.failure = failure
            response = render(failure, to: request)
        }
        // `Content-Length` remains, but a response to HEAD has no body.
        if request.method == .head { response = response.createHeadResponse() }
        response.headers[.cacheControl] = "no-store"
        // Otherwise, a client could hold the connection by sending the rest of the body slowly.
        if request.hasBody, !record.body.isWhole {
            response.headers[.connection] = "close"
            context.closeSoon(gate)
        }
        let sent = response.body.contentLength ?? 0
        let status = record.failure?.status ?? response.status
        metrics.count(
            route: record.route, status: status.code, received: record.body.received, sent: sent)
        log(request, status, record, sent: sent, took: ContinuousClock.now - start)
        return response
    }

    private func answer(
        _ request: Request, _ context: Context, _ record: inout Record
    ) async throws -> Response {
        guard let route = SyncRoute(rawValue: request.uri.path) else {
            throw HTTPFailure.notFound(request.uri.path)
        }
        record.route = route
        guard request.method == route.method else { throw HTTPFailure.methodNotAllowed(route) }
        switch route {
        case .health:
            try storage.checkHealth()
            return Response(
                status: .ok, headers: [.contentType: WireFormat.json.mediaType],
                body: .init(byteBuffer: ByteBuffer(string: "{\"status\":\"ok\"}\n")))
        case .metrics:
            if protectsMetrics { _ = try await authorize(request) }
            let text = metrics.text(try await storage.counts(), live: live.count)
            return Response(
                status: .ok,
                headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: .init(byteBuffer: ByteBuffer(string: text)))
        case .live:
            let (space, token) = try await authorize(request)
            record.space = space
            return try await LiveAnswer(
                storage: storage, live: live, metrics: metrics, space: space, token: token
            ).response()
        case .handshake, .lineage, .push, .pull:
            let (space, _) = try await authorize(request)
            record.space = space
            return try await exchange(route, space, request, context, record.body)
        }
    }

    /// Returns the space that the request's token grants access to.
    private func authorize(_ request: Request) async throws -> (SpaceID, String) {
        guard let header = request.headers[.authorization] else {
            throw unauthorized("the request has no token")
        }
        let words = header.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw unauthorized("the request has no bearer token")
        }
        let token = String(words[1].drop { $0 == " " })
        guard let space = try await storage.space(forToken: token) else {
            throw unauthorized("the token is unknown or revoked")
        }
        return (space, token)
    }

    private func unauthorized(_ what: String) -> ServerError {
        ServerError(
            .unauthorized, what,
            hint: "create one with storectl token create, and send Authorization: Bearer TOKEN")
    }

    // MARK: - Messages

    private func exchange(
        _ route: SyncRoute, _ space: SpaceID, _ request: Request, _ context: Context,
        _ body: BodyProgress
    ) async throws -> Response {
        let headers = try BodyHeaders(request.headers)
        let held = HeldBytes(gate)
        let bytes = try await request.collect(
            headers, bytesMax: route.bodyBytesMax, deadlines, held, body,
            stop: context.stopReading)
        switch route {
        case .handshake:
            let message = try WireHandshakeRequest(decoding: bytes, as: headers.format)
            return try render(try await handshake(message, space), headers)
        case .lineage:
            let message = try WireLineageRequest(decoding: bytes, as: headers.format)
            let cursor = try cursor(message.hasCursor ? message.cursor : nil)
            _ = try origin(message.origin)
            return try render(
                try await storage.renewLineage(
                    space, cursor: cursor, proof: try proof(message.receipt),
                    hasReturned: message.hasReturned_p), headers)
        case .push:
            let message = try WirePushRequest(decoding: bytes, as: headers.format)
            return try render(try await push(message, space), headers)
        case .pull:
            let message = try WirePullRequest(decoding: bytes, as: headers.format)
            let answer = try await storage.pull(
                space, after: try cursor(message.hasCursor ? message.cursor : nil),
                bytesMax: Int(clamping: message.bytesMax),
                held: message.origin.isEmpty
                    ? nil
                    : EventID(origin: try origin(message.origin), sequence: message.originAfter))
            return try render(answer, headers, holding: HeldBytes(gate))
        case .live, .health, .metrics:
            throw HTTPFailure.methodNotAllowed(route)
        }
    }

    private func proof(_ bytes: Data) throws -> Receipt? {
        if bytes.isEmpty { return nil }
        let receipt = bytes.withUnsafeBytes { bytes -> Receipt? in
            var reader = ByteReader(bytes)
            let receipt = reader.receipt()
            return reader.isAtEnd ? receipt : nil
        }
        guard let receipt else {
            throw ServerError(.malformedRequest, "the receipt cannot be decoded")
        }
        return receipt
    }

    private func handshake(
        _ message: WireHandshakeRequest, _ space: SpaceID
    ) async throws -> WireHandshakeResponse {
        guard message.protocol >= SyncLimits.protocolVersion else {
            throw ServerError(
                .protocolMismatch,
                "the device uses protocol version \(message.protocol); this server uses version"
                    + " \(SyncLimits.protocolVersion)", hint: "upgrade the program on the device")
        }
        _ = try origin(message.origin)
        return try await storage.handshake(space)
    }

    private func push(
        _ message: WirePushRequest, _ space: SpaceID
    ) async throws -> WirePushResponse {
        guard let lineage = LineageID(message.lineage) else {
            throw ServerError(.malformedRequest, "a lineage must be 16 bytes")
        }
        guard message.entries.count <= SyncLimits.pushBytesMax else {
            throw ServerError(
                .tooLarge, "the push is larger than \(SyncLimits.pushBytesMax) bytes",
                hint: "send smaller pushes")
        }
        let answer = try await storage.push(
            space, lineage: lineage, entries: message.entries, bases: message.bases)
        metrics.count(answer)
        return answer
    }

    private func cursor(_ wire: WireCursor?) throws(ServerError) -> SyncCursor {
        guard let wire, let cursor = SyncCursor(wire) else {
            throw ServerError(
                .malformedRequest,
                "a cursor needs a lineage and a digest of 16 bytes each, and a position")
        }
        return cursor
    }

    private func origin(_ bytes: Data) throws(ServerError) -> OriginID {
        guard let origin = OriginID(bytes) else {
            throw ServerError(.malformedRequest, "an origin must be 16 bytes")
        }
        return origin
    }

    // MARK: - Answers

    /// Renders a successful response.
    ///
    /// - Parameter held: Counts the bytes of a large response until the client has received it.
    private func render(
        _ message: some WireMessage, _ headers: BodyHeaders, holding held: HeldBytes? = nil
    ) throws -> Response {
        var bytes = try message.encoded(as: headers.answers)
        var fields: HTTPFields = [.contentType: headers.answers.mediaType]
        if headers.takesCompressed, bytes.count >= SyncLimits.compressedBytesMin {
            bytes = SyncCompression.compress(bytes)
            fields[.contentEncoding] = SyncCompression.coding
        }
        let buffer = ByteBuffer(bytes: bytes)
        guard let held, bytes.count > ServerLimits.smallBodyBytesMax else {
            return Response(status: .ok, headers: fields, body: .init(byteBuffer: buffer))
        }
        try held.add(bytes.count)
        return Response(
            status: .ok, headers: fields,
            body: ResponseBody(contentLength: bytes.count) { [held] writer in
                // The bytes count as memory in use until the body is written or abandoned.
                defer { withExtendedLifetime(held) {} }
                try await writer.write(buffer)
                try await writer.finish(nil)
            })
    }

    private func render(_ failure: HTTPFailure, to request: Request) -> Response {
        let format = BodyHeaders(tolerating: request.headers).answers
        // Strings and bytes can always be encoded.
        let failure = failure.sent
        let bytes = (try? failure.error.wire.encoded(as: format)) ?? []
        var headers = failure.headers
        headers[.contentType] = format.mediaType
        return Response(
            status: failure.status, headers: headers,
            body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    // MARK: - Logging

    private func log(
        _ request: Request, _ status: HTTPResponse.Status, _ record: Record, sent: Int,
        took: Duration
    ) {
        let isOwnFault = status.code >= 500
        let level: Logger.Level =
            switch status {
            case HTTPFailure.clientGone: .info
            case _ where record.failure == nil: .info
            default: isOwnFault ? .error : .notice
            }
        guard level >= logger.logLevel else { return }
        var facts: Logger.Metadata = [
            "method": "\(request.method.rawValue)",
            "route": "\(record.route?.rawValue ?? "other")", "status": "\(status.code)",
            "milliseconds": "\(took / .milliseconds(1))", "received": "\(record.body.received)",
            "sent": "\(sent)",
        ]
        if let space = record.space { facts["space"] = "\(space)" }
        if let error = record.failure?.error {
            facts["code"] = "\(error.code)"
            if isOwnFault { facts["error"] = "\(error)" }
        }
        logger.log(level: level, "request", metadata: facts)
    }
}
