import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// Two devices of one user share the delivery of intents through a server.
@Suite(.offTasks) struct CustodySyncTests {
    private let desk: WhaleDesk
    private let server = SequencingServer()

    init() throws { desk = try WhaleDesk() }

    private var phone: RemoteDevice { desk.device }

    private func tablet() throws -> RemoteDevice {
        try RemoteDevice(desk.world, "whale", WhaleDesk.secrets, seed: 2)
    }

    /// Syncs until the first request that changes the remote; the device crashes before the
    /// response arrives.
    ///
    /// - Parameter isLost: Whether the request itself is lost, so that it never reaches the remote.
    private func syncUntilPost(_ device: RemoteDevice, isLost: Bool = false) throws {
        var session = try #require(try device.session())
        var step = try session.begin()
        while case .send(let request) = step {
            if isLost, CustodySyncTests.isPost(request) { return }
            let response = try desk.world.send(request)
            if CustodySyncTests.isPost(request) { return }
            step = try session.answered(response)
        }
        Issue.record("the request was not sent: \(step)")
    }

    /// Syncs a device until it has claimed the intents of other devices and delivered them.
    private func takeOver(_ device: RemoteDevice) throws {
        for _ in 0..<2 {
            desk.world.clock.advance(by: .seconds(480))
            try device.sync()
            try server.sync(device)
        }
        try device.sync()
    }

    private static func isPost(_ request: RemoteRequest) -> Bool {
        request.method == "POST" && !request.path.hasSuffix("sessions")
    }

