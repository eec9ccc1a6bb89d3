internal import Foundation
internal import NIOCore
public import TapedeckModel

/// What the server of a simulator could not do.
public struct SimulatorServerError: CodedError {
    /// What went wrong, for programs.
    public let code: ErrorCode
    /// What went wrong and where.
    public let message: String
    /// What to do about it.
    public let hint: String?
    /// The error below this one.
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
                .busy, "another program listens on \(place)", hint: "choose another port",
                cause: error)
        case EACCES, EPERM:
            self.init(
                .accessDenied, "the system does not let this program listen on \(place)",
                hint: "choose a port above 1023", cause: error)
        default:
            self.init(.unavailable, "cannot listen on \(place)", cause: error)
        }
    }
}
