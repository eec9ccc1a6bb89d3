package import TapedeckModel

/// The credentials of a user.
///
/// Credentials never appear in the log, in error messages or in command arguments.
package struct RemoteSecrets: Codable, Hashable, Sendable {
    /// The user name or email address.
    package var user: String
    package var password: String
    /// A token obtained elsewhere, used instead of a password.
    package var token: String?
    package var tokenSecret: String?
    /// The id under which this program is registered with the remote; nil if the remote needs none.
    package var consumerKey: String?
    package var consumerSecret: String?
    /// The service that the token is for; nil if the token is the remote's own.
    package var service: Service?

    /// An account at another service, such as Twitter, that is linked to the account on the remote.
    package struct Service: Codable, Hashable, Sendable {
        package var name: String
        /// The service's id for the user.
        package var user: String

        package init(name: String, user: String) { (self.name, self.user) = (name, user) }
    }

    package init(
        user: String = "", password: String = "", token: String? = nil, tokenSecret: String? = nil
    ) {
        self.user = user
        self.password = password
        self.token = token
        self.tokenSecret = tokenSecret
    }
}

/// A user's account on a remote, with the credentials for requests.
package struct RemoteAccount: Codable, Hashable, Sendable {
    /// The remote's id for the user.
    package var user: String
    package var token: String
    package var tokenSecret: String?
    /// The time at which the token expires, in milliseconds since 1970; nil if unknown.
    package var expiresAt: UInt64?
    /// Additional data from the login, such as the user's channel.
    package var details: [String: String]

    package init(
        user: String, token: String, tokenSecret: String? = nil, expiresAt: UInt64? = nil,
        details: [String: String] = [:]
    ) {
        self.user = user
        self.token = token
        self.tokenSecret = tokenSecret
        self.expiresAt = expiresAt
        self.details = details
    }
}

extension RemoteAccount {
    /// The account for reading public data without a login.
    package static let anonymous = RemoteAccount(user: "", token: "")

    /// Whether this is the anonymous account.
    package var isAnonymous: Bool { self == .anonymous }
}

extension RemoteAccount {
    /// Rejects any account other than the account that the store belongs to.
    ///
    /// Pending changes were made by the user of the store's account and must not be sent from
    /// another account.
    ///
    /// - Parameters:
    ///   - own: The account that the store belongs to; nil before the first login.
    ///   - shown: Returns the name by which the user knows an account.
    ///
    /// Throws `SyncFailure` with `.conditionFailed`.
    package func check(
        against own: String?, at remote: Remote, shown: (String) -> String = { $0 }
    ) throws(SyncFailure) {
        guard let own, own != user else { return }
        throw SyncFailure(
            .conditionFailed,
            "the login on \(own: remote.name) is for account \(shown(user)), but this store"
                + " belongs to \(shown(own))",
            hint: "log in as \(shown(own)), or create another store for \(shown(user))")
    }
}

extension SyncFailure {
    /// The failure of every use of a login whose logout everywhere has not finished; see
    /// `RemoteLogin.isEnding`.
    package static func unfinishedLogout(from remote: Remote) -> SyncFailure {
        SyncFailure(
            .unauthorized,
            "a logout everywhere from \(own: remote.name) has not finished;"
                + " if it was interrupted, repeat it",
            hint: "run storectl logout \(remote.name) --everywhere, or log out only this device"
                + " with storectl logout \(remote.name)")
    }
}

