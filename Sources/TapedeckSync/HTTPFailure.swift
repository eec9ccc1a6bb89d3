internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import TapedeckModel

/// A readable reason why an HTTP request failed.
///
/// Error messages from the libraries contain type names and rejected values, which may be secrets,
/// so the messages are never passed on. Some error types are not public, so they are recognized by
/// their descriptions.
struct HTTPFailure {
    let code: ErrorCode
    let message: FailureText
    let hint: String?
    /// Whether the request cannot have arrived, because no connection was made.
    var isUnsent = false
    /// Whether a header of the response was invalid.
    private var hasInvalidHeader = false

    private static let hintToLook =
        "check that the server is running and that the address is correct"

    private static let hintToCheckAddress = "check the address of the server"

    /// - Parameter base: The address of the server.
    init(_ error: any Error, at base: String) {
        let text = String(describing: error)
        let type = String(reflecting: Swift.type(of: error))
        func failure(
            _ what: FailureText, hint: String?, isUnsent: Bool = false
        ) -> HTTPFailure {
            HTTPFailure(
                code: .offline, message: "\(own: base) \(what)", hint: hint, isUnsent: isUnsent)
        }
        switch error {
        case let error as IOError:
            self = failure(
                "cannot be reached: \(own: String(cString: strerror(error.errnoCode)))",
                hint: HTTPFailure.hintToLook,
                isUnsent: [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH].contains(error.errnoCode))
        case let error as HTTPClientError where error == .connectTimeout:
            self = failure(
                "cannot be reached: the connection timed out",
                hint: HTTPFailure.hintToLook, isUnsent: true)
        case let error as HTTPClientError
        where error == .readTimeout || error == .deadlineExceeded || error == .writeTimeout:
            self = failure(
                "does not respond",
                hint: "check that the address is correct and that the server is not stuck")
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            self = failure(
                "closed the connection without responding",
                hint: HTTPFailure.hintToLook)
        case HTTPBodyError.tooSlow:
            self = failure(
                "sends its response too slowly",
                hint: "check the network connection, and check that the server is not stuck")
        case HTTPBodyError.tooLarge:
            self = HTTPFailure(
                code: .malformedRequest, message: "\(own: base) sent a response that is too large",
                hint: HTTPFailure.hintToCheckAddress)
        case HTTPHeadError.invalidStatus(let status):
            self = failure(
                "responded with the invalid status \(status)", hint: HTTPFailure.hintToCheckAddress)
        case HTTPHeadError.tooManyInterim:
            self = failure(
                "sent too many interim responses", hint: HTTPFailure.hintToCheckAddress)
        default:
            if type.contains("NIOSSL") || text.contains("BoringSSL") {
                self = failure(
                    "does not speak TLS, or its certificate is not trusted",
                    hint: base.hasPrefix("https://127.0.0.1") || base.hasPrefix("https://localhost")
                        ? "use http:// for a server on this machine"
                        : "check that it serves https with a certificate that this machine trusts")
            } else if type.contains("HTTPParserError"), text.contains("character in header") {
                self = failure(
                    "sent a response with an invalid character in a header",
                    hint: "report this to the operator of the server")
                hasInvalidHeader = true
            } else if type.contains("HTTPParserError") {
                self = failure(
                    "does not respond with HTTP", hint: HTTPFailure.hintToCheckAddress)
            } else if text.contains("UnknownHost") || text.contains("DNS") {
                self = failure(
                    "cannot be reached: its host name does not resolve",
                    hint: "check the name and the network connection", isUnsent: true)
            } else if type.contains("NIOConnectionError") || type.contains("NWPOSIXError") {
                // No connection could be made to any address of the host.
                self = failure(
                    "cannot be reached: \(own: text.contains("refused") ? "Connection refused" : "no connection could be made")",
                    hint: HTTPFailure.hintToLook, isUnsent: true)
            } else {
                self = failure(
                    "cannot be reached: the connection was lost", hint: HTTPFailure.hintToLook)
            }
        }
    }

    private init(code: ErrorCode, message: FailureText, hint: String?, isUnsent: Bool = false) {
        (self.code, self.message, self.hint) = (code, message, hint)
        self.isUnsent = isUnsent
    }

    /// The failure as a `SyncFailure`.
    var failure: SyncFailure {
        var failure = SyncFailure(code, message, hint: hint)
        failure.isUnsent = isUnsent
        failure.hasInvalidHeader = hasInvalidHeader
        return failure
    }
}
