import Foundation
import Tapedeck
import TapedeckConnectors
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
        let body: String

        func send(_ request: RemoteRequest) async throws(SyncFailure) -> RemoteResponse {
            RemoteResponse(
                status: status, headers: [.init("Content-Type", "application/json")],
                body: Array(body.utf8))
        }

        func close() async {}
    }

    /// With a padding of 176, messages are truncated in the middle of the token.
    @Test(arguments: [400, 401, 403, 404, 429, 500], [0, 176])
    func secretsInResponsesAreNeitherStoredNorShown(status: Int, padding: Int) async throws {
        let text =
            String(repeating: "x", count: padding)
            + "invalid token \(SimulatorAccount.oauthToken)"
        let body = #"{"result":"error","err":"\#(text)","message":"\#(text)"}"#
        let (report, device) = try await sync(RemoteEchoTests.secrets, status, body)
        let shown = "\(report) \(try device.status())"
        let part = SimulatorAccount.oauthToken.prefix(8)
        #expect(!shown.contains(part), "\(shown)")
        #expect(status == 429 || shown.contains("invalid token [secret]"), "\(shown)")
        let log = try Data(contentsOf: URL(fileURLWithPath: device.place.directory + "/log.mdb"))
        #expect(log.range(of: Data(part.utf8)) == nil)
    }

    /// The exit code of a sync says that the remote failed, not that the store lacks an object.
    @Test(arguments: [302, 400, 401, 403, 404, 405, 409, 410, 413, 418, 429, 500, 503, 507])
    func everyStatusIsAFailureOfTheRemote(status: Int) async throws {
        let (report, _) = try await sync(RemoteEchoTests.secrets, status, "{}")
        #expect(try #require(report.failure).code.exit == .remote)
    }

    /// A gap in the program's own words would reveal the secret.
    @Test(arguments: [200, 404, 500])
    func secretsDoNotChangeOwnWordsOfASync(status: Int) async throws {
        func messages(_ secret: String) async throws -> [String?] {
            let secrets = RemoteSecrets(token: secret, tokenSecret: secret)
            let (report, device) = try await sync(secrets, status, "~")
            return [report.failure?.message, try device.status().message]
        }
        let usual = try await messages("Zq7-Wv4-Xk9")
        let words = try #require(usual[0]).split { !$0.isLetter && !$0.isNumber }
        for word in Set(words.map(String.init) + ["a"]) {
            #expect(try await messages(word) == usual, "\(word)")
        }
    }

    @Test(arguments: ["shelby", "whale", "birdtube"], [200, 400, 401, 403, 404, 422, 500])
    func passwordsDoNotChangeOwnWordsOfALogin(system: String, status: Int) throws {
        let connector = try #require(Connectors.named(system, url: "https://a.example/v1"))
        let secrets = RemoteSecrets(user: "ada", password: "Zq7-Wv4-Xk9")
        // The text from the remote consists of "~" and "email".
        for body in [
            "", "[]", "{}", #"{"status":\#(status),"message":"~","result":"error"}"#,
            #"{"result":"error","message":"Password is incorrect."}"#,
            #"{"result":"success"}"#, #"{"errors":{"email":["~"]}}"#,
        ] {
            let answer = RemoteResponse(status: status, body: Array(body.utf8))
            let failure = try #require(throws: SyncFailure.self) {
                _ = try connector.login(secrets, [answer])
            }
            let words = failure.message.split { !$0.isLetter && !$0.isNumber }
            for word in Set(words.map(String.init) + ["a"]) where word != "email" {
                let login = RemoteLogin(secrets: RemoteSecrets(user: "ada", password: word))
                #expect(login.redacting(failure).message == failure.message, "\(word), \(body)")
            }
        }
    }

    /// Syncs a new device with a remote that sends the same response to every request.
    private func sync(
        _ secrets: RemoteSecrets, _ status: Int, _ body: String
    ) async throws -> (RemoteReport, RemoteDevice) {
        let world = RemoteWorld { ShelbyV2Simulator(seed: 7, at: $0, adversary: .none) }
        let device = try RemoteDevice(world, "shelby", secrets)
        let session = try #require(try device.session(isLive: false, failuresMax: 1))
        let engine = try RemoteEngine(
            session, EchoTransport(status: status, body: body), store: device.place.directory)
        return (try await engine.run(), device)
    }
}
