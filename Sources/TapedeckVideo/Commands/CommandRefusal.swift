public import TapedeckModel

/// A reason why a command cannot be executed in the current state.
///
/// Each command has its own type, so that an app can distinguish the cases. `localizedDescription`
/// is a message for users; `code` is the error code, for apps that treat all refusals alike.
public protocol CommandRefusal: CodedError, Hashable {}

extension CommandRefusal {
    /// By default `.conditionFailed`: the current state does not allow the command.
    public var code: ErrorCode { .conditionFailed }
    /// Nil by default.
    public var hint: String? { nil }
    /// Always nil, because a refusal has no underlying error.
    public var cause: (any Error)? { nil }
    /// The message.
    public var description: String { message }
}
