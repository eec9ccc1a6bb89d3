internal import TapedeckLMDB
internal import TapedeckLog
public import TapedeckModel

/// An error from a projection or its runner.
public struct ProjectionError: CodedError {
    /// The error code.
    public let code: ErrorCode
    /// A message that describes the failure and the affected object.
    public let message: String
    /// The suggested remedy.
    public let hint: String?
    /// The underlying error.
    public let cause: (any Error)?
    /// The affected projection; nil if there is none.
    public let projection: String?

    /// Creates an error.
    public init(
        _ code: ErrorCode, _ message: String, hint: String? = nil, projection: String? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.projection = projection
        self.cause = cause
    }
}

extension ProjectionError {
    /// Runs `body` and converts errors from lower layers to `ProjectionError`.
    static func naming<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as LMDBError {
            let named = LogError(error)
            throw ProjectionError(
                named.code, named.message,
                hint: named.code == .damaged
                    ? "storectl replay rebuilds projections" : named.hint,
                cause: error)
        } catch is ReplacedLog {
            throw ProjectionError(
                .busy, "the log was restored to an earlier state during the read",
                hint: "try again")
        }
    }
}
