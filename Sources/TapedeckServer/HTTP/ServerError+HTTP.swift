internal import Hummingbird
internal import TapedeckModel
internal import TapedeckSyncProtocol

extension ServerError {
    /// The status of the response; see the table in `schema/errors.md`.
    var status: HTTPResponse.Status {
        switch code {
        case .unauthorized: .unauthorized
        case .malformedRequest, .usage, .altered: .badRequest
        case .notFound: .notFound
        case .lineageChanged, .cursorMismatch: .conflict
        case .tooLarge: .contentTooLarge
        case .protocolMismatch: .upgradeRequired
        case .throttled: .tooManyRequests
        case .unavailable, .busy, .mustReopen: .serviceUnavailable
        case .diskFull: HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
        default: .internalServerError
        }
    }

    /// The error as sent to the client, without details that are useful only to the operator.
    var wire: WireErrorResponse {
        var answer = WireErrorResponse()
        answer.error.code = code.rawValue
        answer.error.message = isOwn ? "the server cannot do this at the moment" : message
        answer.error.hint = isOwn ? "see the server's log" : hint ?? ""
        if let lineage { answer.lineage = lineage.data }
        return answer
    }

    /// Whether the message may contain the names of files on the server.
    private var isOwn: Bool {
        switch code {
        case .diskFull, .readOnly, .accessDenied, .inputOutput, .mustReopen, .internalError, .busy:
            true
        case .damaged: position == nil
        default: false
        }
    }
}

/// An error with the status and headers of its response.
struct HTTPFailure: Error {
    var error: ServerError
    var status: HTTPResponse.Status
    var headers = HTTPFields()

    /// The status of a request whose client has disconnected, used only in logs and metrics.
    ///
    /// nginx uses the same status code. A client that only stopped sending receives `sent`.
    static let clientGone = HTTPResponse.Status(code: 499, reasonPhrase: "Client Closed Request")

    init(_ error: ServerError, status: HTTPResponse.Status? = nil) {
        self.error = error
        self.status = status ?? error.status
        switch self.status {
        case .unauthorized: headers[.wwwAuthenticate] = "Bearer"
        case .tooManyRequests, .serviceUnavailable:
            headers[.retryAfter] = String(ServerLimits.retryAfterSeconds)
        case .upgradeRequired: headers[.upgrade] = "tapedeck-sync/\(SyncLimits.protocolVersion)"
        default: break
        }
    }

    /// The failure as it is sent to the client.
    var sent: HTTPFailure {
        guard status == HTTPFailure.clientGone else { return self }
        return HTTPFailure(
            ServerError(
                .malformedRequest, "the body of the request ended early",
                hint: "send as many bytes as the headers announce"))
    }

    static func methodNotAllowed(_ route: SyncRoute) -> HTTPFailure {
        var failure = HTTPFailure(
            ServerError(
                .malformedRequest, "\(route.rawValue) accepts only \(route.method.rawValue)"),
            status: .methodNotAllowed)
        failure.headers[.allow] = route.method.rawValue
        return failure
    }

    static func notFound(_ path: String) -> HTTPFailure {
        HTTPFailure(ServerError(.notFound, "there is no \(path.prefix(80))"))
    }

    static func unsupported(_ what: String, _ hint: String) -> HTTPFailure {
        HTTPFailure(
            ServerError(.malformedRequest, what, hint: hint), status: .unsupportedMediaType)
    }
}
