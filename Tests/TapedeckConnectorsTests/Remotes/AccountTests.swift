import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// A store belongs to one account on a remote, and nothing is sent after the user logs out.
@Suite(.offTasks) struct AccountTests {
    private func remotes(_ device: RemoteDevice) -> StoreRemotes {
        StoreRemotes(device.store.log, device.store.projections)
    }

    /// Drives a live session until it is idle, and returns it.
    private func idle(_ device: RemoteDevice) throws -> RemoteSession {
        var session = try #require(try device.session(isLive: true))
        var step = try session.begin()
        while true {
            switch step {
            case .send(let request): step = try session.answered(try device.world.send(request))
            case .wait(let wait), .pause(let wait):
                device.world.clock.set(milliseconds: wait.until)
                step = try session.woken()
            case .idle: return session
            case .end(let failure):
                Issue.record("the session ended: \(String(describing: failure))")
                return session
            }
        }
    }

    private func like(_ device: RemoteDevice, _ rig: ShelbyV1Rig) throws {
        try device.append(ShelbyV1Rig.liked(try #require(try rig.untouched().first), true))
    }

    /// Wakes a session and returns the code of the failure that ends it; nil if it does not fail.
    private func ends(_ session: inout RemoteSession) throws -> ErrorCode? {
        guard case .end(let failure) = try session.woken() else { return nil }
        #expect(session.report.failure?.code == failure?.code)
        return failure?.code
    }

    @Test func sessionsNeverContinueWithAnotherAccount() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        try device.append(
            SignedIn.with {
                $0.account = "another user"
                $0.system = "shelby"
            })
        try like(device, rig)
        let (first, file) = (device.world.requests.count, device.logins)
        let before = try #require(try file.read(device.remote))
        // The token has expired, and the secrets now belong to an account other than the store's.
        var ended = before
        ended.account = nil
        try file.write(ended, for: device.remote)
        let report = try #require(try device.sync())
        #expect(report.failure?.code == .conditionFailed)
        #expect(device.world.requests[first...].map(\.path) == ["/token"])
        #expect(try rig.effects(.like).isEmpty)
        #expect(try device.outbox().count == 1)
        #expect(try file.read(device.remote)?.account == nil)
    }

    /// Two devices log in to different accounts and sync with each other only afterwards.
    @Test func nothingIsSentAfterStoresOfDifferentAccountsHaveMet() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        try like(device, rig)
        try device.append(
            SignedIn.with { ($0.account, $0.system) = ("another user", "shelby") })
        let sent = device.world.requests.count
        let report = try #require(try device.sync())
        #expect(report.failure?.code == .conditionFailed)
        #expect(report.failure?.message.contains("another user") == true)
        #expect(device.world.requests.count == sent)
        #expect(try device.outbox().count == 1)
    }

    private static let adasLogin = RemoteSecrets(
        user: SimulatorAccount.user, password: SimulatorAccount.password)
    private static let bensLogin = RemoteSecrets(
        user: "user1@example.org", password: "password 1")

    private func bensDevice(_ rig: ShelbyV1Rig) throws -> RemoteDevice {
        try RemoteDevice(rig.world, "shelby", AccountTests.bensLogin, seed: 2, root: "/v1")
    }

    /// Returns a device of each of two users, who have signed in but not synced with each other.
    private func signedInDevices(
        _ rig: ShelbyV1Rig
    ) throws -> (ada: RemoteDevice, ben: RemoteDevice) {
        let (ada, ben) = (try rig.device(), try bensDevice(rig))
        for device in [ada, ben] {
            try device.sync()
            try signIn(account(of: device), on: device)
        }
        return (ada, ben)
    }

    /// Records a sign-out, as `storectl logout --everywhere` does.
    private func signOut(_ device: RemoteDevice) throws {
        let events = try device.query { try SignOut(at: "shelby").decide($0) }
        try device.store.log.appendBlocking(events.map { try ProposedEvent($0) })
    }

