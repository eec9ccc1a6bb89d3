import Synchronization
import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// Ending a sync with a remote while a request is under way.
@Suite struct RemoteStopTests {
    /// A remote that takes requests and never answers: only giving up ends them.
    private final class SilentTransport: RemoteTransport, @unchecked Sendable {
        // The engine sends one request at a time, and the test looks when it has ended: `world` needs no
        // lock.
        let isHanging = Atomic(false)
        /// Whether what is given up never left.
        private let isUnsent: Bool
        /// Answers what is no share.
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
            var failure = SyncFailure(.offline, "nothing came")
            failure.isUnsent = isUnsent
            throw failure
        }

        func close() async {}
    }

    /// How a sync is ended: by its engine, or with the task that it runs in.
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

    /// Reads all that there is, and wants a video shared, which is not done twice.
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

    @Test(arguments: Ending.allCases, [true, false])
    func requestWithoutAnAnswerIsNoFailure(_ ending: Ending, isLive: Bool) async throws {
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

    /// What never left is sent by the next sync; what may have arrived is asked for, or left unknown.
    @Test(arguments: [true, false])
    func aDeliveryThatIsCutOffIsSentAgainOnlyIfItNeverLeft(isUnsent: Bool) async throws {
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
