internal import Foundation
internal import NIOCore
public import TapedeckModel

/// A failure of a simulator's server.
public struct SimulatorServerError: CodedError {
    /// The error code.
    public let code: ErrorCode
    /// The error message.
    public let message: String
    /// A suggested remedy.
    public let hint: String?
    /// The underlying error.
    public let cause: (any Error)?

    init(_ code: ErrorCode, _ message: String, hint: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
        self.cause = cause
    }

    init(_ error: IOError, port: Int) {
        let place = "127.0.0.1 port \(port)"
        switch error.errnoCode {
        case EADDRINUSE:
            self.init(
                .busy, "another program is listening on \(place)", hint: "choose another --port",
                cause: error)
        case EACCES, EPERM:
            self.init(
                .accessDenied, "not permitted to listen on \(place)",
                hint: "choose a port above 1023", cause: error)
        default:
            self.init(.unavailable, "cannot listen on \(place)", cause: error)
        }
    }
}
