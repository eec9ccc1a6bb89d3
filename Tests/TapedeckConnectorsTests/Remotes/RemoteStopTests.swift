import Foundation
import Synchronization
import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// Ending a sync with a remote during a request.
@Suite struct RemoteStopTests {
    /// A transport that never returns a response: requests end only when they are cancelled.
    private final class SilentTransport: RemoteTransport, @unchecked Sendable {
        // `world` needs no lock: the engine sends one request at a time, and the test reads it
        // after the engine has ended.
        let isHanging = Atomic(false)
        /// Whether cancelled requests are treated as never sent.
        private let isUnsent: Bool
        /// If set, responds to all requests except shares.
        private let world: RemoteWorld?

        init(isUnsent: Bool = false, passing world: RemoteWorld? = nil) {
            self.isUnsent = isUnsent
            self.world = world
        }

        func send(_ request: RemoteRequest) async throws(SyncFailure) -> RemoteResponse {
            if let world, !request.path.contains("socializations") {
                return try world.send(request)
            }
            isHanging.store(true, ordering: .relaxed)
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
            var failure = SyncFailure(.offline, "no response")
            failure.isUnsent = isUnsent
            throw failure
        }

        func close() async {}
    }

    /// How a sync is ended: by stopping its engine or by cancelling its task.
    enum Ending: CaseIterable { case stop, cancel }

    private static let secrets = RemoteSecrets(
        token: SimulatorAccount.oauthToken, tokenSecret: SimulatorAccount.oauthSecret)

    private static func device() throws -> RemoteDevice {
        let world = RemoteWorld { ShelbyV2Simulator(seed: 7, at: $0, adversary: .none) }
        return try RemoteDevice(world, "shelby", secrets)
    }

    private static func engine(
        _ device: RemoteDevice, _ transport: SilentTransport, isLive: Bool = false
    ) throws -> RemoteEngine {
        let session = try #require(try device.session(isLive: isLive, failuresMax: 1))
        return try RemoteEngine(session, transport, store: device.place.directory)
    }

    private static func status(_ device: RemoteDevice) throws -> RemoteStatus {
        try device.status()
    }

    /// Syncs, and then records a share, which must not be sent twice.
    private static func share(_ device: RemoteDevice) throws {
        try device.sync()
        var shared = VideoShared()
        shared.video = try #require(
            try device.query { try $0.videos(limit: 1) }.videos.first
        ).key
        shared.destinations = ["twitter"]
        shared.text = "look"
        try device.append(shared)
    }

    private static func states(_ device: RemoteDevice) throws -> [RemoteDelivery.State] {
        try device.outbox().map(\.state)
    }

    /// The host of a redirect comes from the remote.
    @Test func secretsInAFailureAreRedactedWhenASyncEnds() throws {
        let device = try RemoteStopTests.device()
        try RemoteStopTests.share(device)
        var session = try #require(try device.session())
        var step = try session.begin()
        while case .send(let request) = step, !request.path.contains("socializations") {
            step = try session.answered(try device.world.send(request))
        }
        guard case .send = step else {
            Issue.record("the share was not sent: \(step)")
            return
        }
        let host = "\(SimulatorAccount.oauthToken).example"
        _ = try session.stop(cuttingOff: SyncFailure(.redirected, "redirects to \(host)"))
        guard case .waiting(_, let message, _)? = try RemoteStopTests.states(device).first else {
            Issue.record("the share is not waiting: \(try RemoteStopTests.states(device))")
            return
        }
        #expect(message == "redirects to [secret].example")
    }

    @Test(arguments: Ending.allCases, [true, false])
    func stoppingDuringARequestIsNotAFailure(_ ending: Ending, isLive: Bool) async throws {
        let device = try RemoteStopTests.device()
        let transport = SilentTransport()
        let engine = try RemoteStopTests.engine(device, transport, isLive: isLive)
        let run = Task { try await engine.run() }
        try await eventually("a request") { transport.isHanging.load(ordering: .relaxed) }
        switch ending {
        case .stop: engine.stop()
        case .cancel: run.cancel()
        }
        let report = try await run.value
        #expect(report.failure == nil)
        let status = try RemoteStopTests.status(device)
        #expect(status.reason == nil, "\(status.message ?? "")")
        #expect(status.readAt == nil)
    }

    /// If the interrupted request was never sent, the next sync sends it.
    ///
    /// If the interrupted request may have arrived, the next sync checks whether it took effect; if
    /// no check is possible, the outcome stays unknown.
    @Test(arguments: [true, false])
    func interruptedDeliveriesAreQueuedAgainOnlyIfUnsent(isUnsent: Bool) async throws {
        let device = try RemoteStopTests.device()
        try RemoteStopTests.share(device)
        let transport = SilentTransport(isUnsent: isUnsent, passing: device.world)
        let engine = try RemoteStopTests.engine(device, transport)
        let run = Task { try await engine.run() }
        try await eventually("a request") { transport.isHanging.load(ordering: .relaxed) }
        engine.stop()
        #expect(try await run.value.failure == nil)
        #expect(try RemoteStopTests.status(device).reason == nil)
        #expect(try RemoteStopTests.states(device) == [isUnsent ? .queued : .sent])
    }
}
