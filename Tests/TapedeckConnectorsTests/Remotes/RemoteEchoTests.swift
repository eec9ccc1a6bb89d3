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
        let padding: Int

        func send(_ request: RemoteRequest) async throws(SyncFailure) -> RemoteResponse {
            let text =
                String(repeating: "x", count: padding)
                + "invalid token \(SimulatorAccount.oauthToken)"
            return RemoteResponse(
                status: status, headers: [.init("Content-Type", "application/json")],
                body: Array(#"{"result":"error","err":"\#(text)","message":"\#(text)"}"#.utf8))
        }

        func close() async {}
    }

    /// With a padding of 176, messages are truncated in the middle of the token.
    @Test(arguments: [400, 401, 403, 404, 429, 500], [0, 176])
    func secretsInResponsesAreNeitherStoredNorShown(status: Int, padding: Int) async throws {
        let world = RemoteWorld { ShelbyV2Simulator(seed: 7, at: $0, adversary: .none) }
        let device = try RemoteDevice(world, "shelby", RemoteEchoTests.secrets)
        let session = try #require(try device.session(isLive: false, failuresMax: 1))
        let engine = try RemoteEngine(
            session, EchoTransport(status: status, padding: padding),
            store: device.place.directory)
        let report = try await engine.run()
        let shown = "\(report) \(try device.status())"
        let part = SimulatorAccount.oauthToken.prefix(8)
        #expect(!shown.contains(part), "\(shown)")
        #expect(status == 429 || shown.contains("invalid token [secret]"), "\(shown)")
        let log = try Data(contentsOf: URL(fileURLWithPath: device.place.directory + "/log.mdb"))
        #expect(log.range(of: Data(part.utf8)) == nil)
    }
}
