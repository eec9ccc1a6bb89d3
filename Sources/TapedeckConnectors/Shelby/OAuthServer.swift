internal import Foundation
internal import TapedeckModel
internal import TapedeckSync

/// # A server at which users approve this program (OAuth 1.0a, RFC 5849, section 2)
///
/// ```
/// POST request_token ─▶ request token ─▶ the user visits authorize ─▶ verifier
///                                                                        │
///           tokens for `login` ◀─ access token ◀─ POST access_token ◀────┘
/// ```
///
/// This type only builds addresses and reads responses; `StoreRemotes.authorize` sends the
/// requests. Request tokens and verifiers are kept in memory only. No error contains a token, a
/// secret or a verifier.
struct OAuthServer {
    /// A token and its secret.
    struct Token {
        var text: String
        var secret: String
        /// All fields of the response that contained the token.
        var fields: [String: String]
    }

    /// The three paths below the server's address.
    enum Path: String {
        case requestToken = "/request_token"
        case authorize = "/authorize"
        case accessToken = "/access_token"
    }

    /// The address of the server, without a trailing slash.
    var address: String
    /// The address to which the server redirects the browser with the verifier; with `oob`, the
    /// server shows the verifier to the user instead.
    var callback = "oob"
    /// The fields that the authorization page requires in addition to the request token.
    var query: [RemoteRequest.Field] = []

    /// The maximum length of a response that contains a token, in bytes.
    private static let answerBytesMax = 16 << 10

    private func url(_ path: Path) -> String { address + path.rawValue }

    // MARK: - First leg

    /// Reads the request token.
    func requestToken(in response: RemoteResponse) throws(SyncFailure) -> Token {
        let token = try token(
            in: response, .requestToken,
            refusal: SyncFailure(
                .unauthorized, "\(own: address) refused the consumer key or its signature",
                hint: "check the key and the secret in the consumer file, and the callback that is"
                    + " registered for the program"))
        guard token.fields["oauth_callback_confirmed"] == "true" else {
            throw SyncFailure(
                .remoteError,
                "\(own: url(.requestToken)) did not confirm the callback: the server uses an"
                    + " insecure version of OAuth",
                hint: "use a token instead: storectl login NAME --token-file FILE")
        }
        return token
    }

    // MARK: - Second leg

    /// Returns the address of the page on which the user approves this program.
    func page(for token: Token) -> String {
        let fields = [RemoteRequest.Field("oauth_token", token.text)] + query
        return "\(url(.authorize))?\(RemoteRequest.encoded(fields))"
    }

    /// Reads the verifier from the user's reply: the address to which the server redirected the
    /// browser, or the verifier itself.
    func verifier(in reply: String, for token: Token) throws(SyncFailure) -> String {
        let reply = reply.trimmingSpace
        guard !reply.isEmpty else {
            throw SyncFailure(
                .usage, "neither an address nor a verifier was given",
                hint: "approve the login, then copy the browser's address or the number on the page"
            )
        }
        guard reply.contains("://") || reply.contains("oauth_verifier=") else { return reply }
        let start = reply.firstIndex(of: "?").map { reply.index(after: $0) } ?? reply.startIndex
        let fields = RemoteRequest.fields(of: String(reply[start...].prefix { $0 != "#" }))
        func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }
        // If the user denies the login, Twitter returns `denied`, and other servers return
        // `oauth_problem`.
        guard value("denied") == nil, value("oauth_problem") == nil else {
            throw SyncFailure(
                .unauthorized, "the login was denied at \(own: url(.authorize))",
                hint: "run storectl login NAME again, and approve the login")
        }
        guard [nil, token.text].contains(value("oauth_token")) else {
            throw SyncFailure(
                .usage, "the address belongs to another login",
                hint: "run storectl login NAME again, approve that login, and copy the address to"
                    + " which the browser is redirected")
        }
        guard let verifier = value("oauth_verifier"), !verifier.isEmpty else {
            throw SyncFailure(
                .usage, "the address contains no oauth_verifier",
                hint: "copy the complete address to which the browser was redirected")
        }
        return verifier
    }

    // MARK: - Third leg

    /// Reads the access token.
    func accessToken(in response: RemoteResponse) throws(SyncFailure) -> Token {
        try token(
            in: response, .accessToken,
            refusal: SyncFailure(
                .unauthorized,
                "\(own: address) refused the verifier: it is wrong, was used before, or has expired",
                hint: "run storectl login NAME again, and approve the login again"))
    }

    // MARK: - Responses

    /// Reads the token in a response.
    ///
    /// - Parameter refusal: The failure if the server refuses the credentials of the request.
    private func token(
        in response: RemoteResponse, _ path: Path, refusal: SyncFailure
    ) throws(SyncFailure) -> Token {
        if let failure = response.failure {
            switch failure.code {
            case .unauthorized: throw refusal
            case .remoteError where response.status == 400: throw refusal
            case .redirected, .notFound:
                throw SyncFailure(
                    failure.ofRemote.code, "\(own: url(path)): \(failure.text)",
                    hint: "check the address of the OAuth server (--oauth-url)")
            default:
                throw SyncFailure(
                    failure.code, "\(own: url(path)): \(failure.text)",
                    hint: failure.hint ?? OAuthServer.hintToTryAgain,
                    retryAfter: failure.retryAfter)
            }
        }
        guard response.body.count <= OAuthServer.answerBytesMax,
            let text = String(validating: response.body, as: UTF8.self)
        else { throw noToken(path) }
        let fields = Dictionary(
            RemoteRequest.fields(of: text.trimmingSpace).map { ($0.name, $0.value) },
            uniquingKeysWith: { first, _ in first })
        guard let token = fields["oauth_token"], !token.isEmpty,
            let secret = fields["oauth_token_secret"]
        else { throw noToken(path) }
        return Token(text: token, secret: secret, fields: fields)
    }

    private static let hintToTryAgain =
        "log in again in a few minutes; if the error remains, check the address of the OAuth"
        + " server (--oauth-url)"

    private func noToken(_ path: Path) -> SyncFailure {
        SyncFailure(
            .remoteError,
            "the response from \(own: url(path)) is not a form with oauth_token and"
                + " oauth_token_secret",
            hint: "check the address of the OAuth server (--oauth-url)")
    }
}

