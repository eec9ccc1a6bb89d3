public import TapedeckModel

/// An error reported by a store, which may wrap an error from an underlying module.
public struct StoreError: CodedError {
    /// The error code.
    public let code: ErrorCode
    /// The error message, including the file or position concerned.
    public let message: String
    /// The suggested action.
    public let hint: String?
    /// The underlying error.
    public let cause: (any Error)?

    /// Creates a store error from any other error.
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