/// Gives a session access to the data about a store's connection to a remote.
package struct RemoteConnection: Sendable {
    /// Returns the account on the remote that the store belongs to; nil before the first login.
    package var account: @Sendable () throws -> String?
    /// Returns the sign-ins to the remote's system.
    package var signIns: @Sendable () throws -> SignIns
    /// Returns the remote with its current parts; nil if it was removed or has a new address.
    package var remote: @Sendable () throws -> Remote?
    /// Returns the connector that reads a remote's parts; nil if there is none.
    package var connector: @Sendable (Remote) -> (any Connector)?

    package init(
        account: @escaping @Sendable () throws -> String?,
        signIns: @escaping @Sendable () throws -> SignIns,
        remote: @escaping @Sendable () throws -> Remote?,
        connector: @escaping @Sendable (Remote) -> (any Connector)?
    ) {
        (self.account, self.signIns) = (account, signIns)
        (self.remote, self.connector) = (remote, connector)
    }

    /// Returns the reason why nothing may be sent with a login, as long as it lasts; nil if there is
    /// none.
    ///
    /// Logins are compared when they are made, but two stores with different logins may sync with
    /// each other afterwards. Sessions, outboxes and statuses all ask this function, so they agree.
    /// `SignIns.refusal` answers the same question for a single change.
    ///
    /// - Parameter login: The login of this device; nil if there is none.
    package func refusal(of login: RemoteLogin?, at remote: Remote) throws -> SyncFailure? {
        if login?.account?.isAnonymous == true { return nil }
        if login?.isEnding == true { return .unfinishedLogout(from: remote) }
        do {
            let own = try account()
            try login?.account?.check(against: own, at: remote, shown: shown)
            return nil
        } catch let failure as SyncFailure {
            return failure
        }
    }
}

extension RemoteConnection {
    /// Returns the name by which the user knows an account.
    package func shown(_ user: String) -> String { (try? signIns())?.shown(user) ?? user }
}

/// A stored login: the account, and the secrets needed to replace an expired token.
package struct RemoteLogin: Codable, Hashable, Sendable {
    package var secrets: RemoteSecrets
    package var account: RemoteAccount?
    /// The address that the login is valid for.
    ///
    /// The login is never sent to another address, even if the remote's address changes.
    var url = ""
    /// The remote's system; nil in files written by older versions.
    var system: String?
    /// The events that had ended earlier logins and that the device knew when the user logged in;
    /// nil in files written by older versions, which knew none.
    ///
    /// The renewal of a token does not change the value.
    package var knownEnds: LoginEnds?
    /// Whether a logout everywhere has begun and has neither succeeded nor failed; nil means false.
    ///
    /// Only a logout uses such a login: a sync with a stored password would start a new session.
    package var isEnding: Bool?
    /// Distinguishes the login from a later one with the same secrets and the same token; nil in files
    /// written by older versions.
    ///
    /// The renewal of a token does not change the value.
    private var id: UInt64?

    package init(
        secrets: RemoteSecrets, account: RemoteAccount? = nil, knownEnds: LoginEnds? = nil
    ) {
        self.secrets = secrets
        self.account = account
        self.knownEnds = knownEnds
        id = .random(in: 0...(.max))
    }

    /// Returns `failure` without the secrets of this login and of another one in its message, even
    /// where a secret was escaped, shortened or repeated in another case.
    ///
    /// A remote may repeat a secret in its response, and failures are stored and shown. A hint
    /// contains no text from the remote. Redacting hints would break their commands if a secret is
    /// a common word, and so reveal the secret.
    package func redacting(_ failure: SyncFailure, and other: RemoteLogin? = nil) -> SyncFailure {
        var failure = failure
        failure.text = "\(own: redacting(failure.text, and: other))"
        return failure
    }

    /// Returns a text with the logins' secrets in its foreign parts replaced by `[secret]`.
    func redacting(_ text: FailureText, and other: RemoteLogin? = nil) -> String {
        let patterns = patterns + (other?.patterns ?? [])
        return text.replacingForeign { SecretPattern.redact($0, patterns) }
    }

    private var patterns: [SecretPattern] {
        let values = [
            secrets.password, secrets.token, secrets.tokenSecret, secrets.consumerKey,
            secrets.consumerSecret, account?.token, account?.tokenSecret,
        ]
        return Set(values.compactMap { $0 }).flatMap {
            SecretPattern.all(of: $0, user: secrets.user)
        }
    }

    /// Returns whether another login is the same, ignoring the address and a logout that has begun.
    func isSame(as other: RemoteLogin) -> Bool {
        secrets == other.secrets && account == other.account && knownEnds == other.knownEnds
            && id == other.id
    }
}
