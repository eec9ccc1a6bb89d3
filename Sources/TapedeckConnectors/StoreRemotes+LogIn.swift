internal import TapedeckLog
internal import TapedeckModel
internal import TapedeckProjections
internal import TapedeckSync
internal import TapedeckVideo

extension StoreRemotes {
    /// Checks that a remote supports logins.
    ///
    /// - Parameter isLink: Whether to check that a service can be linked, which requires that this
    ///   device is logged in.
    ///
    /// Throws `SyncError` with `.notFound`, with `.usage` if the remote's system has no logins, or
    /// with `.unauthorized` if a service shall be linked and this device is not logged in, or if a
    /// logout everywhere has not finished.
    @available(*, noasync)
    public func checkLogin(at name: String, isLink: Bool = false) throws {
        try log.checkHasNoSamples()
        let (remote, connector) = try connector(of: name)
        guard connector.manifest.takesLogin else {
            throw SyncError(
                .usage, "\(name) is a remote of \(remote.system), which has no logins",
                hint: "storectl sync \(name) works without a login")
        }
        // A new login would replace the token that the logout needs. A file that cannot be read may
        // be replaced.
        if (try? logins.read(remote))?.isEnding == true {
            throw SyncError(.unfinishedLogout(from: remote))
        }
        if isLink { _ = try ownLogin(at: remote) }
    }

    /// Checks, without the network, that a remote's system accepts this kind of credentials.
    ///
    /// Throws `SyncError` with `.notFound` if the remote does not exist, and with `.usage` if the
    /// system requires a different kind of login; the message and the hint name that kind.
    @available(*, noasync)
    public func check(_ credentials: RemoteCredentials, at name: String) throws {
        let (remote, connector) = try connector(of: name)
        do {
            _ = try step(connector, credentials.secrets, .logIn, [])
        } catch {
            throw named(error, remote, RemoteLogin(secrets: credentials.secrets))
        }
    }

    /// Returns this device's login; throws `.unauthorized` if there is none.
    @available(*, noasync)
    private func ownLogin(at remote: Remote) throws -> RemoteLogin {
        guard let login = try logins.read(remote), login.account != nil else {
            throw SyncError(
                .unauthorized, "not logged in to \(remote.name)",
                hint: "run storectl login \(remote.name) first")
        }
        return login
    }

    /// Logs in and stores the credentials, so that an expired token can be renewed.
    ///
    /// A store belongs to one account per system: the account of the first login. Pending
    /// deliveries must not be sent under another account. The sign-in is recorded unless it is the
    /// last one on this device and the user is still signed in.
    ///
    /// - Parameters:
    ///   - isNew: Whether to create the account first.
    ///   - replacesOthers: Whether the store shall belong to this account if stores with different
    ///     logins have synced with each other. Pending changes that were made with another account
    ///     are not sent, and wait until they are dropped.
    /// - Returns: The remote's id for the account.
    ///
    /// Throws `SyncError` with `.notFound`, `.usage` (the system requires a different kind of
    /// login, or does not let programs create accounts), `.unauthorized`, `.conditionFailed` (the
    /// new account already exists, the store belongs to another account, or it may belong to several
    /// accounts and `replacesOthers` is false), `.offline`, or another code for a failure of the
    /// remote.
    @discardableResult
    public func logIn(
        _ name: String, _ credentials: RemoteCredentials, isNew: Bool = false,
        replacesOthers: Bool = false
    ) async throws -> String {
        try await logIn(
            name, credentials, isNew ? .signUp : .logIn, replacesOthers: replacesOthers)
    }

    /// Links another service, such as Twitter, to the account that this device is logged in to.
    ///
    /// - Parameter credentials: The user's account at the service.
    /// - Returns: The remote's id for the account.
    ///
    /// Throws the same errors as `logIn`; `.usage` if the system does not support linking services,
    /// and `.unauthorized` if this device is not logged in or the service belongs to another
    /// account.
    @discardableResult
    public func link(_ name: String, _ credentials: RemoteCredentials) async throws -> String {
        let login = try await offThread { try ownLogin(at: try self.connector(of: name).0) }
        return try await logIn(name, credentials, .link(login))
    }

