public import Foundation

/// What all of Tapedeck's errors have: a code to branch on, a sentence, and what to do.
public protocol CodedError: LocalizedError, Sendable, CustomStringConvertible {
    /// What went wrong, for programs.
    var code: ErrorCode { get }
    /// What went wrong and where, as a sentence for people.
    var message: String { get }
    /// What to do about it, or nil where nothing can be said.
    var hint: String? { get }
    /// The error below this one.
    var cause: (any Error)? { get }
}

extension CodedError {
    /// The message.
    public var errorDescription: String? { message }
    /// The hint.
    public var recoverySuggestion: String? { hint }
    /// `code: message (hint)`, and the cause behind it.
    public var description: String {
        var text = "\(code): \(message)"
        if let hint { text += " (\(hint))" }
        if let cause { text += "; because of \(ForeignError.description(cause))" }
        return text
    }
}

/// A value that makes no sense: a tag, a name, a record's bytes.
public struct ModelError: CodedError {
    /// What went wrong, for programs.
    public let code: ErrorCode
    /// What went wrong and where.
    public let message: String
    /// What to do about it.
    public let hint: String?
    /// Always nil: values have no cause below them.
    public var cause: (any Error)? { nil }

    /// Makes an error.
    public init(_ code: ErrorCode, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }
}
