public import Foundation

/// The common interface of all Tapedeck errors: a code to branch on, a message and a hint.
public protocol CodedError: LocalizedError, Sendable, CustomStringConvertible {
    /// The error code, for programs to branch on.
    var code: ErrorCode { get }
    /// A description of the error and its location, for people to read.
    var message: String { get }
    /// A suggestion for solving the problem; nil if there is none.
    var hint: String? { get }
    /// The underlying error; nil if there is none.
    var cause: (any Error)? { get }
}

extension CodedError {
    /// The message.
    public var errorDescription: String? { message }
    /// The hint.
    public var recoverySuggestion: String? { hint }
    /// `code: message (hint)`, followed by the cause.
    public var description: String {
        var text = "\(code): \(message)"
        if let hint { text += " (\(hint))" }
        if let cause { text += "; cause: \(ForeignError.description(cause))" }
        return text
    }
}

/// An error about an invalid value, such as a tag, a name or the bytes of a record.
public struct ModelError: CodedError {
    /// The error code, for programs to branch on.
    public let code: ErrorCode
    /// A description of the error and its location, for people to read.
    public let message: String
    /// A suggestion for solving the problem; nil if there is none.
    public let hint: String?
    /// Always nil, because there is no underlying error.
    public var cause: (any Error)? { nil }

    /// Creates an error.
    public init(_ code: ErrorCode, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }
}
