internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

extension StoreRemotes {
    /// Logs this device out of a remote: deletes its login, and ends its syncs with the remote, also those of other
    /// processes.
    ///
    /// What is not delivered yet waits for the next login of the same account; the store goes on to belong to it. That
    /// the user is signed out is recorded. A device that has not logged in is left as it is.
    ///
    /// - Parameter everywhere: whether the remote is asked first to end all sessions of the account, on all devices and
    ///   in other programs. If that fails, the login stays.
    /// - Returns: how many intents are not delivered.
    ///
    /// Throws `SyncError`: `.notFound`; with `everywhere` also `.usage` (the system cannot be asked to, or the device
    /// has not logged in), `.offline` and the other codes of a remote.
    @discardableResult
    public func logOut(_ name: String, everywhere: Bool = false) async throws -> Int {
        let (remote, connector) = try await offThread { try self.connector(of: name) }
        if everywhere { try await endSessions(at: remote, connector) }
        return try await offThread {
            // First, so that a sync that hears of the event finds no login.
            logins.remove(remote.name)
            try log.record(try signedOut(of: remote.system))
            return try status(remote).undelivered
        }
    }

    private func endSessions(at remote: Remote, _ connector: any Connector) async throws {
        guard let login = try logins.read(remote), let account = login.account,
            !account.isAnonymous
        else {
            throw SyncError(
                .usage, "this device has not logged in at \(remote.name)",
                hint: "log out on a device that has, or log in first: storectl login \(remote.name)"
            )
        }
        guard var request = connector.logOutRequest(account) else {
            throw SyncError(
                .usage, "\(remote.system) cannot be asked to end sessions",
                hint: "storectl logout \(remote.name) without --everywhere logs out this device")
        }
        let moment = RequestMoment(base: remote.url, now: log.now(), nonce: .random(in: 0...(.max)))
        connector.authorize(&request, account, moment)
        let transport = try HTTPRemoteTransport(base: remote.url)
        let answer: Result<RemoteResponse, any Error>
        do {
            answer = .success(try await transport.send(request))
        } catch {
            answer = .failure(Self.named(error, remote, login))
        }
        await transport.close()
        if let failure = connector.logOutFailure(try answer.get()) {
            throw SyncError(
                .remoteError,
                "\(remote.name) did not end the sessions: \(login.redacting(failure).message)",
                hint: "try again, or log out on this device alone, without --everywhere")
        }
    }
}
