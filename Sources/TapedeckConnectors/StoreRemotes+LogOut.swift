internal import TapedeckLog
internal import TapedeckModel
internal import TapedeckProjections
internal import TapedeckSync
internal import TapedeckVideo

extension StoreRemotes {
    /// Logs this device out of a remote: deletes its login and ends its syncs with the remote,
    /// including syncs in other processes.
    ///
    /// The store still belongs to the account, and pending deliveries wait until the user logs in
    /// to the account again. Nothing is recorded: the user stays signed in, and other devices stay
    /// logged in.
    ///
    /// - Parameter everywhere: Whether to first ask the remote to end all sessions of the account,
    ///   on all devices and in other programs, and then to record the logout and that the user
    ///   signed out. If the remote does not confirm the logout, this device stays logged in. Each
    ///   of the user's other devices deletes its login and ends its syncs when it receives the
    ///   logout, including a login that the user made there before it was received. If this process
    ///   is killed, no sync uses the login until this method is called again.
    /// - Returns: The number of undelivered intents.
    ///
    /// Nothing is sent or recorded if this device is already logged out; with `everywhere`, only if
    /// `isLoggedOutEverywhere` returns true.
    ///
    /// Throws `SyncError` with `.notFound` if the remote does not exist. If `everywhere` is true,
    /// it also throws `.usage` (the system cannot end sessions, or the device is not logged in),
    /// `.unauthorized` (the token is no longer valid and cannot be renewed), `.offline`, `.busy`
    /// (another process is logging out), or another code for a failure of the remote.
    @discardableResult
    public func logOut(_ name: String, everywhere: Bool = false) async throws -> Int {
        let (remote, connector) = try await offThread {
            try removeEndedLogins()
            return try self.connector(of: name)
        }
        if everywhere { try await logOutEverywhere(of: remote, connector) }
        return try await offThread {
            if !everywhere { logins.remove(remote.name) }
            return try status(remote).undelivered
        }
    }

    /// Returns whether the user has logged out everywhere from a remote at which this device had a
    /// login, and has signed in on no device since, as far as this device knows.
    ///
    /// Throws `SyncError` with `.notFound` if the remote does not exist.
    @available(*, noasync)
    public func isLoggedOutEverywhere(from name: String) throws -> Bool {
        let remote = try named(name)
        guard try logins.isGone(remote), try logins.areEndedByLogout(from: name) else {
            return false
        }
        // A device contacts a remote that can end sessions only after a login.
        return try RemoteRow.named(name, in: log).contactedAt > 0
            && signedOut(of: remote.system).isEmpty
    }

