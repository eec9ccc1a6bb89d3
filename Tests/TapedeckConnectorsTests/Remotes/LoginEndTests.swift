import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// A login ends when the user removes the remote or logs out everywhere on another device.
@Suite(.offTasks) struct LoginEndTests {
    private let rig = ShelbyV1Rig()
    /// The device on which the user ends the logins, and the device whose login ends.
    private let (first, second): (RemoteDevice, RemoteDevice)

    private static let secrets = RemoteSecrets(
        user: SimulatorAccount.user, password: SimulatorAccount.password)
    private static let hour: UInt64 = 3_600_000

    init() throws {
        (first, second) = (try rig.device(seed: 1), try rig.device(seed: 2))
    }

    private var clock: ManualClock { rig.world.clock }

    private func remotes(_ device: RemoteDevice) -> StoreRemotes {
        StoreRemotes(device.store.log, device.store.projections)
    }

    /// Ends the sessions at the remote, and records what `logOut` with `everywhere` records.
    private func logOutEverywhere(on device: RemoteDevice? = nil) throws {
        let device = device ?? first
        try expireTokens()
        try device.append(RemoteLoginsEnded.with { $0.name = "home" })
        device.logins.remove("home")
    }

    private func expireTokens() throws {
        var shelby = try rig.shelby()
        shelby.expireTokens()
        rig.world.simulator = shelby
    }

    private func removeAndAddAgain() throws {
        try remotes(first).remove("home")
        try remotes(first).add("home", system: "shelby", url: first.remote.url)
    }

