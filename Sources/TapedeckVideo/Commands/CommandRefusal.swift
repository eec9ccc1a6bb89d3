public import TapedeckModel

/// Why a command is not to be done: what the state of things does not allow.
///
/// Each command has a type of its own, so that an app can tell the cases apart; `localizedDescription` says each
/// as a sentence for people, and `code` which kind of error it is where all are treated alike.
public protocol CommandRefusal: CodedError, Hashable {}

extension CommandRefusal {
    /// `.conditionFailed`: what is known does not allow it.
    public var code: ErrorCode { .conditionFailed }
    /// Nil: nothing can be said.
    public var hint: String? { nil }
    /// Nil: there is no error below a refusal.
    public var cause: (any Error)? { nil }
    /// The message.
    public var description: String { message }
}