    /// Ends the sessions at the remote, and then records the logout.
    ///
    /// A mark in the login shows that the logout has begun. If this process is killed, the mark
    /// remains, and nothing but another logout uses the login: the remote may have ended the
    /// sessions, and a stored password would start a new one. If the logout fails, the mark is
    /// removed and the login stays usable, even if the response was lost and the sessions may have
    /// ended: the error says so and asks the user to try again.
    private func logOutEverywhere(of remote: Remote, _ connector: any Connector) async throws {
        let found = try await offThread { () -> (RemoteLogin, RemoteAccount, RemoteLock)? in
            // If the system cannot end sessions, a login would not help.
            _ = try logOutRequest(.anonymous, at: remote, connector)
            let login = try logins.read(remote)
            guard let login, let account = login.account, !account.isAnonymous else {
                if try isLoggedOutEverywhere(from: remote.name) { return nil }
                throw SyncError(
                    .usage, "this device is not logged in to \(remote.name)",
                    hint:
                        "run storectl login \(remote.name) first, or use a device that is logged in"
                )
            }
            return (login, account, try RemoteLock(store: log.directory.path, remote.name, .logout))
        }
        guard let (login, account, lock) = found else { return }
        // While the lock is held, no other process logs out everywhere.
        defer { withExtendedLifetime(lock) {} }
        let transport = try await transport(to: remote.url)
        let result: Result<Void, any Error>
        do {
            try await mark(remote, isEnding: true)
            try await endSessions(of: account, login, at: remote, connector, transport)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await transport.close()
        do {
            try result.get()
        } catch {
            try await mark(remote, isEnding: false)
            throw error
        }
        try await offThread { try recordLogout(of: remote) }
    }

    /// Marks this device's login as being ended, or removes the mark, if there is a login.
    private func mark(_ remote: Remote, isEnding: Bool) async throws {
        try await offThread {
            // Another process may have renewed the token or deleted the login.
            guard var login = try logins.read(remote) else { return }
            login.isEnding = isEnding ? true : nil
            try logins.write(login, for: remote)
        }
    }

    /// Records that the user logged out everywhere, and deletes this device's login.
    @available(*, noasync)
    private func recordLogout(of remote: Remote) throws {
        let end = RemoteLoginsEnded.with { $0.name = remote.name }
        try log.record(try signedOut(of: remote.system) + [try ProposedEvent(end)])
        // The event ends this login too. If it cannot be recorded, the mark remains.
        logins.remove(remote.name)
    }

    // MARK: - Ending sessions

    /// Ends the sessions of the account; returns only if the remote confirms that they have ended.
    ///
    /// If the token is no longer valid, deleting it ends nothing: the account may have a newer
    /// token. The stored secrets are then used to log in once more, and the new token is deleted.
    private func endSessions(
        of account: RemoteAccount, _ login: RemoteLogin, at remote: Remote,
        _ connector: any Connector, _ transport: HTTPRemoteTransport
    ) async throws {
        var login = login
        var sender = LoginSender(
            transport: transport, log: log, signsTime: connector.manifest.signsTime)
        var failure = try await askToEndSessions(of: account, login, at: remote, connector, &sender)
        if failure?.code == .unauthorized,
            let new = try await renewedAccount(of: login, at: remote, connector, &sender)
        {
            login.account = new
            failure = try await askToEndSessions(of: new, login, at: remote, connector, &sender)
        }
        guard let failure else { return }
        if failure.code == .unauthorized {
            throw SyncError(
                .unauthorized,
                "the token is no longer valid, so \(remote.name) did not end the sessions",
                hint: "run storectl login \(remote.name) first, and then log out again")
        }
        throw SyncError(
            .remoteError,
            "\(remote.name) did not end the sessions: \(login.redacting(failure).message)",
            hint: "try again, or log out this device only, without --everywhere")
    }

    /// Returns the request that ends the sessions; throws `.usage` if the system has none.
    private func logOutRequest(
        _ account: RemoteAccount, at remote: Remote, _ connector: any Connector
    ) throws(SyncError) -> RemoteRequest {
        if let request = connector.logOutRequest(account) { return request }
        throw SyncError(
            .usage, "\(remote.name) cannot end sessions; only Shelby's v1 API can",
            hint: "storectl logout \(remote.name) without --everywhere logs out only this device")
    }

    /// Asks the remote to end the sessions; returns the failure reported by its response.
    private func askToEndSessions(
        of account: RemoteAccount, _ login: RemoteLogin, at remote: Remote,
        _ connector: any Connector, _ sender: inout LoginSender
    ) async throws -> SyncFailure? {
        let request = try logOutRequest(account, at: remote, connector)
        do throws(SyncFailure) {
            return connector.logOutFailure(
                try await sender.send(request) { connector.authorize(&$0, account, $1) })
        } catch {
            guard !error.isUnsent else { throw named(error, remote, login) }
            throw SyncError(
                error.code,
                "\(remote.name) may have ended the sessions, but did not confirm it:"
                    + " \(login.redacting(error).message)",
                hint:
                    "this device stays logged in: run storectl logout \(remote.name) --everywhere again"
            )
        }
    }

    /// Returns the account with a new token; nil if the remote refuses the stored secrets or they do
    /// not suffice for a login.
    private func renewedAccount(
        of login: RemoteLogin, at remote: Remote, _ connector: any Connector,
        _ sender: inout LoginSender
    ) async throws -> RemoteAccount? {
        do {
            let (account, _) = try await sender.logIn(connector) {
                try connector.login(login.secrets, $0)
            }
            try account.check(against: login.account?.user, at: remote)
            return account
        } catch let failure as SyncFailure {
            if failure.code == .unauthorized { return nil }
            throw named(failure, remote, login)
        }
    }
}

// MARK: - Sign-outs

extension StoreRemotes {
    /// Returns the events that sign the user out of a system on all devices.
    @available(*, noasync)
    func signedOut(of system: String) throws -> [ProposedEvent] {
        try runner.signedOut(of: system, on: nil, projections)
    }
}

extension ProjectionRunner {
    /// Returns the events that sign the user out of a system, on all devices or on the given one.
    @available(*, noasync)
    func signedOut(
        of system: String, on device: OriginID?, _ projections: VideoProjections
    ) throws -> [ProposedEvent] {
        try read([projections.accounts.name]) {
            try SignOut(at: system, on: device).decide(
                VideoQueries($0, projections: projections))
        }.map { try ProposedEvent($0) }
    }
}
