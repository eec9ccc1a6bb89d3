internal import TapedeckModel

/// What a command could not do.
struct CommandError: CodedError {
    let code: ErrorCode
    let message: String
    let hint: String?
    let cause: (any Error)?

    init(_ code: ErrorCode, _ message: String, hint: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
        self.cause = cause
    }

    /// Any error under this name; what is not coded is a defect of ours.
    init(_ error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as any CodedError:
            self.init(error.code, error.message, hint: error.hint, cause: error.cause)
        default:
            self.init(.internalError, ForeignError.text(error), cause: error)
        }
    }

    /// The same with more said about what was done before it.
    func adding(_ text: String) -> CommandError {
        CommandError(code, "\(message); \(text)", hint: hint, cause: cause)
    }
}

/// A command that has printed its report and ends with a code other than 0.
struct ReportedFailure: Error {
    /// How the program exits.
    let exit: ExitClass
    /// What is said on stderr, where something is.
    let error: CommandError?

    init(_ exit: ExitClass, _ error: CommandError? = nil) {
        self.exit = exit
        self.error = error
    }
}

extension CommandError {
    /// The value of `error` in JSON.
    var json: JSON {
        ["code": .text(code.rawValue), "message": .text(message), "hint": .init(hint)]
    }
}
