internal import TapedeckLog
internal import TapedeckModel
internal import TapedeckProjections
internal import TapedeckSync
internal import TapedeckVideo

extension StoreRemotes {
    /// Checks that a remote accepts logins.
    ///
    /// Throws `SyncError` with `.notFound`, or with `.usage` if the remote's system has no logins.
    @available(*, noasync)
    public func checkLogin(at name: String) throws {
        let (remote, connector) = try connector(of: name)
        guard !connector.manifest.takesLogin else { return }
        throw SyncError(
            .usage, "\(name) is a remote of \(remote.system), which has no logins",
            hint: "storectl sync \(name) works without a login")
    }

    /// Logs in and stores the credentials, so that an expired token can be renewed.
    ///
    /// A store belongs to one account per system: the account of the first login. Pending
    /// deliveries must not be sent under another account. The sign-in is recorded unless the user
    /// is already signed in.
    ///
    /// - Parameter isNew: Whether to create the account first.
    /// - Returns: The remote's id for the account.
    ///
    /// Throws `SyncError` with `.notFound`, `.usage` (the system requires a different kind of
    /// login, or does not let programs create accounts), `.unauthorized`, `.conditionFailed` (the
    /// new account already exists, or the store belongs to another account), `.offline`, or another
    /// code for a failure of the remote.
    @discardableResult
    public func logIn(
        _ name: String, _ credentials: RemoteCredentials, isNew: Bool = false
    ) async throws -> String {
        try await logIn(name, credentials, isNew ? .signUp : .logIn)
    }

    /// Links another service, such as Twitter, to the account that this device is logged in to.
    ///
    /// - Parameter credentials: The user's account at the service.
    /// - Returns: The remote's id for the account.
    ///
    /// Throws the same errors as `logIn`; `.usage` if the system does not link services, and
    /// `.unauthorized` if this device is not logged in or the service belongs to another account.
    @discardableResult
    public func link(_ name: String, _ credentials: RemoteCredentials) async throws -> String {
        let remote = try await offThread { try self.connector(of: name).0 }
        guard let login = try logins.read(remote), login.account != nil else {
            throw SyncError(
                .unauthorized, "not logged in to \(name)", hint: "run storectl login \(name) first")
        }
        return try await logIn(name, credentials, .link(login))
    }

    /// The purpose of the requests to a remote's login.
    private enum LoginPurpose: Sendable {
        case logIn
        case signUp
        case link(RemoteLogin)

        var isNew: Bool { if case .signUp = self { true } else { false } }
    }

    private func logIn(
        _ name: String, _ credentials: RemoteCredentials, _ purpose: LoginPurpose
    ) async throws -> String {
        let (remote, connector) = try await offThread {
            try self.checkLogin(at: name)
            let found = try self.connector(of: name)
            // Without this check, the remote would create an account that this store then rejects.
            if purpose.isNew,
                let own = try Connectors.connection(with: found.0, runner, projections).account()
            {
                throw SyncError(
                    .conditionFailed, "this store already belongs to account \(own) on \(name)",
                    hint: "log in as \(own), or use another store for the new account")
            }
            return found
        }
        let transport = try await transport(to: remote)
        let account: RemoteAccount
        do {
            account = try await logIn(
                remote, connector, credentials.secrets, purpose, transport)
        } catch {
            await transport.close()
            throw Self.named(error, remote, RemoteLogin(secrets: credentials.secrets))
        }
        await transport.close()
        return account.user
    }

    /// Returns a transport for requests outside a sync; throws `.offline` if the network is set to
    /// offline.
    func transport(to remote: Remote) async throws -> HTTPRemoteTransport {
        let failure = try await offThread { try NetworkState.current(in: log).failure }
        if let failure { throw SyncError(failure) }
        return try HTTPRemoteTransport(base: remote.url)
    }

    /// Converts a remote's failure to a `SyncError`, with the remote's name in the hint and without
    /// the secrets in `login`.
    static func named(_ error: any Error, _ remote: Remote, _ login: RemoteLogin) -> any Error {
        guard let error = error as? SyncFailure else { return error }
        let failure = login.redacting(error)
        return SyncError(failure.code, failure.message, hint: failure.hint(for: remote))
    }

    private func logIn(
        _ remote: Remote, _ connector: any Connector, _ secrets: RemoteSecrets,
        _ purpose: LoginPurpose, _ transport: HTTPRemoteTransport
    ) async throws -> RemoteAccount {
        var login = RemoteLogin(secrets: secrets)
        if case .link(let known) = purpose { login = known }
        var answers: [RemoteResponse] = []
        while true {
            switch try step(connector, secrets, purpose, answers) {
            case .send(var request, let account):
                if let account = account ?? login.account, !account.isAnonymous {
                    connector.authorize(
                        &request, account,
                        RequestMoment(
                            base: remote.url, now: log.now(), nonce: .random(in: 0...(.max))))
                }
                var answer = try await transport.send(request)
                answer.receivedAt = Int64(clamping: log.now())
                answers.append(answer)
            case .done(let account, let sightings):
                try await signIn(account, at: remote)
                login.account = account
                try logins.write(login, for: remote)
                // The sync may have been waiting for this login, so end its wait.
                try await offThread {
                    var row = try RemoteRow.named(remote.name, in: log)
                    row.wait = nil
                    row.contactedAt = log.now()
                    try log.record(sightings, rows: [row.row])
                }
                return account
            }
        }
    }

    /// Returns the next step of a login or sign-up.
    ///
    /// An `.unauthorized` error before any request was sent means malformed credentials, so it
    /// becomes `.usage`.
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
            throw SyncFailure(.usage, error.message, hint: error.hint)
        }
    }

    /// Records that the user is signed in with an account, and rejects any account other than the
    /// store's.
    ///
    /// If two logins run at the same time, the store belongs to the account that is recorded first.
    /// If the account's name does not fit into an event, only this device knows about the login.
    private func signIn(_ account: RemoteAccount, at remote: Remote) async throws {
        let former = try? logins.read(remote)?.account?.user
        guard let signIn = try? SignIn(account.user, at: remote.system) else {
            return try account.check(against: former, at: remote)
        }
        let projections = projections
        try await runner.decide(reading: [projections.accounts.name]) { views in
            let queries = VideoQueries(views, projections: projections)
            let own = try queries.ownAccount(at: remote.system)?.account
            try account.check(against: own ?? former, at: remote)
            return try signIn.decide(queries)
        }
    }
}

/// The credentials of a login.
///
/// Credentials never appear in the log, in an error or on a command line.
public struct RemoteCredentials: Sendable {
    let secrets: RemoteSecrets

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