    /// Lets the user approve this program at an OAuth server, and returns credentials for `logIn` or
    /// `link`.
    ///
    /// The request token and the verifier are never stored.
    ///
    /// - Parameters:
    ///   - service: The service with which the user signs in, such as `twitter`.
    ///   - consumerKey: The key that the server issued to this program.
    ///   - consumerSecret: The secret of the key.
    ///   - url: The address of the server; nil for the default of the remote's system.
    ///   - visit: Shows the user the address of a page, and returns the address to which the server
    ///     redirected the browser, or the verifier (PIN) on the page.
    ///
    /// Throws `SyncError` with `.notFound`, `.usage` (the system has no OAuth login, the server's
    /// address is unknown or not secure, or the reply belongs to another login), `.unauthorized`
    /// (the server refused the consumer key or the verifier, or the user denied the login),
    /// `.offline`, or another code for a failure of the server.
    public func authorize(
        _ name: String, service: String, consumerKey: String, consumerSecret: String,
        url: String? = nil, visit: @Sendable (String) async throws -> String
    ) async throws -> RemoteCredentials {
        let (remote, connector) = try await offThread { try self.connector(of: name) }
        guard let connector = connector as? any OAuthConnector else {
            throw SyncError(
                .usage, "\(name) is a remote of \(remote.system), which has no OAuth login",
                hint: "storectl login --help shows the other options")
        }
        var consumer = RemoteSecrets()
        consumer.consumerKey = consumerKey.trimmingSpace
        consumer.consumerSecret = consumerSecret.trimmingSpace
        consumer.service = RemoteSecrets.Service(name: service, user: "")
        do {
            var server = try connector.oauthServer(for: service, at: url, of: remote)
            let transport = try await transport(to: server.address)
            server.address = transport.base
            let token: Result<OAuthServer.Token, any Error>
            do {
                token = .success(try await accessToken(server, consumer, transport, visit))
            } catch {
                token = .failure(error)
            }
            await transport.close()
            return RemoteCredentials(secrets: try connector.secrets(for: token.get(), consumer))
        } catch {
            throw failedLogin(error, remote, RemoteLogin(secrets: consumer))
        }
    }

    /// Obtains a request token, lets the user approve it, and exchanges it for an access token.
    private func accessToken(
        _ server: OAuthServer, _ consumer: RemoteSecrets, _ transport: HTTPRemoteTransport,
        _ visit: @Sendable (String) async throws -> String
    ) async throws -> OAuthServer.Token {
        var sender = LoginSender(transport: transport, log: log, signsTime: true)
        var account = RemoteAccount(user: "", token: "")
        account.details["consumerKey"] = consumer.consumerKey
        account.details["consumerSecret"] = consumer.consumerSecret
        var request = RemoteRequest("POST", OAuthServer.Path.requestToken.rawValue)
        let token = try server.requestToken(
            in: await sender.send(request) {
                OAuthSignature.add(
                    to: &$0, account, $1, [.init("oauth_callback", server.callback)])
            })
        let verifier = try server.verifier(in: await visit(server.page(for: token)), for: token)
        (account.token, account.tokenSecret) = (token.text, token.secret)
        request.path = OAuthServer.Path.accessToken.rawValue
        return try server.accessToken(
            in: await sender.send(request) {
                OAuthSignature.add(to: &$0, account, $1, [.init("oauth_verifier", verifier)])
            })
    }

    /// The purpose of a sequence of login requests.
    private enum LoginPurpose: Sendable {
        case logIn
        case signUp
        case link(RemoteLogin)

        var isNew: Bool { if case .signUp = self { true } else { false } }
    }

    private func logIn(
        _ name: String, _ credentials: RemoteCredentials, _ purpose: LoginPurpose,
        replacesOthers: Bool = false
    ) async throws -> String {
        var login = RemoteLogin(secrets: credentials.secrets)
        // The requests that link a service contain the account's token.
        if case .link(let known) = purpose { login.account = known.account }
        let (remote, connector, knownEnds) = try await offThread { [login] in
            try self.removeEndedLogins()
            try self.checkLogin(at: name)
            let (remote, connector) = try self.connector(of: name)
            let own: String?
            do {
                own = try runner.read([projections.accounts.name]) {
                    let queries = VideoQueries($0, projections: projections)
                    return replacesOthers
                        ? try queries.ownAccount(at: remote.system)?.account
                        : try Connectors.owner(at: remote, queries)
                }
            } catch {
                throw named(error, remote, login)
            }
            // Without this check, the remote would create an account that this store then rejects.
            if purpose.isNew, let own {
                throw SyncError(
                    .conditionFailed, "this store already belongs to account \(own) on \(name)",
                    hint: "log in as \(own), or use another store for the new account")
            }
            // A logout everywhere that arrives during the login ends it, so read the known events
            // before the first request.
            return (remote, connector, try logins.knownEnds(of: name))
        }
        login.knownEnds = knownEnds
        let transport = try await transport(to: remote.url)
        let account: RemoteAccount
        do {
            account = try await logIn(
                remote, connector, login, purpose, transport, replacesOthers: replacesOthers)
        } catch {
            await transport.close()
            throw failedLogin(error, remote, login)
        }
        await transport.close()
        return account.user
    }

