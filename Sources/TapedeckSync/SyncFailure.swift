public import TapedeckModel

/// The reason why a request to a server or remote failed.
package struct SyncFailure: Error, Hashable, Sendable {
    /// The error code, such as `.offline` or the code in an HTTP error body.
    package var code: ErrorCode
    /// The error message.
    package var message: String
    /// The suggested remedy.
    package var hint: String?
    /// The requested pause before the next request, in milliseconds.
    package var retryAfter: UInt64?
    /// Whether it is certain that the request never arrived.
    package var isUnsent = false

    package init(
        _ code: ErrorCode, _ message: String, hint: String? = nil, retryAfter: UInt64? = nil
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.retryAfter = retryAfter
    }

    /// Returns the hint with the remote's name instead of the placeholder `NAME`; connectors use
    /// the placeholder because they do not know the name.
    package func hint(for remote: Remote) -> String? {
        hint?.replacing("storectl login NAME", with: "storectl login \(remote.name)")
    }

    /// Whether a retry can succeed without user action.
    package var isTransient: Bool {
        switch code {
        case .offline, .throttled, .unavailable, .redirected, .diskFull, .internalError,
            .lineageChanged, .altered:
            true
        default: false
        }
    }
}

/// An error of a sync.
public struct SyncError: CodedError {
    /// The error code.
    public let code: ErrorCode
    /// The error message, including the affected object.
    public let message: String
    /// The suggested remedy.
    public let hint: String?
    /// The underlying error.
    public let cause: (any Error)?

    package init(
        _ code: ErrorCode, _ message: String, hint: String? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.cause = cause
    }

    package init(_ failure: SyncFailure) {
        self.init(failure.code, failure.message, hint: failure.hint)
    }
}