    private func waits(_ device: RemoteDevice) throws -> [ErrorCode?] {
        try device.outbox().map { delivery in
            guard case .waiting(let reason, _, let until) = delivery.state else { return nil }
            if let until { #expect(until > desk.world.clock.milliseconds) }
            return reason
        }
    }

    @Test(arguments: [true, false]) func requestsAreProbedAfterTheLease(isUpload: Bool) throws {
        try phone.sync()
        _ = try isUpload ? desk.answer("4") : desk.comment("hello")
        try syncUntilPost(phone)
        try server.sync(phone)
        // Another device may now take over the intent, but the intent has already taken effect.
        desk.world.clock.advance(by: .seconds(360))
        #expect(try waits(phone) == [.leased])
        let report = try #require(try phone.sync())
        #expect(report.waitingCount == 0)
        #expect(try phone.outbox().isEmpty)
        #expect(desk.effects == [isUpload ? "answerUploaded 4 " : "comment 1 hello"])
    }

    /// The outbox gives the same reason as the sync for an intent after another one.
    @Test func laterIntentsOfALaneWaitForTheSameReason() throws {
        let tablet = try tablet()
        try phone.sync()
        try tablet.sync()
        try desk.comment("first")
        try server.sync(phone, tablet)
        desk.world.clock.advance(by: .seconds(1))
        try tablet.append(
            CommentPosted.with { ($0.answer, $0.text, $0.author) = ("1", "second", "me") })
        #expect(try waits(tablet) == [.leased, .leased])
        #expect(
            try #require(try tablet.sync()).waiting.map(\.reason) == [.leased, .leased])
        #expect(try waits(tablet) == [.leased, .leased])
    }

    /// If a device without custody probes and finds nothing, that does not prove that nothing was
    /// sent.
    @Test func probesAfterTheLeaseResendNothing() throws {
        try phone.sync()
        try desk.comment("hello")
        try syncUntilPost(phone, isLost: true)
        try server.sync(phone)
        desk.world.clock.advance(by: .seconds(360))
        #expect(try #require(try phone.sync()).waiting.map(\.reason) == [.leased])
        #expect(desk.effects.isEmpty)
        desk.world.clock.advance(by: .seconds(120))
        try phone.sync()
        try server.sync(phone)
        try phone.sync()
        #expect(desk.effects == ["comment 1 hello"])
        #expect(try phone.outbox().isEmpty)
    }

    @Test func takeoversDoNotRepeatRequestsOfTheFormerHolder() throws {
        let tablet = try tablet()
        try phone.sync()
        try tablet.sync()
        try desk.comment("hello")
        desk.world.portal = { request in
            CustodySyncTests.isPost(request) ? RemoteResponse(status: 429) : nil
        }
        try phone.sync(failuresMax: 1)
        desk.world.portal = nil
        try server.sync(phone, tablet)
        // The phone sends the comment, but cannot report that to the server.
        desk.world.clock.advance(by: .seconds(60))
        try syncUntilPost(phone)
        #expect(try waits(tablet) == [.leased])
        #expect(try #require(try tablet.sync()).waiting.map(\.reason) == [.leased])
        desk.world.clock.advance(by: .seconds(420))
        #expect(try waits(tablet) == [.unclaimed])
        #expect(try #require(try tablet.sync()).waiting.map(\.reason) == [.unclaimed])
        try server.sync(tablet)
        try tablet.sync()
        #expect(desk.effects == ["comment 1 hello"])
        #expect(try tablet.outbox().isEmpty)
    }

    /// The device that takes over has already read the effect, so the effect is not newer than
    /// everything that the device knows.
    @Test(arguments: [true, false]) func takeoversFindEffectsThatTheyHaveRead(
        isQuestion: Bool
    ) throws {
        let tablet = try tablet()
        for device in [phone, tablet] { try device.sync() }
        _ = try isQuestion ? desk.ask("why?") : desk.comment("hello")
        try server.sync(phone, tablet)
        // The phone sends the intent, but cannot report that to the server.
        try syncUntilPost(phone)
        try desk.change { whale in
            whale.world.comments.append(
                WhaleWorld.Comment(
                    id: 900, content: "later", answer: 1, commenter: 2,
                    insertedAt: Int64(desk.world.clock.milliseconds)))
        }
        let effects = desk.effects
        #expect(effects.count == 1)
        try tablet.sync()
        try takeOver(tablet)
        #expect(desk.effects == effects)
        #expect(try tablet.outbox().isEmpty)
    }

    /// An equal comment that the user made earlier, with another program, is not the effect.
    @Test func takeoversAreNotConfirmedByOlderEqualComments() throws {
        let tablet = try tablet()
        try desk.change { whale in
            whale.world.comments.append(
                WhaleWorld.Comment(
                    id: 900, content: "hello", answer: 1, commenter: 1,
                    insertedAt: Int64(desk.world.clock.milliseconds)))
        }
        for device in [phone, tablet] { try device.sync() }
        desk.world.clock.advance(by: .seconds(200_000))
        try desk.comment("hello")
        // The phone never sends the comment.
        try server.sync(phone, tablet)
        try takeOver(tablet)
        #expect(desk.effects == ["comment 1 hello"])
        #expect(try tablet.outbox().isEmpty)
    }

    /// A restored store has another origin, so it may have sent the intent before.
    @Test func restoredStoresFindEffectsThatTheyHaveRead() throws {
        try phone.sync()
        try desk.comment("hello")
        let restored = try RemoteDevice(desk.world, "whale", WhaleDesk.secrets, seed: 3)
        let directory = try TemporaryDirectory("export")
        let file = directory.file("export")
        try phone.store.log.export(to: file)
        try restored.store.log.importEvents(from: file)
        try phone.sync()
        try restored.sync()
        #expect(desk.effects == ["comment 1 hello"])
        #expect(try restored.outbox().isEmpty)
    }

    @Test func lanesWaitOnlyUntilTheirTime() throws {
        try phone.sync()
        try desk.comment("hello")
        desk.world.portal = { request in
            CustodySyncTests.isPost(request)
                ? RemoteResponse(status: 503, headers: [.init("Retry-After", "3600")]) : nil
        }
        try phone.sync()
        #expect(try waits(phone).count == 1 && waits(phone) != [nil])
        desk.world.clock.advance(by: .seconds(3_601))
        #expect(try waits(phone) == [nil])
        #expect(try phone.status().until == nil)
        desk.world.portal = nil
        try phone.sync()
        #expect(desk.effects == ["comment 1 hello"])
    }
}
