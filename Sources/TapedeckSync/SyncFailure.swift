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
    ///
    /// The default hint for a rejected login is to log in again.
    private func hint(for remote: Remote) -> String? {
        let hint = hint ?? (code == .unauthorized ? "run storectl login NAME" : nil)
        return hint?.replacing("storectl login NAME", with: "storectl login \(remote.name)")
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

    /// Runs `body` and converts its errors to `SyncError`.
    static func wrapping<R>(_ body: () throws(LogError) -> R) throws(SyncError) -> R {
        do throws(LogError) { return try body() } catch { throw SyncError(error) }
    }

    /// A failure without a hint gets the general hint for its code.
    package init(_ failure: SyncFailure) {
        self.init(
            failure.code, failure.message, hint: failure.hint ?? failure.code.hintAfterRequest)
    }
}

extension ErrorCode {
    /// The general remedy for a request to a server or remote that failed with this code; agrees with
    /// `schema/errors.md`.
    fileprivate var hintAfterRequest: String {
        switch self {
        case .offline: "check the network connection, then try again; nothing pending is lost"
        case .throttled, .unavailable: "try again later; nothing pending is lost"
        case .unauthorized: "log in again or get a new token; nothing pending is lost"
        case .signInRequired: "sign in, then try again"
        case .metered: "run storectl network online on an unmetered network"
        case .redirected: "sign in to the network, or check the address; nothing pending is lost"
        case .malformedRequest, .protocolMismatch:
            "upgrade the older side; if the error remains, report it"
        case .altered:
            "try again; if this happens often, check the proxies and networks in between"
        case .lineageChanged: "try again: a sync reads the server's new lineage"
        case .cursorMismatch:
            "try again: a sync uploads the events that the server lost; if the error remains, check"
                + " the server's log and disk"
        case .unclaimed: "sync with the server"
        case .unknownOutcome:
            "check the remote, then use storectl outbox retry or storectl outbox drop"
        case .fork: "find out which store was copied, and keep only one of the two copies"
        case .gap: "import the missing events first"
        case .diskFull: "free some space, then try again; nothing was lost"
        case .readOnly, .accessDenied: "check the owner and the permissions of the file"
        case .inputOutput: "check the disk, then try again"
        case .damaged: "storectl verify finds the damage"
        case .newerFormat: "upgrade the program"
        case .internalError: "report the defect with the message and the output of storectl status"
        default:
            "try again later; if the error remains, check the address of the server or remote"
        }
    }
}