/// A connector for a system that supports logins through an OAuth server.
protocol OAuthConnector: Connector {
    /// Returns the server that issues tokens for a service, such as `twitter`.
    ///
    /// - Parameter address: The address of the server; nil for the default.
    ///
    /// Throws `.usage` if there is no default.
    func oauthServer(
        for service: String, at address: String?, of remote: Remote
    ) throws(SyncFailure) -> OAuthServer

    /// Returns the secrets for `login`.
    ///
    /// - Parameter consumer: The consumer key and its secret, and the service.
    func secrets(
        for token: OAuthServer.Token, _ consumer: RemoteSecrets
    ) throws(SyncFailure) -> RemoteSecrets
}

extension ShelbyConnector: OAuthConnector {
    /// Returns Shelby's own server, which lets the user sign in with the service.
    ///
    /// Like the 2012 app, this connector requests a redirect to the app's address.
    func oauthServer(
        for service: String, at address: String?, of remote: Remote
    ) throws(SyncFailure) -> OAuthServer {
        let base = remote.url.hasSuffix("/v2") ? String(remote.url.dropLast(3)) : remote.url
        return OAuthServer(
            address: address ?? base + "/oauth", callback: "shelby://ios.shelby.tv",
            query: [.init("provider", service)])
    }

    func secrets(
        for token: OAuthServer.Token, _ consumer: RemoteSecrets
    ) throws(SyncFailure) -> RemoteSecrets {
        var secrets = consumer
        (secrets.token, secrets.tokenSecret) = (token.text, token.secret)
        secrets.service = nil
        return secrets
    }
}

extension ShelbyV1Connector: OAuthConnector {
    /// Returns the server of the service, whose tokens Shelby accepts.
    func oauthServer(
        for service: String, at address: String?, of remote: Remote
    ) throws(SyncFailure) -> OAuthServer {
        if let address { return OAuthServer(address: address) }
        guard service == "twitter" else {
            throw SyncFailure(
                .usage, "the address of the OAuth server of \(own: service.prefix(80)) is unknown",
                hint: "pass the address with --oauth-url, or use --uid and --token-file instead of"
                    + " --oauth")
        }
        return OAuthServer(address: "https://api.twitter.com/oauth")
    }

    func secrets(
        for token: OAuthServer.Token, _ consumer: RemoteSecrets
    ) throws(SyncFailure) -> RemoteSecrets {
        guard let service = consumer.service, let user = token.fields["user_id"], !user.isEmpty
        else {
            throw SyncFailure(
                .remoteError, "the OAuth server did not return the user's id (user_id)",
                hint: "run storectl login NAME with --uid and --token-file instead of --oauth")
        }
        var secrets = RemoteSecrets(token: token.text, tokenSecret: token.secret)
        secrets.service = RemoteSecrets.Service(name: service.name, user: user)
        return secrets
    }
}
