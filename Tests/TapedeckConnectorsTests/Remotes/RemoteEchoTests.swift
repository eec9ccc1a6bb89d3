import Foundation
import Tapedeck
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// A remote that repeats the user's secrets in its errors, as in "invalid token …".
@Suite struct RemoteEchoTests {
    private static let secrets = RemoteSecrets(
        token: SimulatorAccount.oauthToken, tokenSecret: SimulatorAccount.oauthSecret)

    private struct EchoTransport: RemoteTransport {
        let status: Int

        func send(_ request: RemoteRequest) async throws(SyncFailure) -> RemoteResponse {
            let text = "invalid token \(SimulatorAccount.oauthToken)"
            return RemoteResponse(
                status: status, headers: [.init("Content-Type", "application/json")],
                body: Array(#"{"result":"error","err":"\#(text)","message":"\#(text)"}"#.utf8))
        }

        func close() async {}
    }

    @Test(arguments: [400, 401, 403, 404, 429, 500])
    func secretsInResponsesAreNeitherStoredNorShown(status: Int) async throws {
        let world = RemoteWorld { ShelbyV2Simulator(seed: 7, at: $0, adversary: .none) }
        let device = try RemoteDevice(world, "shelby", RemoteEchoTests.secrets)
        let session = try #require(try device.session(isLive: false, failuresMax: 1))
        let engine = try RemoteEngine(
            session, EchoTransport(status: status), store: device.place.directory)
        let report = try await engine.run()
        let shown = "\(report) \(try device.status())"
        #expect(!shown.contains(SimulatorAccount.oauthToken), "\(shown)")
        #expect(status == 429 || shown.contains("invalid token [secret]"), "\(shown)")
        let log = try Data(contentsOf: URL(fileURLWithPath: device.place.directory + "/log.mdb"))
        #expect(log.range(of: Data(SimulatorAccount.oauthToken.utf8)) == nil)
    }
}
