import Foundation
import Synchronization
import Tapedeck
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

@testable import TapedeckConnectors

/// OAuth 1.0a (RFC 5849): signatures, the three legs of a login, and incorrect clocks.
@Suite(.offTasks) struct OAuthTests {
    private typealias Field = RemoteRequest.Field

    // MARK: - Signatures

    private static let consumer = Field("oauth_consumer_key", "dpf43f3p2l4k3l03")
    private static let method = Field("oauth_signature_method", "HMAC-SHA1")

    private func signature(
        _ request: RemoteRequest, _ base: String, _ fields: [Field], tokenSecret: String
    ) -> String {
        OAuthSignature.signature(
            of: request, fields + [Self.consumer, Self.method], base: base,
            consumerSecret: "kd94hf93k423kf44", tokenSecret: tokenSecret)
    }

    /// The three requests in section 1.2 of the RFC, signed as section 3.4.2 specifies.
    @Test func signaturesMatchTheExamplesInTheStandard() {
        #expect(
            signature(
                RemoteRequest("POST", "/initiate"), "https://photos.example.net",
                [
                    Field("oauth_timestamp", "137131200"), Field("oauth_nonce", "wIjqoS"),
                    Field("oauth_callback", "http://printer.example.com/ready"),
                ], tokenSecret: "") == "74KNZJeDHnMBp0EMJ9ZHt/XKycU=")
        #expect(
            signature(
                RemoteRequest("POST", "/token"), "https://photos.example.net",
                [
                    Field("oauth_token", "hh5s93j4hdidpola"), Field("oauth_nonce", "walatlh"),
                    Field("oauth_timestamp", "137131201"),
                    Field("oauth_verifier", "hfdp7dh39dks9884"),
                ], tokenSecret: "hdhd0244k9j7ao03") == "gKgrFCywp7rO0OXSjdot/IHF7IU=")
        let photo = RemoteRequest(
            "GET", "/photos", query: [Field("file", "vacation.jpg"), Field("size", "original")])
        #expect(
            signature(
                photo, "http://photos.example.net",
                [
                    Field("oauth_token", "nnch734d00sl2jdk"), Field("oauth_nonce", "chapoH"),
                    Field("oauth_timestamp", "137131202"),
                ], tokenSecret: "pfkkdhi9sl3r4s00") == "MdpQcU8iPSUjWoN/UDMsK2sui9I=")
    }

    @Test func baseStringMatchesTheExampleInTheStandard() {
        let request = RemoteRequest(
            "POST", "/request",
            query: RemoteRequest.fields(of: "b5=%3D%253D&a3=a&c%40=&a2=r%20b"),
            body: .form(RemoteRequest.fields(of: "c2&a3=2+q")))
        let text = OAuthSignature.baseString(
            of: request,
            [
                Field("oauth_consumer_key", "9djdj82h48djs9d2"),
                Field("oauth_token", "kkk9d7dh3k39sjv7"), Self.method,
                Field("oauth_timestamp", "137131201"), Field("oauth_nonce", "7d8f3e4a"),
            ], base: "http://example.com")
        #expect(
            text
                == "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5"
                + "%3D%253D%25253D%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26"
                + "oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D"
                + "137131201%26oauth_token%3Dkkk9d7dh3k39sjv7")
    }

    @Test(arguments: [
        ("http://EXAMPLE.COM:80/r%20v/X?id=123", "http://example.com/r%20v/X"),
        ("https://www.example.net:8080/?q=1", "https://www.example.net:8080/"),
        ("HTTPS://www.example.net:443", "https://www.example.net/"),
        ("http://127.0.0.1:443/a", "http://127.0.0.1:443/a"),
    ]) func addressesAreNormalizedAsInTheStandard(_ url: String, _ normalized: String) {
        #expect(OAuthSignature.address(url) == normalized)
    }

    @Test func requestsWithoutATokenHaveNoTokenParameter() throws {
        var request = RemoteRequest("POST", "/request_token")
        let account = RemoteAccount(
            user: "", token: "", details: ["consumerKey": "key", "consumerSecret": "hidden"])
        OAuthSignature.add(
            to: &request, account,
            RequestMoment(base: "https://example.org", now: 1_700_000_000_999, nonce: 255),
            [Field("oauth_callback", "oob")])
        let header = try #require(request.headers.first { $0.name == "Authorization" }).value
        #expect(header.hasPrefix("OAuth "))
        #expect(header.contains(#"oauth_callback="oob""#))
        #expect(header.contains(#"oauth_timestamp="1700000000""#))
        #expect(!header.contains("oauth_token=") && !header.contains("hidden"))
    }

    // MARK: - The three legs

    /// A store that is connected to a simulated Shelby over HTTP.
    private final class Stage: Sendable {
        let place: TemporaryStore
        let remotes: StoreRemotes
        let store: TapedeckStore
        private let url: String

        /// - Parameter path: The path of the API.
        init(_ url: String, _ path: String, _ place: TemporaryStore) async throws {
            (self.url, self.place) = (url, place)
            let store = try place.open(projections: RemoteDevice.projections)
            let remotes = StoreRemotes(store.log, store.projections)
            _ = try await onThread { try remotes.add("home", system: "shelby", url: url + path) }
            (self.store, self.remotes) = (store, remotes)
        }

        /// Logs in through the simulator's OAuth server.
        ///
        /// - Parameter reply: Returns the user's reply, given the address of the page.
        func logIn(
            consumerSecret: String = SimulatorAccount.consumerSecret,
            at server: String? = nil, reply: @Sendable (String) async throws -> String
        ) async throws -> String {
            let credentials = try await remotes.authorize(
                "home", service: "twitter", consumerKey: SimulatorAccount.consumerKey,
                consumerSecret: consumerSecret, url: server ?? url + "/oauth", visit: reply)
            return try await remotes.logIn("home", credentials)
        }

        /// Returns the string that the user copies: the address that the browser is redirected to,
        /// or the PIN on the page.
        func visit(_ page: String, denies: Bool = false) async throws -> String {
            let page = try #require(URLComponents(string: page))
            #expect(page.path == "/oauth/authorize")
            var query = (page.queryItems ?? []).map { Field($0.name, $0.value ?? "") }
            if denies { query.append(Field("deny", "true")) }
            let transport = try HTTPRemoteTransport(base: url)
            let answer = try await transport.send(RemoteRequest("GET", page.path, query: query))
            await transport.close()
            let text = String(decoding: answer.body, as: UTF8.self)
            return try answer.header("Location")
                ?? String(#require(text.split(whereSeparator: \.isWhitespace).last))
        }

        /// Returns the files of the store that contain a string.
        func files(with text: String) throws -> [String] {
            let names = try #require(FileManager.default.enumerator(atPath: place.directory))
            return names.compactMap { $0 as? String }.filter {
                let bytes = FileManager.default.contents(atPath: place.path($0)) ?? Data()
                return bytes.range(of: Data(text.utf8)) != nil
            }
        }
    }

    /// Runs the simulated system while `body` runs, with a clock that is ahead of the device's.
    private func run(
        _ path: String = "", ahead: Int64 = 0, _ body: @Sendable (Stage) async throws -> Void
    ) async throws {
        let place = try TemporaryStore("oauth")
        let clock = place.clock
        let now: @Sendable () -> Int64 = { Int64(clock.milliseconds) + ahead }
        let (urls, listens) = AsyncStream.makeStream(of: String.self)
        let server = SimulatorServer(
            ShelbySimulator(seed: 7, at: now()),
            configuration: .init(
                endsOnSignals: false, now: now, onListening: { listens.yield($0) }))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { listens.finish() }
                try await server.run()
            }
            let url = try #require(await urls.first { _ in true })
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(try await Stage(url, path, place)))
            } catch {
                result = .failure(error)
            }
            await server.shutDown()
            try await group.waitForAll()
            try result.get()
        }
        #expect(server.simulator.violations.isEmpty)
    }

    /// With API v2, the browser is redirected to the app's address; with v1, the user gets a PIN
    /// from the service.
    @Test(arguments: ["", "/v1"]) func threeLegs(path: String) async throws {
        try await run(path) { stage in
            let replies = Mutex<[String]>([])
            let account = try await stage.logIn { page in
                let reply = try await stage.visit(page)
                replies.withLock { $0.append(reply) }
                return " \(reply)\n"
            }
            let own = try await stage.store.query {
                try VideoQueries($0).ownAccount(at: "shelby")
            }
            #expect(own?.account == account && own?.nickname == "ada")
            let reply = try #require(replies.withLock { $0 }.first)
            #expect(reply.hasPrefix("shelby://ios.shelby.tv?") == path.isEmpty)
            let verifier = try #require(reply.split(separator: "=").last)
            for secret in ["request-1", "request-secret-1", String(verifier)] {
                #expect(try stage.files(with: secret).isEmpty, "\(secret)")
            }
            let login = ["logins/home.json"]
            #expect(try stage.files(with: "access-secret-") == login)
            // API v1 no longer needs the consumer key.
            #expect(
                try stage.files(with: SimulatorAccount.consumerSecret)
                    == (path.isEmpty ? login : []))
        }
    }

    private func failure(
        _ body: () async throws -> String
    ) async -> SyncError? {
        await #expect(throws: SyncError.self) { _ = try await body() }
    }

    @Test func failedLoginsStoreNothing() async throws {
        try await run { stage in
            let visit: @Sendable (String) async throws -> String = { try await stage.visit($0) }
            var error = await failure {
                try await stage.logIn(consumerSecret: "wrong", reply: visit)
            }
            #expect(error?.code == .unauthorized)
            #expect(error?.message.contains("/oauth refused the consumer key") == true)
            error = await failure {
                try await stage.logIn { try await stage.visit($0, denies: true) }
            }
            #expect(error?.code == .unauthorized && error?.message.contains("denied") == true)
            error = await failure {
                try await stage.logIn {
                    _ = try await stage.visit($0)
                    return "0"
                }
            }
            #expect(error?.code == .unauthorized && error?.message.contains("verifier") == true)
            // The user takes a quarter of an hour to reply.
            error = await failure {
                try await stage.logIn {
                    let reply = try await stage.visit($0)
                    stage.place.clock.advance(by: .seconds(900))
                    return reply
                }
            }
            #expect(error?.code == .unauthorized && error?.message.contains("expired") == true)
            error = await failure {
                try await stage.logIn(at: "http://example.org/oauth", reply: visit)
            }
            #expect(error?.code == .usage && error?.message.contains("unencrypted") == true)
            error = await failure { try await stage.logIn(at: "http://127.0.0.1:1", reply: visit) }
            #expect(error?.code == .offline)
            #expect(error?.message.hasPrefix("home: http://127.0.0.1:1 ") == true)
            #expect(try stage.files(with: "request-").isEmpty)
            #expect(try stage.files(with: SimulatorAccount.consumerSecret).isEmpty)
            let remote = try await onThread { try stage.remotes.named("home") }
            #expect(try await onThread { try !stage.remotes.status(remote).hasLogin })
        }
    }

    /// A secret that no error may repeat.
    private static let hidden = "h1dden"
    private static let server = OAuthServer(address: "https://example.org/oauth")

    private static func response(
        _ status: Int, _ body: String = "", _ more: [RemoteRequest.Field] = []
    ) -> RemoteResponse {
        RemoteResponse(status: status, headers: more, body: Array(body.utf8))
    }

    private static let token = OAuthServer.Token(text: "t", secret: hidden, fields: [:])

    @Test(arguments: [
        (response(401, hidden), ErrorCode.unauthorized, "refused the consumer key"),
        (response(400, hidden), .unauthorized, "refused the consumer key"),
        (
            response(302, "", [.init("Location", "https://example.com/\(hidden)")]), .redirected,
            "/request_token"
        ),
        (response(404), .remoteError, "/request_token"),
        (response(503, hidden), .unavailable, "/request_token"),
        (response(200, "<html>\(hidden)</html>"), .remoteError, "not a form"),
        (response(200, "oauth_token=\(hidden)"), .remoteError, "not a form"),
        (response(200, String(repeating: "x", count: 20_000)), .remoteError, "not a form"),
        (
            response(200, "oauth_token=a&oauth_token_secret=\(hidden)"), .remoteError,
            "did not confirm the callback"
        ),
        (
            response(
                200, "oauth_token=a&oauth_token_secret=\(hidden)&oauth_callback_confirmed=false"),
            .remoteError, "did not confirm the callback"
        ),
    ]) func serverFailuresAreExplained(
        _ response: RemoteResponse, _ code: ErrorCode, _ text: String
    ) throws {
        let error = #expect(throws: SyncFailure.self) {
            try OAuthTests.server.requestToken(in: response)
        }
        #expect(error?.code == code)
        let shown = "\(error?.message ?? "") \(error?.hint ?? "")"
        #expect(shown.contains("https://example.org/oauth") && shown.contains(text), "\(shown)")
        #expect(!shown.contains(OAuthTests.hidden))
        // Hints that storectl adds otherwise are about the remote.
        #expect(error?.hint != nil)
    }

    @Test(arguments: [
        "shelby://ios.shelby.tv?oauth_token=t&oauth_verifier=v%2F1",
        " https://example.org/?a=b&oauth_verifier=v%2F1&oauth_token=t#top\n",
        "oauth_verifier=v%2F1", "v/1",
    ]) func repliesContainTheVerifier(_ reply: String) throws {
        #expect(try OAuthTests.server.verifier(in: reply, for: OAuthTests.token) == "v/1")
    }

    @Test(arguments: [
        ("", ErrorCode.usage), (" \n", .usage),
        ("shelby://ios.shelby.tv?denied=t", .unauthorized),
        ("shelby://ios.shelby.tv?oauth_problem=user_refused", .unauthorized),
        ("shelby://ios.shelby.tv?oauth_token=other&oauth_verifier=\(hidden)", .usage),
        ("shelby://ios.shelby.tv?oauth_token=t", .usage),
        ("shelby://ios.shelby.tv?oauth_token=t&oauth_verifier=", .usage),
    ]) func repliesWithoutAVerifierAreRefused(_ reply: String, _ code: ErrorCode) {
        let error = #expect(throws: SyncFailure.self) {
            try OAuthTests.server.verifier(in: reply, for: OAuthTests.token)
        }
        #expect(error?.code == code)
        #expect(error?.hint != nil && error?.message.contains(OAuthTests.hidden) == false)
    }

    @Test func servicesThatReportNoUserIDAreRefused() throws {
        var consumer = RemoteSecrets()
        consumer.service = RemoteSecrets.Service(name: "tumblr", user: "")
        let error = #expect(throws: SyncFailure.self) {
            try ShelbyV1Connector().secrets(for: OAuthTests.token, consumer)
        }
        #expect(error?.code == .remoteError && error?.message.contains("user_id") == true)
    }

    // MARK: - Clocks

    @Test(arguments: [-86_400_000, 3_600_000] as [Int64])
    func wrongClocksAreCorrected(ahead: Int64) async throws {
        try await run(ahead: ahead) { stage in
            _ = try await stage.logIn { try await stage.visit($0) }
            let report = try await stage.remotes.sync("home")
            #expect(report.failure == nil && report.pulled > 0)
        }
    }

    private static let secrets = RemoteSecrets(
        token: SimulatorAccount.oauthToken, tokenSecret: SimulatorAccount.oauthSecret)

    /// Returns a simulated remote, and a device whose clock differs from the remote's clock.
    private func device(ahead: Int64) throws -> (RemoteWorld, RemoteDevice) {
        let world = RemoteWorld { ShelbyV2Simulator(seed: 7, at: $0) }
        world.ahead = ahead
        return (world, try RemoteDevice(world, "shelby", Self.secrets))
    }

    /// Only the first request of a sync is sent twice, and a share is made once.
    @Test func syncsUseTheRemotesTime() throws {
        let (right, rightDevice) = try device(ahead: 0)
        let (wrong, wrongDevice) = try device(ahead: 3_600_000)
        for (world, device) in [(right, rightDevice), (wrong, wrongDevice)] {
            try device.sync()
            let video = try #require(
                device.query { try $0.videos(limit: 500) }.videos.map(\.key).sorted().first)
            try device.append(
                VideoShared.with {
                    ($0.video, $0.text, $0.destinations) = (video, "look", ["twitter"])
                })
            let report = try #require(try device.sync())
            #expect(report.failure == nil && report.pushed == 1)
            #expect(world.simulator.effects.count { $0.kind == .share } == 1)
            #expect(try device.outbox().isEmpty)
        }
        #expect(wrong.requests.count == right.requests.count + 2)
    }

    /// Differences of up to five minutes do not cause a refusal.
    @Test func refusedRequestsAreNotRepeatedIfTheClockIsRight() throws {
        for ahead in [0, 300_000] as [Int64] {
            let (world, device) = try device(ahead: ahead)
            try device.sync()
            world.simulator.expireTokens()
            let before = world.requests.count
            let report = try #require(try device.sync())
            #expect(report.failure?.code == .unauthorized)
            // The requests are the refused read and one login.
            #expect(world.requests.count == before + 2)
        }
    }

    @Test func correctedRequestsAreNotRepeatedAgain() throws {
        let (world, device) = try device(ahead: 3_600_000)
        world.simulator.expireTokens()
        let report = try #require(try device.sync())
        #expect(report.failure?.code == .unauthorized)
        // The requests are the login and its repetition; a login that fails again is not retried.
        #expect(world.requests.count == 2)
    }
}