    /// Returns a transport for requests outside a sync; throws `.offline` if the network is set to
    /// offline.
    func transport(to address: String) async throws -> HTTPRemoteTransport {
        let failure = try await offThread { try NetworkState.current(in: log).failure }
        if let failure { throw SyncError(failure) }
        return try HTTPRemoteTransport(base: address)
    }

    /// Converts a remote's failure to a `SyncError` with the remote's name and without the secrets
    /// in `login`, nor those of the stored login, which a remote may also repeat.
    func named(_ error: any Error, _ remote: Remote, _ login: RemoteLogin) -> any Error {
        guard let failure = error as? SyncFailure else { return error }
        let stored = try? logins.read(remote)
        return SyncError(login.redacting(failure, and: stored).naming(remote))
    }

    /// Returns the error of a failed login, which always says what the user can do.
    private func failedLogin(
        _ error: any Error, _ remote: Remote, _ login: RemoteLogin
    ) -> any Error {
        guard var failure = error as? SyncFailure, failure.hint == nil else {
            return named(error, remote, login)
        }
        failure = failure.ofRemote
        failure.hint =
            switch failure.code {
            case .unauthorized:
                "check the user name and the password or token, then log in again"
            case .throttled: "wait a few minutes, then log in again"
            case .remoteError:
                "check the user name and the password or token; if they are correct, check the"
                    + " address of the remote, which storectl remote list shows"
            default:
                "log in again later; if the error remains, check the address of the remote, which"
                    + " storectl remote list shows"
            }
        return named(failure, remote, login)
    }

    private func logIn(
        _ remote: Remote, _ connector: any Connector, _ new: RemoteLogin,
        _ purpose: LoginPurpose, _ transport: HTTPRemoteTransport, replacesOthers: Bool
    ) async throws -> RemoteAccount {
        var login = new
        if case .link(let known) = purpose { login = known }
        var sender = LoginSender(
            transport: transport, log: log, signsTime: connector.manifest.signsTime)
        let (account, observations) = try await sender.logIn(connector, as: login.account) {
            try step(connector, new.secrets, purpose, $0)
        }
        login.account = account
        try await signIn(login, account, at: remote, replacesOthers: replacesOthers)
        try logins.write(login, for: remote)
        try await offThread { [login] in
            try removeIfEnded(login, at: remote)
            // The sync may have been waiting for this login, so end its wait.
            var row = try RemoteRow.named(remote.name, in: log)
            row.wait = nil
            row.contactedAt = log.now()
            try log.record(observations, rows: [row.row])
        }
        return account
    }

    /// Removes the login that was just written if it has ended in the meantime.
    @available(*, noasync)
    private func removeIfEnded(_ login: RemoteLogin, at remote: Remote) throws {
        do {
            try runner.read([Remotes().name]) { try self.checkHasNotEnded(login, at: remote, $0) }
        } catch let error as SyncError {
            try logins.end(remote)
            throw error
        }
    }

    /// Throws `.notFound` if a remote was removed or its address was changed since a login began,
    /// and `.conditionFailed` if the user ended the logins of all devices.
    private func checkHasNotEnded(
        _ login: RemoteLogin, at remote: Remote, _ views: some ViewReader
    ) throws {
        let isThere = try Remotes.all(views).contains {
            ($0.name, $0.system, $0.url) == (remote.name, remote.system, remote.url)
        }
        guard isThere else {
            throw SyncError(
                .notFound,
                "\(remote.name) was removed, or its address was changed, during the login",
                hint: "storectl remote list shows the remotes; log in again")
        }
        guard try !login.isEnded(by: Remotes.loginEnds(of: remote.name, views)) else {
            throw SyncError(
                .conditionFailed,
                "the logins of all devices at \(remote.name) were ended during the login",
                hint: "log in again")
        }
    }

    /// Returns the next step of a login or sign-up.
    ///
    /// An `.unauthorized` error before any request was sent means that the credentials are
    /// malformed, so it becomes `.usage`.
    private func step(
        _ connector: any Connector, _ secrets: RemoteSecrets, _ purpose: LoginPurpose,
        _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        do throws(SyncFailure) {
            return switch purpose {
            case .logIn: try connector.login(secrets, answers)
            case .signUp: try connector.signUp(secrets, answers)
            case .link: try connector.link(secrets, answers)
            }
        } catch {
            guard answers.isEmpty, error.code == .unauthorized else { throw error }
            throw SyncFailure(.usage, error.text, hint: error.hint)
        }
    }