    /// Checks that the second device sends nothing and has no secrets on the disk.
    private func checkEnded(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let sent = rig.world.requests.count
        let error = #expect(throws: SyncError.self, sourceLocation: sourceLocation) {
            try second.sync()
        }
        #expect(error?.code == .unauthorized, sourceLocation: sourceLocation)
        #expect(rig.world.requests.count == sent, sourceLocation: sourceLocation)
        try remotes(second).removeEndedLogins()
        #expect(second.loginFiles.isEmpty, sourceLocation: sourceLocation)
    }

    private func checkSyncs(
        _ device: RemoteDevice, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let report = try #require(try device.sync(), sourceLocation: sourceLocation)
        #expect(report.failure == nil, sourceLocation: sourceLocation)
        try remotes(device).removeEndedLogins()
        #expect(device.loginFiles == ["home.json"], sourceLocation: sourceLocation)
    }

    /// Performs a session's steps until it is idle or ends; returns the failure that ended it.
    private func drive(
        _ session: inout RemoteSession, _ first: RemoteSession.Step
    ) throws -> SyncFailure? {
        var step = first
        while true {
            switch step {
            case .send(let request): step = try session.answered(try rig.world.send(request))
            case .wait(let wait), .pause(let wait):
                clock.set(milliseconds: max(clock.milliseconds, wait.until))
                step = try session.woken()
            case .idle: return nil
            case .end(let failure): return failure
            }
        }
    }

    // MARK: - What ends logins

    @Test func remoteRemovedAndAddedAgainRequiresANewLogin() throws {
        try checkSyncs(second)
        try removeAndAddAgain()
        try exchange(first, second)
        try checkEnded()
        try second.logIn(Self.secrets)
        try checkSyncs(second)
    }

    @Test func removedRemotesLeaveNoSecrets() throws {
        try remotes(first).remove("home")
        try exchange(first, second)
        try remotes(second).removeEndedLogins()
        #expect(second.loginFiles.isEmpty)
    }

    /// How a device ends the logins of another device whose sign-in it does not know.
    enum End: CaseIterable { case removal, address, everywhere }

    @Test(arguments: End.allCases)
    func deviceWhoseLoginEndsOnArrivalSignsOut(end: End) throws {
        let third = try rig.device(seed: 3)
        for device in [second, third] { try checkSyncs(device) }
        try signIn(account(of: second), on: second)
        switch end {
        case .removal: try removeAndAddAgain()
        case .address:
            try remotes(first).add("home", system: "shelby", url: first.remote.url + "/v1")
            try remotes(first).add("home", system: "shelby", url: first.remote.url)
        case .everywhere: try logOutEverywhere()
        }
        try exchange(first, second)
        try exchange(first, third)
        try remotes(third).removeEndedLogins()
        try third.logIn(Self.secrets)
        try checkSyncs(third)
        let user = try account(of: third)
        // The second device has not noticed yet that its login has ended.
        try exchange(second, third)
        #expect(try second.query { try $0.signedInAccount(at: "shelby") } != nil)
        try remotes(second).removeEndedLogins()
        #expect(try second.query { try $0.signedInAccount(at: "shelby") } == nil)

        // A sign-out of one device leaves the later login of another one alone.
        try signIn(user, on: third)
        try exchange(second, third)
        try remotes(second).removeEndedLogins()
        for device in [second, third] {
            #expect(try device.query { try $0.signedInAccount(at: "shelby") }?.account == user)
        }
    }

    @Test func addressThatChangedAndChangedBackRequiresANewLogin() throws {
        try remotes(first).add("home", system: "shelby", url: first.remote.url + "/v1")
        try remotes(first).add("home", system: "shelby", url: first.remote.url)
        try exchange(first, second)
        try checkEnded()
    }

    @Test func logoutEverywhereEndsTheOtherLoginsOnce() throws {
        for device in [first, second] { try checkSyncs(device) }
        try logOutEverywhere()
        try exchange(first, second)
        try checkEnded()
        try second.logIn(Self.secrets)
        try checkSyncs(second)
        try first.logIn(Self.secrets)
        try checkSyncs(first)
        try exchange(first, second)
        for device in [first, second] { try checkSyncs(device) }
    }

    @Test func logoutOfOneDeviceKeepsTheOtherLogins() async throws {
        for device in [first, second] { try checkSyncs(device) }
        let user = try #require(try first.login()?.account?.user)
        try first.append(SignedIn.with { ($0.account, $0.system) = (user, "shelby") })
        let end = try first.store.log.currentHead()
        try await remotes(first).logOut("home")
        #expect(try first.store.log.currentHead() == end, "a logout of one device is not recorded")
        #expect(first.loginFiles.isEmpty)
        try exchange(first, second)
        #expect(try second.query { try $0.signedInAccounts(at: "shelby") }.count == 1)
        try checkSyncs(second)
    }

    @Test func addingTheSameRemoteOnTwoDevicesEndsNoLogin() throws {
        // Each device has added the remote and logged in before the first exchange.
        try exchange(first, second)
        for device in [first, second] { try checkSyncs(device) }
    }

    @Test func loginsOfOlderVersionsEndWithTheFirstEvent() throws {
        try second.logins.write(RemoteLogin(secrets: Self.secrets), for: second.remote)
        try checkSyncs(second)
        try logOutEverywhere()
        try exchange(first, second)
        try checkEnded()
    }

    // MARK: - Clocks

    /// Beyond a day, imported events do not advance the clock of the device.
    @Test(arguments: [1, 48] as [UInt64])
    func loginAfterARemovalIsKeptDespiteASlowClock(hours: UInt64) throws {
        let now = clock.milliseconds
        clock.set(milliseconds: now + hours * Self.hour)
        try removeAndAddAgain()
        clock.set(milliseconds: now)
        try exchange(first, second)
        try checkEnded()
        try second.logIn(Self.secrets)
        try checkSyncs(second)
    }

    /// The second device's clock is an hour ahead while the user logs in on it, and is then
    /// corrected.
    ///
    /// The user ends the logins on the first device, either after this login or before it; when
    /// logging in, the second device does not know about the earlier end.
    @Test(arguments: [true, false], [true, false])
    func fastClockDoesNotProtectALogin(isRemoval: Bool, isEndedBefore: Bool) throws {
        func end() throws {
            if isRemoval { try remotes(first).remove("home") } else { try logOutEverywhere() }
        }
        if isEndedBefore { try end() }
        let now = clock.milliseconds
        clock.set(milliseconds: now + Self.hour)
        try second.logIn(Self.secrets)
        try checkSyncs(second)
        clock.set(milliseconds: now)
        if !isEndedBefore { try end() }
        try exchange(first, second)
        try checkEnded()
    }

    @Test func knownEndFromTheFutureDoesNotHideALaterEnd() throws {
        let third = try rig.device(seed: 3)
        let now = clock.milliseconds
        clock.set(milliseconds: now + 48 * Self.hour)
        try logOutEverywhere()
        clock.set(milliseconds: now)
        try exchange(first, second)
        try second.logIn(Self.secrets)
        try checkSyncs(second)
        try logOutEverywhere(on: third)
        try exchange(third, second)
        try checkEnded()
    }

    // MARK: - Concurrent logins

    @Test(arguments: [true, false])
    func concurrentEndEndsALoginOnce(isLoginLater: Bool) throws {
        if isLoginLater { try logOutEverywhere() } else { try second.logIn(Self.secrets) }
        clock.advance(by: .seconds(1))
        if isLoginLater { try second.logIn(Self.secrets) } else { try logOutEverywhere() }
        try exchange(first, second)
        try checkEnded()
        try second.logIn(Self.secrets)
        try checkSyncs(second)
    }

    @Test func endThatArrivesDuringALoginEndsIt() throws {
        // The login's first request is sent before the event arrives, and the last one after it.
        let known = try second.logins.knownEnds(of: "home")
        try logOutEverywhere()
        try exchange(first, second)
        try second.logins.write(
            RemoteLogin(secrets: Self.secrets, knownEnds: known), for: second.remote)
        try checkEnded()
    }

    @Test func renewedTokenKeepsALoginThatKnewTheEnd() throws {
        try logOutEverywhere()
        try exchange(first, second)
        try second.logIn(Self.secrets)
        try checkSyncs(second)
        try expireTokens()
        for _ in 0..<2 { try checkSyncs(second) }
    }

    @Test func renewedTokenDoesNotOutliveAnEarlierEnd() throws {
        try checkSyncs(second)
        clock.advance(by: .seconds(1))
        try logOutEverywhere()
        clock.advance(by: .seconds(1))
        // The device has not received the event yet, so it renews its token.
        let logins = rig.world.requests.count { $0.path == "/token" }
        try checkSyncs(second)
        #expect(rig.world.requests.count { $0.path == "/token" } == logins + 1)
        try exchange(first, second)
        try checkEnded()
    }

    // MARK: - Interrupted logouts

    /// Leaves the mark that a process leaves if it is killed during a logout everywhere.
    private func beginLogout() throws {
        var login = try #require(try first.login())
        login.isEnding = true
        try first.logins.write(login, for: first.remote)
    }

    @Test func interruptedLogoutKeepsTheLoginUnused() throws {
        try checkSyncs(first)
        try beginLogout()
        let (sent, end) = (rig.world.requests.count, try first.store.log.currentHead())
        let error = #expect(throws: SyncError.self) { try first.sync() }
        #expect(error?.code == .unauthorized)
        #expect(error?.hint?.contains("storectl logout home --everywhere") == true)
        let refused = #expect(throws: SyncError.self) { try remotes(first).checkLogin(at: "home") }
        #expect(refused?.hint == error?.hint)
        #expect(try first.status().message == error?.message)
        // Neither a query nor the removal of ended logins decides the logout.
        _ = try remotes(first).all()
        try remotes(first).removeEndedLogins()
        #expect(try first.login()?.account != nil)
        #expect(rig.world.requests.count == sent)
        #expect(try first.store.log.currentHead() == end)
    }

    @Test func logoutOfThisDeviceGivesUpAnInterruptedLogout() async throws {
        try checkSyncs(first)
        try beginLogout()
        try await remotes(first).logOut("home")
        #expect(first.loginFiles.isEmpty)
        try first.logIn(Self.secrets)
        try checkSyncs(first)
    }

    @Test func loginThatWasEndedMeanwhileEndsNoOtherLogins() throws {
        try beginLogout()
        try logOutEverywhere(on: second)
        try exchange(second, first)
        let end = try first.store.log.currentHead()
        try remotes(first).removeEndedLogins()
        #expect(try first.store.log.currentHead() == end)
        try first.logIn(Self.secrets)
        try checkSyncs(first)
    }

    @Test func syncDoesNotRenewATokenDuringALogout() throws {
        try checkSyncs(first)
        try expireTokens()
        let sent = rig.world.requests.count
        let report = try #require(
            try first.sync(refreshesAll: true, meanwhile: { _ in try beginLogout() }))
        #expect(report.failure?.code == .unauthorized)
        #expect(rig.world.requests.count == sent + 1)
        #expect(first.loginFiles == ["home.json"])
    }

    @Test func liveSessionSendsNothingDuringALogout() throws {
        var session = try #require(try first.session(isLive: true))
        #expect(try drive(&session, session.begin()) == nil)
        try beginLogout()
        let sent = rig.world.requests.count
        #expect(try drive(&session, session.woken())?.code == .unauthorized)
        #expect(rig.world.requests.count == sent)
        #expect(first.loginFiles == ["home.json"])
    }

    // MARK: - Sessions

    @Test func liveSessionEndsWhenTheEventArrives() throws {
        var session = try #require(try second.session(isLive: true))
        #expect(try drive(&session, session.begin()) == nil)
        try logOutEverywhere()
        try exchange(first, second)
        let sent = rig.world.requests.count
        #expect(try drive(&session, session.woken())?.code == .unauthorized)
        #expect(rig.world.requests.count == sent)
        #expect(second.loginFiles.isEmpty)
    }

    @Test func refusedRequestIsNotFollowedByALoginIfTheEventHasArrived() throws {
        try checkSyncs(second)
        try logOutEverywhere()
        let sent = rig.world.requests.count
        let report = try #require(
            try second.sync(meanwhile: { _ in try exchange(first, second) }))
        #expect(report.failure?.code == .unauthorized)
        #expect(!rig.world.requests[sent...].contains { $0.path == "/token" })
        #expect(rig.world.requests.count == sent + 1)
        #expect(second.loginFiles.isEmpty)
    }

    @Test func loginInProgressDoesNotRestoreAnEndedLogin() throws {
        var session = try #require(try second.session())
        guard case .send(let request) = try session.begin() else {
            Issue.record("the session does not log in")
            return
        }
        #expect(request.path == "/token")
        let response = try rig.world.send(request)
        try logOutEverywhere()
        try exchange(first, second)
        #expect(try drive(&session, session.answered(response))?.code == .unauthorized)
        #expect(second.loginFiles.isEmpty)
    }

    @Test func loginInProgressDoesNotUndoALogout() async throws {
        var session = try #require(try second.session())
        guard case .send(let request) = try session.begin() else {
            Issue.record("the session does not log in")
            return
        }
        let response = try rig.world.send(request)
        try await remotes(second).logOut("home")
        #expect(try drive(&session, session.answered(response))?.code == .unauthorized)
        #expect(second.loginFiles.isEmpty)
    }

    /// The remote has rejected all requests for a while, and then issues the same token again.
    @Test func liveSessionContinuesAfterALoginWithTheSameToken() throws {
        let known = try #require(try second.logins.read(second.remote))
        var session = try #require(try second.session(isLive: true))
        var step = try session.begin()
        while case .send = step { step = try session.answered(RemoteResponse(status: 401)) }
        let again = RemoteLogin(
            secrets: known.secrets, account: known.account, knownEnds: known.knownEnds)
        try second.logins.write(again, for: second.remote)
        #expect(try drive(&session, session.woken()) == nil)
        try checkSyncs(second)
    }

    @Test func liveSessionContinuesWithANewLogin() throws {
        var session = try #require(try second.session(isLive: true))
        #expect(try drive(&session, session.begin()) == nil)
        try logOutEverywhere()
        try exchange(first, second)
        // The user logs in again, with the same password, before the session notices the event.
        try second.logIn(Self.secrets)
        #expect(try drive(&session, session.woken()) == nil)
        try checkSyncs(second)
    }
}
