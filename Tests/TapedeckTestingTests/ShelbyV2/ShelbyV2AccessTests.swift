import Foundation
import TapedeckTesting
import Testing

/// OAuth 1.0a with the system of 2012.
struct ShelbyV2AccessTests {
    private func fields(_ text: String) -> [String: String] {
        var components = URLComponents()
        components.percentEncodedQuery = text
        return (components.queryItems ?? []).reduce(into: [:]) { $0[$1.name] = $1.value }
    }

    @Test func threeCallsYieldAToken() throws {
        var app = Caller.shelby()
        app.headers = [SimulatedField("Authorization", "OAuth oauth_consumer_key=\"tests\"")]
        let asked = fields(try app.call("POST", "/oauth/request_token").text)
        let request = try #require(asked["oauth_token"])
        #expect(asked["oauth_token_secret"] != nil)

        // The user has not agreed yet.
        app.authorize(request)
        #expect(try app.call("POST", "/oauth/access_token").object["err"] is String)

        let agreed = try app.call(
            "GET", "/oauth/authorize?oauth_token=\(request)&provider=twitter")
        #expect(agreed.status == 302)
        #expect(agreed.header("location")?.hasPrefix("shelby://") == true)

        let granted = fields(try app.call("POST", "/oauth/access_token").text)
        app.authorize(try #require(granted["oauth_token"]))
        #expect(try app.call("GET", "/v2/users.json").list.count == 1)
        #expect(app.simulator.violations.isEmpty)
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
