internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import TapedeckModel

/// Why a request over HTTP came to nothing, for people.
///
/// The libraries below tell it in their own words, with the names of their types and with the values that they could not
/// use, which may be secrets; so nothing of these words is passed on. Some of the types are not to be named here, so they
/// are told by their descriptions.
struct HTTPFailure {
    let code: ErrorCode
    let message: String
    let hint: String?
    /// Whether no connection came about, so that nothing can have arrived.
    var isUnsent = false

    private static let hintToLook = "see that it runs and that the address is right"

    /// - Parameter base: the address that was asked.
    init(_ error: any Error, at base: String) {
        let text = String(describing: error)
        let type = String(reflecting: Swift.type(of: error))
        func failure(_ what: String, hint: String?, isUnsent: Bool = false) -> HTTPFailure {
            HTTPFailure(code: .offline, message: "\(base) \(what)", hint: hint, isUnsent: isUnsent)
        }
        switch error {
        case let error as IOError:
            self = failure(
                "cannot be reached: \(String(cString: strerror(error.errnoCode)))",
                hint: HTTPFailure.hintToLook,
                isUnsent: [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH].contains(error.errnoCode))
        case let error as HTTPClientError where error == .connectTimeout:
            self = failure(
                "cannot be reached: no connection came about in time",
                hint: HTTPFailure.hintToLook, isUnsent: true)
        case let error as HTTPClientError
        where error == .readTimeout || error == .deadlineExceeded || error == .writeTimeout:
            self = failure(
                "does not answer", hint: "see that it is not stuck, and that it is the right server"
            )
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            self = failure(
                "has closed the connection without an answer",
                hint: "see that it runs, and that the address is the right server's")
        case is NIOTooManyBytesError:
            self = HTTPFailure(
                code: .malformedRequest, message: "\(base) answers more than any answer holds",
                hint: "check that the address is the right server's")
        default:
            if type.contains("NIOSSL") || text.contains("BoringSSL") {
                self = failure(
                    "does not speak TLS, or its certificate is not trusted",
                    hint: base.hasPrefix("https://127.0.0.1") || base.hasPrefix("https://localhost")
                        ? "a server on this machine is reached by http://"
                        : "see that it serves https with a certificate that is trusted here")
            } else if type.contains("HTTPParserError") {
                self = failure(
                    "answers what is no HTTP", hint: "check that the address is the right server's")
            } else if text.contains("UnknownHost") || text.contains("DNS") {
                self = failure(
                    "cannot be reached: its name leads nowhere",
                    hint: "check the name, and that there is a network", isUnsent: true)
            } else if type.contains("NIOConnectionError") || type.contains("NWPOSIXError") {
                // No connection came about, to any of the host's addresses.
                self = failure(
                    "cannot be reached: \(text.contains("refused") ? "Connection refused" : "no connection came about")",
                    hint: HTTPFailure.hintToLook, isUnsent: true)
            } else {
                self = failure(
                    "cannot be reached: the connection broke", hint: HTTPFailure.hintToLook)
            }
        }
    }

    private init(code: ErrorCode, message: String, hint: String?, isUnsent: Bool = false) {
        (self.code, self.message, self.hint) = (code, message, hint)
        self.isUnsent = isUnsent
    }

    /// What a session takes in.
    var failure: SyncFailure {
        var failure = SyncFailure(code, message, hint: hint)
        failure.isUnsent = isUnsent
        return failure
    }
}