    @Test(arguments: [true, false])
    func changesOfALoggedOutAccountAreNotSentFromAnother(hasSyncedBefore: Bool) throws {
        let rig = ShelbyV1Rig()
        let (ada, ben) = try signedInDevices(rig)
        let server = SequencingServer()
        if hasSyncedBefore { try server.sync(ada, ben) }
        try ben.append(ShelbyV1Rig.comment(try rig.untouched()[0], "from ben"))
        try signOut(ben)
        try server.sync(ada, ben)
        // Wait until the lease of the device that recorded the comment has ended.
        rig.world.clock.advance(by: .seconds(1_000))
        #expect(try ada.sync()?.failure?.code == .conditionFailed)
        #expect(!rig.world.simulator.effects.contains { $0.kind == .comment })

        // A new login shows that the user wants the store to belong to this account.
        try signIn(account(of: ada), on: ada)
        #expect(try ada.sync()?.failure == nil)
    }

    /// Sessions, the outbox and the status report the same reason, as long as the conflict lasts.
    @Test func pendingIntentsWaitUntilTheConflictIsSettled() throws {
        let rig = ShelbyV1Rig()
        let (ada, ben) = try signedInDevices(rig)
        let server = SequencingServer()
        try ben.append(ShelbyV1Rig.comment(try rig.untouched()[0], "from ben"))
        for _ in 0..<3 {
            try server.sync(ada, ben)
            // Wait until the lease of the device that recorded the comment has ended.
            rig.world.clock.advance(by: .seconds(1_000))
            for device in [ada, ben] {
                let report = try #require(try device.sync())
                let failure = try #require(report.failure)
                #expect(failure.code == .conditionFailed)
                let waiting = RemoteDelivery.State.waiting(
                    reason: failure.code, message: failure.message, until: nil)
                #expect(report.waiting.map(\.reason) == [failure.code])
                #expect(report.waiting.first?.message == failure.message)
                #expect(try device.outbox().map(\.state) == [waiting])
                let status = try device.status()
                #expect(status.reason == failure.code && status.message == failure.message)
            }
        }
        try signIn(account(of: ada), on: ada)
        #expect(try ada.status().reason == nil)
        // The comment is another account's, so it waits for a reason of its own.
        let report = try #require(try ada.sync())
        #expect(report.failure == nil)
        #expect(report.waiting.map(\.reason) == [.conditionFailed])
        #expect(report.waiting.first?.message.contains("until you drop it") == true)
        // On a device of the other account, too, and even if it is logged out.
        try server.sync(ada, ben)
        ben.logins.remove("home")
        #expect(try ben.outbox().map(\.state) == ada.outbox().map(\.state))
    }

