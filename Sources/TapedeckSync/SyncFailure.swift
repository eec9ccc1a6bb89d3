internal import TapedeckLog
public import TapedeckModel

/// The reason why a request to a server or remote failed.
package struct SyncFailure: Error, Hashable, Sendable {
    /// The error code, such as `.offline` or the code in an HTTP error body.
    package var code: ErrorCode
    /// The error message, with its foreign text marked.
    package var text: FailureText
    /// The suggested remedy; never contains text from a remote, see `RemoteLogin.redacting`.
    package var hint: String?
    /// The requested pause before the next request, in milliseconds.
    package var retryAfter: UInt64?
    /// Whether it is certain that the request never arrived.
    package var isUnsent = false
    /// Whether the failure is a response with an invalid header.
    package var hasInvalidHeader = false

    package init(
        _ code: ErrorCode, _ text: FailureText, hint: String? = nil, retryAfter: UInt64? = nil
    ) {
        self.code = code
        self.text = text
        self.hint = hint
        self.retryAfter = retryAfter
    }

    /// The error message.
    package var message: String { text.description }

    /// Returns the hint with the remote's name instead of the placeholder `NAME`; connectors use
    /// the placeholder because they do not know the name.
    private func hint(for remote: Remote) -> String? {
        hint?.replacing("storectl login NAME", with: "storectl login \(remote.name)")
    }

    /// Returns the failure with the name of the server or remote in its message.
    ///
    /// A user with several servers and remotes must see which one failed. Failures of this device
    /// and messages that already contain the name or the address are unchanged.
    func naming(_ name: String, at address: String? = nil) -> SyncFailure {
        guard message != NetworkState.offline.failure?.message, !mentions(name),
            !(address.map(mentions) ?? false)
        else { return self }
        var named = self
        named.text = "\(own: name): \(text)"
        return named
    }

    /// Returns the failure with the remote's name in its message and in the commands of its hint.
    package func naming(_ remote: Remote) -> SyncFailure {
        var named = naming(remote.name, at: remote.url)
        named.hint = hint(for: remote)
        return named
    }

    /// The failure as the outcome of a command.
    ///
    /// In the response of a server or remote, `.notFound` and `.tooLarge` concern its objects and
    /// limits. As the error of a command, they would mean an object of the store or an input of the
    /// user.
    package var ofRemote: SyncFailure {
        guard code == .notFound || code == .tooLarge else { return self }
        var failure = self
        failure.code = .remoteError
        return failure
    }

    /// Whether the message contains a name that is not part of a longer word.
    private func mentions(_ name: String) -> Bool {
        message.ranges(of: name).contains { range in
            let isWord = { (character: Character?) in
                character.map { $0.isLetter || $0.isNumber || "-_".contains($0) } ?? false
            }
            return !isWord(message[..<range.lowerBound].last)
                && !isWord(message[range.upperBound...].first)
        }
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

    init(_ error: LogError) {
        self.init(error.code, error.message, hint: error.hint, cause: error)
    }

    package init(_ failure: SyncFailure) {
        self.init(failure.code, failure.message, hint: failure.hint)
    }
}
