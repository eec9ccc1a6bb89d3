public import TapedeckModel

/// What a store could not do; what the rooms below throw, under one name.
public struct StoreError: CodedError {
    /// What went wrong, for programs.
    public let code: ErrorCode
    /// What went wrong and where.
    public let message: String
    /// What to do about it.
    public let hint: String?
    /// The error below this one.
    public let cause: (any Error)?

    /// Gives any error this name.
    public init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as any CodedError:
            code = error.code
            message = error.message
            hint = error.hint
            cause = error
        default:
            code = .internalError
            message = ForeignError.text(error)
            hint = nil
            cause = error
        }
    }

    static func wrapping<R>(_ body: () throws -> R) throws(StoreError) -> R {
        do { return try body() } catch { throw StoreError(error) }
    }
}
