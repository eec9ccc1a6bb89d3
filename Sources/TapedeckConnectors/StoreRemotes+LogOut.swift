internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

extension StoreRemotes {
    /// Logs this device out of a remote: deletes its login and ends its syncs with the remote,
    /// including syncs in other processes.
    ///
    /// The store still belongs to the account, and pending deliveries wait until the user logs in
    /// to the account again. The sign-out is recorded. Other devices stay logged in.
    ///
    /// - Parameter everywhere: Whether to first ask the remote to end all sessions of the account,
    ///   on all devices and in other programs. If the remote does not end them, this device stays
    ///   logged in. Each of the user's other devices deletes its login and ends its syncs when it
    ///   receives the logout.
    /// - Returns: The number of undelivered intents.
    ///
    /// Throws `SyncError` with `.notFound` if the remote does not exist. If `everywhere` is true,
    /// it also throws `.usage` (the system cannot end sessions, or the device is not logged in),
    /// `.offline`, or another code for a failure of the remote.
    @discardableResult
    public func logOut(_ name: String, everywhere: Bool = false) async throws -> Int {
        let (remote, connector) = try await offThread { try self.connector(of: name) }
        if everywhere { try await endSessions(at: remote, connector) }
        return try await offThread {
            var events = try signedOut(of: remote.system)
            if everywhere {
                events.append(
                    try ProposedEvent(RemoteLoginsEnded.with { $0.name = remote.name }))
                // The event ends this login too. If it cannot be recorded, the login is needed to
                // try again.
                try log.record(events)
                logins.remove(remote.name)
            } else {
                // Remove the login first, so that a sync that notices the event finds no login.
                logins.remove(remote.name)
                try log.record(events)
            }
            return try status(remote).undelivered
        }
    }

    private func endSessions(at remote: Remote, _ connector: any Connector) async throws {
        let login = try await offThread { try logins.read(remote) }
        guard let login, let account = login.account,
            !account.isAnonymous
        else {
            throw SyncError(
                .usage, "this device is not logged in to \(remote.name)",
                hint: "run storectl login \(remote.name) first, or use a device that is logged in")
        }
        guard var request = connector.logOutRequest(account) else {
            throw SyncError(
                .usage, "\(remote.system) cannot end sessions on request",
                hint:
                    "storectl logout \(remote.name) without --everywhere logs out only this device")
        }
        let moment = RequestMoment(base: remote.url, now: log.now(), nonce: .random(in: 0...(.max)))
        connector.authorize(&request, account, moment)
        let transport = try await transport(to: remote.url)
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
                hint: "try again, or log out this device only, without --everywhere")
        }
    }
}
