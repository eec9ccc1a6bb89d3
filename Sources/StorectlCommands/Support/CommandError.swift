internal import TapedeckModel

/// The error that a command reports.
struct CommandError: CodedError {
    let code: ErrorCode
    let message: String
    /// The hint, with complete commands.
    let hint: String?
    let cause: (any Error)?

    init(_ code: ErrorCode, _ message: String, hint: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.hint = hint.map { PrintedCommand.completed($0) }
        self.cause = cause
    }

    /// Wraps any error; an error without a code is a bug in this program and becomes
    /// `.internalError`.
    init(_ error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as any CodedError:
            self.init(error.code, error.message, hint: error.hint, cause: error.cause)
        default:
            self.init(.internalError, ForeignError.text(error), cause: error)
        }
    }

    /// Returns the error with text appended to its message, such as a note on the work already
    /// done.
    func adding(_ text: String) -> CommandError {
        CommandError(code, "\(message); \(text)", hint: hint, cause: cause)
    }

    /// Returns the error with the failed action before its message.
    func adding(before text: String) -> CommandError {
        CommandError(code, "\(text): \(message)", hint: hint, cause: cause)
    }
}

/// Thrown by a command that has printed its report, to exit with a code other than 0.
struct ReportedFailure: Error {
    /// The exit code.
    let exit: ExitClass
    /// The error to print to stderr; nil if there is none.
    let error: CommandError?

    init(_ exit: ExitClass, _ error: CommandError? = nil) {
        self.exit = exit
        self.error = error
    }
}

extension CommandError {
    /// The value of `error` in JSON reports.
    var json: JSON {
        ["code": .text(code.rawValue), "message": .text(message), "hint": .init(hint)]
    }
}
