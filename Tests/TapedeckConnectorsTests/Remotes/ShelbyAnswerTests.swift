import Tapedeck
import TapedeckConnectors
import TapedeckModel
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// Requests and responses as Shelby's own servers send and expect them.
@Suite(.offTasks) struct ShelbyAnswerTests {
    private let rig = ShelbyV1Rig()

    /// Returns a device that has read the remote, and one of the videos.
    private func reader() throws -> (RemoteDevice, String) {
        let device = try rig.device()
        try device.sync()
        return (device, try #require(try rig.untouched().first))
    }

    private func share(_ video: String, to destination: String, _ recipients: String? = nil)
        -> VideoShared
    {
        var share = ShelbyV1Rig.shared(video, "look")
        share.destinations = [destination]
        if let recipients { share.to = recipients }
        return share
    }

    // MARK: - v1

    @Test(arguments: ["personal_roll_id", "public_roll_id"])
    func bothNamesOfTheRollAreAccepted(name: String) throws {
        let body = #"{"status":200,"result":{"id":"u","authentication_token":"t","\#(name)":"r"}}"#
        let step = try ShelbyV1Connector().login(
            RemoteSecrets(user: "a", password: "b"),
            [RemoteResponse(status: 200, body: Array(body.utf8))])
        guard case .done(let account, _) = step else { return #expect(Bool(false), "\(step)") }
        #expect(account.details["roll"] == "r")
    }

    @Test func wrongPasswordsAreUnauthorized() throws {
        try rig.change { world in
            for id in world.users.keys { world.users[id]?.password = "changed" }
        }
        let report = try #require(try rig.device().sync())
        #expect(report.failure?.code == .unauthorized)
    }

    @Test func userLogsInThroughALinkedService() throws {
        var secrets = RemoteSecrets(token: "a-twitter-token", tokenSecret: "its-secret")
        secrets.service = .init(name: "twitter", user: "100")
        let device = try RemoteDevice(rig.world, "shelby", secrets, root: "/v1")
        let report = try #require(try device.sync())
        #expect(report.failure == nil && report.pulled > 0)
    }

    /// The remote explains some refusals with an object instead of a string.
    @Test func refusalsWithAnObjectAreExplained() throws {
        var secrets = RemoteSecrets(token: "a-twitter-token")
        secrets.service = .init(name: "twitter", user: "999")
        let device = try RemoteDevice(rig.world, "shelby", secrets, root: "/v1")
        let report = try #require(try device.sync())
        #expect(report.failure?.code == .unauthorized)
        let message = try #require(report.failure?.message)
        #expect(message.contains("Account not found"), "\(message)")
    }

    @Test func emailSharesIncludeTheirRecipients() throws {
        let (device, video) = try reader()
        try device.append(share(video, to: "email", "grace@example.org,joan@example.org"))
        try device.sync()
        #expect(
            try rig.effects(.share).map(\.detail) == ["email,grace@example.org,joan@example.org"])
        #expect(try device.outbox().isEmpty)
    }

    /// The remote remembers the addresses of all shares, including those of other devices.
    @Test func rememberedAddressesAreRecipients() throws {
        let (device, video) = try reader()
        try device.append(share(video, to: "email", "Grace@example.org,joan@example.org"))
        try device.sync()
        let id = try rig.account().id
        try rig.change { $0.users[id]?.addresses += ["no address", "grace@example.org"] }
        let other = try rig.device()
        try other.sync()
        #expect(
            try other.query { try $0.recipients().recipients.map(\.address) }
                == ["Grace@example.org", "joan@example.org"])
        try other.append(
            ContactNoted.with { ($0.address, $0.removed) = ("joan@example.org", true) })
        // Another login does not restore a removed address.
        var shelby = try rig.shelby()
        shelby.expireTokens()
        rig.world.simulator = shelby
        rig.world.clock.advance(by: .seconds(3_600))
        let report = try #require(try other.sync())
        #expect(report.failure == nil)
        #expect(
            try other.query { try $0.recipients().recipients.map(\.address) }
                == ["Grace@example.org"])
        #expect(try other.recorded(ContactObserved.self).count == 2)
    }

    @Test func sharesToUnknownServicesAreNotSent() throws {
        let (device, video) = try reader()
        let count = rig.world.requests.count
        let event = try device.append(share(video, to: "tumblr"))
        let report = try #require(try device.sync())
        #expect(report.refused.map(\.event) == [event])
        #expect(!rig.world.requests.dropFirst(count).contains { $0.path.hasSuffix("/share") })
    }

    /// After a 503, there is usually no way to check whether the remote carried out a share, but a
    /// 503 with `Retry-After` means that it did not.
    @Test func sharesAreSentAgainAfterTheRequestedWait() throws {
        let (device, video) = try reader()
        try device.append(share(video, to: "twitter"))
        var count = 0
        rig.world.portal = { request in
            guard request.path.hasSuffix("/share") else { return nil }
            count += 1
            return count > 1
                ? nil : RemoteResponse(status: 503, headers: [.init("Retry-After", "2")])
        }
        try device.sync()
        #expect(try rig.effects(.share).count == 1)
        #expect(try device.outbox().isEmpty)
    }

    /// A video with an id that its provider cannot have issued is recorded as unplayable, so that
    /// syncs do not keep reporting an unreadable row.
    @Test func aMalformedIDIsUnplayable() throws {
        try rig.change { world in
            let ids = world.videos.keys.sorted()
            world.videos[ids[0]]?.provider = "vimeo"
            world.videos[ids[0]]?.providerID = "abc"
            world.videos[ids[1]]?.providerID += "&feature=share"
        }
        let device = try rig.device()
        let report = try #require(try device.sync())
        #expect(report.unreadable.isEmpty)
        let now = UTCTime(milliseconds: Int64(rig.world.clock.milliseconds))
        let page = try device.query { try $0.playability(.unplayable, at: now) }
        #expect(page.videos.map(\.video) == ["vimeo:abc"])
        #expect(page.videos.map(\.reason) == ["malformed-id"])
        try device.sync(refreshesAll: true)
        #expect(try device.recorded(PlayabilityChecked.self).count == 1)
    }

    // MARK: - v2

    private func shelbyV2() throws -> (RemoteWorld, RemoteDevice, VideoShared) {
        let world = RemoteWorld { ShelbyV2Simulator(seed: 7, at: $0) }
        let device = try RemoteDevice(
            world, "shelby",
            RemoteSecrets(
                token: SimulatorAccount.oauthToken, tokenSecret: SimulatorAccount.oauthSecret))
        try device.sync()
        let video = try #require(try device.recorded(BroadcastReceived.self).first?.video)
        return (world, device, share(video, to: "twitter"))
    }

    @Test func writesWithANullErrorSucceed() throws {
        let (world, device, share) = try shelbyV2()
        try device.append(share)
        let report = try #require(try device.sync())
        #expect(report.pushed == 1 && report.refused.isEmpty)
        #expect(world.simulator.effects.count == 1)
    }

    @Test func loginErrorsMayHaveTheStatus200() throws {
        let (world, device, share) = try shelbyV2()
        var shelby = try #require(world.simulator as? ShelbyV2Simulator)
        shelby.unauthorizedStatus = 200
        shelby.expireTokens()
        world.simulator = shelby
        try device.append(share)
        let report = try #require(try device.sync())
        #expect(report.failure?.code == .unauthorized && report.refused.isEmpty)
        #expect(try device.outbox().count == 1)
    }

    @Test(arguments: [
        (500, #"{"err":"could not post"}"#, true), (502, "<html>", false), (500, "", false),
    ]) func errorsOfTheRemoteItselfAreRefusals(
        _ status: Int, _ body: String, _ isRefused: Bool
    ) throws {
        let (world, device, share) = try shelbyV2()
        let event = try device.append(share)
        world.portal = { request in
            request.path.hasSuffix("socializations.json")
                ? RemoteResponse(status: status, body: Array(body.utf8)) : nil
        }
        let report = try #require(try device.sync())
        #expect(report.refused.map(\.event) == (isRefused ? [event] : []))
        #expect(report.waiting.map(\.reason) == (isRefused ? [] : [.unknownOutcome]))
    }

    @Test(arguments: [410, 502])
    func errorsWithoutAMessageShowTheStatus(status: Int) throws {
        let (world, device, _) = try shelbyV2()
        world.portal = { _ in RemoteResponse(status: status, body: Array("{}".utf8)) }
        let report = try #require(try device.sync())
        let texts =
            report.unreadable + [report.failure?.message, report.wait?.message].compactMap(\.self)
        #expect(texts.contains { $0.contains("\(status)") }, "\(report)")
    }
}
