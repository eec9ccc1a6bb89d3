public import TapedeckModel

/// Why a request to an upstream came to nothing: a value, not a surprise.
package struct SyncFailure: Error, Hashable, Sendable {
    /// What went wrong; the codes of HTTP error bodies, and `.offline`.
    package var code: ErrorCode
    /// What went wrong, for people.
    package var message: String
    /// What can be done about it.
    package var hint: String?
    /// How long the upstream asks to be left alone, in milliseconds.
    package var retryAfter: UInt64?
    /// Whether it is certain that the request never got there.
    package var isUnsent = false

    package init(
        _ code: ErrorCode, _ message: String, hint: String? = nil, retryAfter: UInt64? = nil
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.retryAfter = retryAfter
    }

    /// The hint at one remote: connectors, which do not know what it is called, write `NAME`.
    package func hint(for remote: Remote) -> String? {
        hint?.replacing("storectl login NAME", with: "storectl login \(remote.name)")
    }

    /// Whether asking again later can help without anybody doing anything.
    package var isTransient: Bool {
        switch code {
        case .offline, .throttled, .unavailable, .diskFull, .internalError, .lineageChanged,
            .altered:
            true
        default: false
        }
    }
}

/// What sync could not do.
public struct SyncError: CodedError {
    /// What went wrong, for programs.
    public let code: ErrorCode
    /// What went wrong and where.
    public let message: String
    /// What to do about it.
    public let hint: String?
    /// The error below this one.
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
