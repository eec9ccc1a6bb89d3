internal import TapedeckLMDB
internal import TapedeckLog
public import TapedeckModel

/// What a projection or its runner could not do.
public struct ProjectionError: CodedError {
    /// What went wrong, for programs.
    public let code: ErrorCode
    /// What went wrong and where.
    public let message: String
    /// What to do about it.
    public let hint: String?
    /// The error below this one.
    public let cause: (any Error)?
    /// The projection concerned, where there is one.
    public let projection: String?

    /// Makes an error.
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
    /// Runs `body` and gives what the room below throws this room's name.
    static func naming<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as LMDBError {
            let named = LogError(error)
            throw ProjectionError(
                named.code, named.message,
                hint: named.code == .damaged
                    ? "storectl replay makes projections anew" : named.hint,
                cause: error)
        } catch is ReplacedLog {
            throw ProjectionError(
                .busy, "the log was put back to an earlier state while it was read",
                hint: "try again")
        }
    }
}