    /// Records that the user is signed in to an account, and rejects any account other than the
    /// store's.
    ///
    /// If two logins run at the same time, the store belongs to the account that is recorded first.
    /// If the account's name does not fit into an event, only this device knows about the login.
    private func signIn(
        _ login: RemoteLogin, _ account: RemoteAccount, at remote: Remote, replacesOthers: Bool
    ) async throws {
        let former = try await offThread { try? logins.read(remote)?.account?.user }
        guard let signIn = try? SignIn(account.user, at: remote.system) else {
            return try account.check(against: former, at: remote)
        }
        let (projections, device) = (projections, log.origin)
        try await runner.decide(reading: [projections.accounts.name, Remotes().name]) { views in
            try checkHasNotEnded(login, at: remote, views)
            let queries = VideoQueries(views, projections: projections)
            // Another login may have arrived since the first check.
            let isOwner = try queries.owners(at: remote.system).contains {
                $0.account == account.user
            }
            if !replacesOthers || !isOwner {
                let own = try Connectors.owner(at: remote, queries)
                let signIns = try queries.signIns(at: remote.system)
                try account.check(
                    against: own ?? former, at: remote, shown: signIns.shown)
            }
            return try signIn.decide(queries, on: device)
        }
    }
}

/// Signs and sends the requests of a login or a logout.
struct LoginSender {
    private let transport: HTTPRemoteTransport
    private let log: EventLog
    private var clock: RemoteClock

    /// - Parameter signsTime: Whether the signatures include the time.
    init(transport: HTTPRemoteTransport, log: EventLog, signsTime: Bool) {
        (self.transport, self.log) = (transport, log)
        clock = RemoteClock(signsTime: signsTime)
    }

    /// Performs the steps of a login, and returns the account and the observations.
    ///
    /// - Parameter own: The account that signs requests for which the step specifies no account.
    mutating func logIn(
        _ connector: any Connector, as own: RemoteAccount? = nil,
        _ step: ([RemoteResponse]) throws -> LoginStep
    ) async throws -> (RemoteAccount, [ProposedEvent]) {
        var answers: [RemoteResponse] = []
        while true {
            switch try step(answers) {
            case .send(let request, let account):
                let account = account ?? own
                answers.append(
                    try await send(request) {
                        guard let account, !account.isAnonymous else { return }
                        connector.authorize(&$0, account, $1)
                    })
            case .done(let account, let observations): return (account, observations)
            }
        }
    }

    /// Signs and sends a request; if the local clock is wrong, sends the request once more.
    ///
    /// Throws `.remoteError` if a header of the response, such as the token, is invalid.
    mutating func send(
        _ request: RemoteRequest, sign: (inout RemoteRequest, RequestMoment) -> Void
    ) async throws(SyncFailure) -> RemoteResponse {
        while true {
            var signed = request
            sign(
                &signed,
                RequestMoment(
                    base: transport.base, now: clock.time(at: log.now()),
                    nonce: .random(in: 0...(.max))))
            var response: RemoteResponse
            do throws(SyncFailure) {
                response = try await transport.send(signed)
            } catch {
                guard error.hasInvalidHeader else { throw error }
                throw SyncFailure(
                    .remoteError,
                    "\(own: transport.base) sent an invalid token or another invalid header",
                    hint: error.hint)
            }
            let now = log.now()
            response.receivedAt = Int64(clamping: now)
            if !clock.correct(by: response, at: now) { return response }
        }
    }
}

/// The credentials of a login.
///
/// Credentials never appear in the log, in an error or on a command line.
public struct RemoteCredentials: Sendable {
    let secrets: RemoteSecrets

    init(secrets: RemoteSecrets) { self.secrets = secrets }

    /// Creates credentials from a user name and a password.
    public init(user: String, password: String) {
        secrets = RemoteSecrets(user: user, password: password)
    }

    /// Creates credentials from an OAuth token and its secret, and optionally the consumer key and
    /// secret that identify the program.
    ///
    /// Surrounding whitespace is removed.
    public init(
        token: String, secret: String, consumerKey: String? = nil, consumerSecret: String? = nil
    ) {
        var secrets = RemoteSecrets(token: token.trimmingSpace, tokenSecret: secret.trimmingSpace)
        secrets.consumerKey = consumerKey?.trimmingSpace
        secrets.consumerSecret = consumerSecret?.trimmingSpace
        self.secrets = secrets
    }

    /// Creates credentials from an account at a service that is linked to the account on the
    /// remote, such as Twitter.
    ///
    /// - Parameters:
    ///   - service: The name of the service, such as `twitter`.
    ///   - user: The service's id for the user.
    ///   - token: The service's OAuth token.
    ///   - secret: The secret of the token, if the service uses one.
    public init(service: String, user: String, token: String, secret: String? = nil) {
        var secrets = RemoteSecrets(token: token.trimmingSpace, tokenSecret: secret?.trimmingSpace)
        secrets.service = RemoteSecrets.Service(name: service, user: user)
        self.secrets = secrets
    }
}