    /// A login that does not mention the other account must not decide whose changes are sent.
    @Test func loginAloneDoesNotReplaceAnotherAccount() async throws {
        let rig = ShelbyV1Rig()
        let (ada, ben) = try signedInDevices(rig)
        try signOut(ben)
        try SequencingServer().sync(ada, ben)
        let sent = rig.world.requests.count
        let error = await #expect(throws: SyncError.self) {
            try await remotes(ada).logIn(
                "home",
                RemoteCredentials(
                    user: SimulatorAccount.user, password: SimulatorAccount.password))
        }
        #expect(error?.code == .conditionFailed)
        #expect(error?.hint?.contains("--replace") == true)
        // A new account cannot replace the accounts of the store.
        let new = await #expect(throws: SyncError.self) {
            try await remotes(ada).logIn(
                "home", RemoteCredentials(user: "eve@example.org", password: "secret"), isNew: true,
                replacesOthers: true)
        }
        #expect(new?.code == .conditionFailed)
        #expect(rig.world.requests.count == sent)
        let owners = try ada.query { try $0.owners(at: "shelby") }
        #expect(owners.count == 2)
    }

    private func comments(_ rig: ShelbyV1Rig) -> [SimulatorEffect] {
        rig.world.simulator.effects.filter { $0.kind == .comment }
    }

    /// Syncs the devices with each other and with the remote, until nothing more can be sent.
    private func syncAll(
        _ server: SequencingServer, _ rig: ShelbyV1Rig, _ ada: RemoteDevice, _ ben: RemoteDevice
    ) throws {
        // The devices share the delivery; each round lasts longer than a lease.
        for _ in 0..<3 {
            try server.sync(ada, ben)
            for device in [ada, ben] where try device.login() != nil { try device.sync() }
            rig.world.clock.advance(by: .seconds(500))
        }
    }

    /// The user follows the hint and logs in with one of the accounts on each device.
    @Test(arguments: [true, false], [true, false])
    func storesOfDifferentAccountsFindTheWayOut(
        dropsOther: Bool, isEarliestChosen: Bool
    ) throws {
        let rig = ShelbyV1Rig()
        let (ada, ben) = (try rig.device(), try bensDevice(rig))
        for device in [ada, ben] {
            try device.sync()
            try signIn(account(of: device), on: device)
            rig.world.clock.advance(by: .seconds(1))
        }
        let (chosen, other) = isEarliestChosen ? (ada, ben) : (ben, ada)
        let (own, former) = (try account(of: chosen), try account(of: other))
        try #require(own != former)
        let videos = try rig.untouched()
        try chosen.append(ShelbyV1Rig.comment(videos[0], "from the chosen"))
        let change = try other.append(ShelbyV1Rig.comment(videos[1], "from the other"))
        let server = SequencingServer()
        try server.sync(ada, ben)
        for device in [ada, ben] {
            let failure = try #require(try device.sync()?.failure)
            #expect(failure.code == .conditionFailed)
            #expect(failure.message.contains(own) && failure.message.contains(former))
            #expect(failure.hint?.contains("storectl login home --replace as this") == true)
        }
        #expect(comments(rig).isEmpty)

        if dropsOther { _ = try remotes(other).drop(change) }
        for device in [chosen, other] {
            try signIn(own, on: device)
            try device.logIn(isEarliestChosen ? AccountTests.adasLogin : AccountTests.bensLogin)
        }
        try other.append(ShelbyV1Rig.comment(videos[2], "after the login"))
        try syncAll(server, rig, ada, ben)
        #expect(Set(comments(rig).map(\.text)) == ["from the chosen", "after the login"])
        #expect(comments(rig).count == 2)
        #expect(comments(rig).allSatisfy { $0.account == own })
        for device in [ada, ben] {
            let report = try #require(try device.sync())
            #expect(report.failure == nil)
            let waiting = try device.outbox()
            #expect(waiting.map(\.event.id) == (dropsOther ? [] : [change]))
            #expect(report.waiting.map(\.reason) == waiting.map { _ in .conditionFailed })
            #expect(
                waiting.allSatisfy {
                    if case .waiting(.conditionFailed, _, nil) = $0.state { true } else { false }
                })
        }
    }

    /// A like that is never sent from the owner's account must not replace the owner's like.
    @Test(arguments: [true, false], [true, false])
    func changesOfAnotherAccountDoNotReplaceTheOwners(isOwnerLast: Bool, isOn: Bool) throws {
        let rig = ShelbyV1Rig()
        let (ada, ben) = try signedInDevices(rig)
        let video = try rig.untouched()[0]
        var changes: [EventID] = []
        for device in isOwnerLast ? [ben, ada] : [ada, ben] {
            let liked = ShelbyV1Rig.liked(video, device === ada || isOn)
            changes.append(try device.append(liked))
            rig.world.clock.advance(by: .seconds(1))
        }
        let server = SequencingServer()
        try server.sync(ada, ben)
        try signIn(account(of: ada), on: ada)
        try syncAll(server, rig, ada, ben)
        let likes = try rig.effects(.like)
        #expect(likes.count == 1)
        #expect(try likes.allSatisfy { try $0.account == account(of: ada) })
        let waiting = try ada.outbox()
        #expect(waiting.map(\.event.id) == (isOwnerLast ? [] : [changes[1]]))
        for delivery in waiting { _ = try remotes(ada).drop(delivery.event.id) }
        try syncAll(server, rig, ada, ben)
        #expect(try ada.outbox().isEmpty)
        #expect(try rig.effects(.like).count == 1)
    }

    /// An edit that is never sent from the owner's account must not replace the owner's edit.
    @Test func editsOfAnotherAccountDoNotReplaceTheOwnersPicture() throws {
        let desk = try WhaleDesk()
        let ada = desk.device
        let ben = try RemoteDevice(
            desk.world, "whale", RemoteSecrets(user: "user2@example.org", password: "-"), seed: 8)
        for device in [ada, ben] {
            try device.sync()
            try signIn(account(of: device), on: device)
        }
        try desk.edit { $0.imageURL = "http://img.example.org/by-ada.png" }
        desk.world.clock.advance(by: .seconds(1))
        let bens = try ben.append(
            ProfileEdited.with {
                ($0.user, $0.imageURL) = ("1", "http://img.example.org/by-ben.png")
            })
        try SequencingServer().sync(ada, ben)
        try signIn(account(of: ada), on: ada)
        let report = try #require(try ada.sync())
        #expect(report.failure == nil)
        #expect(desk.effects == ["userImage 1 http://img.example.org/by-ada.png"])
        #expect(try ada.outbox().map(\.event.id) == [bens])
        #expect(report.waiting.map(\.reason) == [.conditionFailed])
    }

    /// With a single account, the latest change of any device is the only one that is sent.
    @Test func changesOfTheSameAccountReplaceEachOther() throws {
        let rig = ShelbyV1Rig()
        let ada = try rig.device()
        let tablet = try RemoteDevice(
            rig.world, "shelby", AccountTests.adasLogin, seed: 2, root: "/v1")
        for device in [ada, tablet] {
            try device.sync()
            try signIn(account(of: device), on: device)
        }
        // The log also knows an account that was replaced.
        try ada.append(SignedIn.with { ($0.account, $0.system) = ("other", "shelby") })
        try signIn(account(of: ada), on: ada)
        let video = try rig.untouched()[0]
        try ada.append(ShelbyV1Rig.liked(video, true))
        rig.world.clock.advance(by: .seconds(1))
        try tablet.append(ShelbyV1Rig.liked(video, false))
        try syncAll(SequencingServer(), rig, ada, tablet)
        #expect(try rig.effects(.like).isEmpty)
        for device in [ada, tablet] { #expect(try device.outbox().isEmpty) }
    }

    /// Each user follows the hint with an account of their own, before their devices sync again.
    @Test(arguments: [true, false])
    func accountsThatReplaceEachOtherLeaveOneOwner(isAdaLast: Bool) async throws {
        let rig = ShelbyV1Rig()
        let (ada, ben) = try signedInDevices(rig)
        let server = SequencingServer()
        try server.sync(ada, ben)
        let devices = isAdaLast ? [ben, ada] : [ada, ben]
        for device in devices {
            try signIn(account(of: device), on: device)
            rig.world.clock.advance(by: .seconds(1))
        }
        try server.sync(ada, ben)
        let owner = try account(of: devices[1])
        for device in [ada, ben] {
            #expect(try device.query { try $0.owners(at: "shelby") }.map(\.account) == [owner])
        }
        // The first device is still logged in to the account that was replaced.
        let shown = try devices.map {
            try $0.query { try $0.signedInAccount(at: "shelby") }?.account
        }
        #expect(shown == [nil, owner])
        #expect(try devices[0].sync()?.failure?.code == .conditionFailed)
        #expect(try devices[1].sync()?.failure == nil)
    }

    /// A store in which all accounts were replaced belongs to none of them alone.
    @Test func aStoreWhoseAccountsAreAllReplacedBelongsToNoneAlone() throws {
        let device = try ShelbyV1Rig().device()
        for (account, other) in [("ada", "ben"), ("ben", "ada")] {
            try device.append(SignedIn.with { ($0.account, $0.system) = (account, "shelby") })
            try device.append(
                SignedOut.with {
                    ($0.account, $0.system, $0.replacedBy) = (account, "shelby", other)
                })
        }
        let owners = try device.query { try $0.owners(at: "shelby") }
        #expect(Set(owners.map(\.account)) == ["ada", "ben"])
        #expect(try device.sync()?.failure?.code == .conditionFailed)
    }

    /// The user of a replaced account works on before the device hears of it.
    @Test func laterChangesOfAReplacedAccountAreNotSentFromAnother() throws {
        let rig = ShelbyV1Rig()
        let (ada, ben) = try signedInDevices(rig)
        let server = SequencingServer()
        try server.sync(ada, ben)
        try signIn(account(of: ada), on: ada)
        let videos = try rig.untouched()
        let first = try ben.append(ShelbyV1Rig.comment(videos[0], "from ben"))
        try server.sync(ada, ben)
        let second = try ben.append(ShelbyV1Rig.comment(videos[1], "from ben, who still works"))
        try syncAll(server, rig, ada, ben)
        #expect(comments(rig).isEmpty)
        #expect(try ben.sync()?.failure?.code == .conditionFailed)
        #expect(try ada.outbox().map(\.event.id) == [first, second])
    }

    /// With a single account, every device speaks for it, even if it has no login of its own.
    @Test(arguments: [true, false])
    func devicesWithoutALoginSpeakForTheOnlyAccount(hasOther: Bool) throws {
        let rig = ShelbyV1Rig()
        let ada = try rig.device()
        try ada.sync()
        try signIn(account(of: ada), on: ada)
        let tablet = try RemoteDevice(rig.world, "shelby", seed: 3, root: "/v1")
        let change = try tablet.append(ShelbyV1Rig.comment(try rig.untouched()[0], "from a tablet"))
        let server = SequencingServer()
        try server.sync(ada, tablet)
        if hasOther {
            try ada.append(SignedIn.with { ($0.account, $0.system) = ("other", "shelby") })
            // Ada's device has signed in to both accounts; now it belongs to hers again.
            try signIn(account(of: ada), on: ada)
        }
        try syncAll(server, rig, ada, tablet)
        #expect(comments(rig).map(\.text) == (hasOther ? [] : ["from a tablet"]))
        #expect(try ada.outbox().map(\.event.id) == (hasOther ? [change] : []))
    }

    @Test func loggedOutDevicesReportTheConflict() throws {
        let rig = ShelbyV1Rig()
        let (ada, ben) = try signedInDevices(rig)
        try ben.append(ShelbyV1Rig.comment(try rig.untouched()[0], "from ben"))
        try SequencingServer().sync(ada, ben)
        ben.logins.remove("home")
        let error = #expect(throws: SyncError.self) { _ = try ben.session() }
        #expect(error?.code == .conditionFailed)
        #expect(error?.hint?.contains("--replace") == true)
        let status = try ben.status()
        #expect(status.reason == .conditionFailed)
        #expect(
            try ben.outbox().map(\.state).allSatisfy {
                if case .waiting(.conditionFailed, _, _) = $0 { true } else { false }
            })
    }

    @Test func logoutStopsALiveSession() async throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        var session = try idle(device)
        let sent = device.world.requests.count
        try like(device, rig)
        try await remotes(device).logOut("home")
        #expect(try ends(&session) == .unauthorized)
        #expect(device.world.requests.count == sent)
    }

    @Test func removingTheRemoteEndsALiveSession() async throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        var session = try idle(device)
        let sent = device.world.requests.count
        // Another process may still write its login after the remote is removed.
        let file = device.logins
        let login = try #require(try device.login())
        try await onThread { [remotes = remotes(device)] in try remotes.remove("home") }
        try file.write(login, for: device.remote)
        try like(device, rig)
        #expect(try ends(&session) == .unauthorized)
        #expect(device.world.requests.count == sent)
    }

    @Test func logoutKeepsUndeliveredIntents() async throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let login = try #require(try device.login())
        try like(device, rig)
        #expect(try await remotes(device).logOut("home") == 1)
        #expect(throws: SyncError.self) { try device.session() }
        // Logging out twice is not an error.
        #expect(try await remotes(device).logOut("home") == 1)
        try device.logIn(login.secrets)
        try device.sync()
        #expect(try rig.effects(.like).count == 1)
        #expect(try device.outbox().isEmpty)
    }

    @Test func logOutEverywhereFailsIfUnsupported() async throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        let error = await #expect(throws: SyncError.self) {
            try await remotes(desk.device).logOut("home", everywhere: true)
        }
        #expect(error?.code == .usage)
        #expect(try desk.device.login() != nil)
    }
}
