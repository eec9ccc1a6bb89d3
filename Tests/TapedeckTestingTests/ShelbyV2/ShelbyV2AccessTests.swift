import Foundation
import TapedeckTesting
import Testing

/// OAuth 1.0a in the 2012 system.
struct ShelbyV2AccessTests {
    private func fields(_ text: String) -> [String: String] {
        var components = URLComponents()
        components.percentEncodedQuery = text
        return (components.queryItems ?? []).reduce(into: [:]) { $0[$1.name] = $1.value }
    }

    private typealias App = Caller<ShelbyV2Simulator>
    private typealias Token = (text: String, secret: String)

    /// Calls a path below `/oauth` and returns the token in the response; nil if it is refused.
    private func token(
        _ app: inout App, _ path: String, _ more: [String: String], for token: Token? = nil
    ) throws -> Token? {
        app.sign = { $0.signed(token, at: $1, nonce: String($1), more) }
        let answer = try app.call("POST", "/oauth/\(path)")
        guard answer.status == 200 else {
            #expect(answer.status == 401)
            return nil
        }
        let fields = fields(answer.text)
        return (try #require(fields["oauth_token"]), try #require(fields["oauth_token_secret"]))
    }

    private func requestToken(_ app: inout App, callback: String = "oob") throws -> Token {
        try #require(try token(&app, "request_token", ["oauth_callback": callback]))
    }

    /// Approves a request token and returns the verifier.
    private func approve(_ app: inout App, _ token: Token) throws -> String {
        let page = try app.call("GET", "/oauth/authorize?oauth_token=\(token.text)").text
        return String(try #require(page.split(whereSeparator: \.isWhitespace).last))
    }

    @Test func threeLeggedLoginYieldsAToken() throws {
        var app = Caller.shelby()
        let request = try requestToken(&app, callback: "shelby://ios.shelby.tv")
        // The user has not approved the login yet.
        #expect(try token(&app, "access_token", ["oauth_verifier": ""], for: request) == nil)
        let agreed = try app.call(
            "GET", "/oauth/authorize?oauth_token=\(request.text)&provider=twitter")
        #expect(agreed.status == 302)
        let target = try #require(agreed.header("location"))
        #expect(target.hasPrefix("shelby://ios.shelby.tv?"))
        let sent = fields(String(target.drop { $0 != "?" }.dropFirst()))
        #expect(sent["oauth_token"] == request.text)
        let verifier = try #require(sent["oauth_verifier"])
        let access = try #require(
            try token(&app, "access_token", ["oauth_verifier": verifier], for: request))
        app.authorize(access.text, access.secret)
        #expect(try app.call("GET", "/v2/users.json").list.count == 1)
        // A request token can be used once.
        #expect(try token(&app, "access_token", ["oauth_verifier": verifier], for: request) == nil)
        #expect(app.simulator.violations.isEmpty)
    }

    @Test func wrongOrLateVerifiersAreRefused() throws {
        var app = Caller.shelby()
        let request = try requestToken(&app)
        let verifier = try approve(&app, request)
        #expect(try token(&app, "access_token", ["oauth_verifier": "1"], for: request) == nil)
        app.now += 900_000
        #expect(try token(&app, "access_token", ["oauth_verifier": verifier], for: request) == nil)
    }

    @Test func deniedTokensCannotBeApproved() throws {
        var app = Caller.shelby()
        let request = try requestToken(&app)
        let page = "/oauth/authorize?oauth_token=\(request.text)"
        #expect(try app.call("GET", page + "&deny=true").text == "Denied\n")
        #expect(try app.call("GET", page).status == 401)
    }

    @Test(arguments: [
        ["oauth_consumer_key": "unknown"], ["oauth_timestamp": "0"], ["oauth_timestamp": "now"],
        ["oauth_signature_method": "PLAINTEXT"], ["oauth_nonce": ""], ["oauth_version": "2.0"],
        ["oauth_callback": "nowhere"],
    ]) func invalidRequestsForATokenAreRefused(_ change: [String: String]) throws {
        var app = Caller.shelby()
        let fields = ["oauth_callback": "oob"].merging(change) { $1 }
        #expect(try token(&app, "request_token", fields) == nil)
    }

    @Test func alteredRequestsAreRefused() throws {
        let ada = Caller.shelby()
        var simulator = ada.simulator
        let id = simulator.world.broadcasts[0].id
        let request = ada.sign(
            SimulatedRequest(
                "PUT", "/v2/broadcasts/\(id).json", headers: ["Host": "127.0.0.1"],
                form: ["liked_by_owner": "true"]), ada.now)
        var changes = Array(repeating: request, count: 4)
        changes[0].body = Array("liked_by_owner=false".utf8)
        changes[1].path = "/v2/broadcasts/\(simulator.world.broadcasts[1].id).json"
        changes[2].headers[0].value = "example.org"
        changes[3] = request.signed(
            (SimulatorAccount.oauthToken, "wrong"), at: ada.now, nonce: "1")
        for change in changes {
            #expect(simulator.respond(to: change, at: ada.now).response?.status == 401)
        }
        #expect(simulator.effects.isEmpty)
        #expect(simulator.respond(to: request, at: ada.now).response?.status == 200)
        // A nonce is accepted once.
        #expect(simulator.respond(to: request, at: ada.now).response?.status == 401)
        #expect(simulator.effects.count == 1)
    }

    @Test(arguments: [-301, -300, 300, 301])
    func timesMustAgreeWithinFiveMinutes(_ seconds: Int64) throws {
        var ada = Caller.shelby()
        let sign = ada.sign
        ada.sign = { sign($0, $1 + seconds * 1_000) }
        let status = try ada.call("GET", "/v2/users.json").status
        #expect(status == (abs(seconds) > 300 ? 401 : 200))
    }

    @Test func expiredTokensAreRejected() throws {
        var ada = Caller.shelby()
        ada.simulator.expireTokens()
        let answer = try ada.call("GET", "/v2/users.json")
        #expect(answer.status == 401)
        #expect(try answer.object["err"] is String)
    }

    @Test func tokensMayExpire() throws {
        var adversary = SimulatorAdversary()
        adversary.tokenLifeMilliseconds = 10_000
        var ada = Caller.shelby(adversary)
        #expect(try ada.call("GET", "/v2/users.json").status == 200)
        ada.now += 10_000
        #expect(try ada.call("GET", "/v2/users.json").status == 401)
    }
}
