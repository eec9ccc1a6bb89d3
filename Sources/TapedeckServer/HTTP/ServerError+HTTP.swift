internal import Hummingbird
internal import TapedeckModel
internal import TapedeckSyncProtocol

extension ServerError {
    /// The status of an answer; the table stands in `schema/errors.md`.
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

    /// What a client is told; what only the operator can use stays in the log.
    var wire: WireErrorResponse {
        var answer = WireErrorResponse()
        answer.error.code = code.rawValue
        answer.error.message = isOwn ? "the server cannot do that for now" : message
        answer.error.hint = isOwn ? "its log says why" : hint ?? ""
        if let lineage { answer.lineage = lineage.data }
        return answer
    }

    /// Whether the message names files of the server.
    private var isOwn: Bool {
        switch code {
        case .diskFull, .readOnly, .accessDenied, .inputOutput, .mustReopen, .internalError, .busy:
            true
        case .damaged: position == nil
        default: false
        }
    }
}

/// An error with the answer's head that belongs to it.
struct HTTPFailure: Error {
    var error: ServerError
    var status: HTTPResponse.Status
    var headers = HTTPFields()
    /// Whether more of the request's body may come than anybody wants to read.
    var closesConnection = false

    /// The status of a request whose sender has gone: it stands in the log and in the metrics, and nobody hears it.
    ///
    /// The number is the one that nginx uses.
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

    static func methodNotAllowed(_ route: SyncRoute) -> HTTPFailure {
        var failure = HTTPFailure(
            ServerError(
                .malformedRequest, "\(route.rawValue) takes \(route.method.rawValue) only"),
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
