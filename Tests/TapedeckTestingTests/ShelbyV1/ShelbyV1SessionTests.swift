import TapedeckTesting
import Testing

/// Logging in to v1.
struct ShelbyV1SessionTests {
    @Test func loginReturnsTheUserWithTheirToken() throws {
        var app = Caller.shelbyV1()
        let answer = try app.call(
            "POST", "/v1/token",
            form: ["email": SimulatorAccount.user, "password": SimulatorAccount.password])
        let user = try #require(answer.object["result"] as? [String: Any])
        #expect(user["nickname"] as? String == "ada")
        #expect(user["authentication_token"] as? String == SimulatorAccount.authToken)
    }

    @Test func loginAfterExpiryReturnsANewToken() throws {
        var app = Caller.shelbyV1()
        app.simulator.expireTokens()
        #expect(try app.call("GET", app.path("dashboard")).status == 404)
        let answer = try app.call(
            "POST", "/v1/token",
            form: ["email": SimulatorAccount.user, "password": SimulatorAccount.password])
        let user = try #require(answer.object["result"] as? [String: Any])
        let token = try #require(user["authentication_token"] as? String)
        #expect(token != SimulatorAccount.authToken)
        #expect(try app.call("GET", "/v1/dashboard?auth_token=\(token)").status == 200)
    }

    @Test func accountOfAProviderCanLogIn() throws {
        var app = Caller.shelbyV1()
        let answer = try app.call(
            "POST", "/v1/token",
            form: ["provider_name": "twitter", "uid": "101", "token": "t", "secret": "s"])
        let user = try #require(answer.object["result"] as? [String: Any])
        #expect(user["nickname"] as? String == "ben")
    }

    @Test func wrongCredentialsReturnAFailureEnvelope() throws {
        var app = Caller.shelbyV1()
        let answer = try app.call(
            "POST", "/v1/token", form: ["email": SimulatorAccount.user, "password": "no"])
        #expect(answer.status == 404)
        #expect(try answer.object["status"] as? Int == 404)
        #expect(try answer.object["message"] is String)
        #expect(try answer.object["result"] == nil)
    }

    @Test func guestsCanSignUp() throws {
        var app = Caller.shelbyV1()
        for form: KeyValuePairs in [
            ["generate_temporary_nickname_and_password": "1"],
            ["user[name]": "Grace", "user[nickname]": "grace", "user[password]": "x"],
        ] {
            let answer = try app.call("POST", "/v1/user", form: form)
            let user = try #require(answer.object["result"] as? [String: Any])
            let token = try #require(user["authentication_token"] as? String)
            #expect(try app.call("GET", "/v1/dashboard?auth_token=\(token)").status == 200)
        }
    }

    @Test(arguments: [
        ("GET", "/v1/users"), ("GET", "/v1/dashboard?page=1"), ("GET", "/v1/dashboard?limit=all"),
        ("GET", "/v1/dashboard?since_id=12"), ("POST", "/v1/token?email=a"), ("GET", "/v1"),
        ("DELETE", "/v1/roll/4e7179b8fa44c4166b005e8c"), ("GET", "/v2/users.json"),
        ("GET", "/v1/user/4e7179b8fa44c4166b005e8c/rolls/owned"),
    ])
    func unknownRequestsAreViolations(_ method: String, _ target: String) throws {
        var app = Caller.shelbyV1()
        #expect(try app.call(method, target).status == 400)
        #expect(app.simulator.violations.count == 1)
    }

    @Test func bothVersionsShareOneAddress() throws {
        var both = Caller(ShelbySimulator(seed: 1, at: Moments.start))
        let token = (SimulatorAccount.oauthToken, SimulatorAccount.oauthSecret)
        both.sign = { request, now in request.signed(token, at: now, nonce: String(now)) }
        let frame = try #require(both.simulator.v1.world.frames.keys.max())
        let broadcast = both.simulator.v2.world.broadcasts[0].id
        _ = try both.call(
            "PUT", "/v2/broadcasts/\(broadcast).json", form: ["liked_by_owner": "true"])
        _ = try both.call("PUT", "/v1/frame/\(frame)/like")
        _ = try both.call(
            "PUT", "/v2/broadcasts/\(broadcast).json", form: ["liked_by_owner": "false"])
        _ = try both.call("GET", "/v3")
        #expect(both.simulator.effects.map(\.kind) == [.flag, .like, .flag])
        #expect(both.simulator.effects.map(\.number) == [1, 2, 3])
        #expect(both.simulator.violations.count == 1)
    }

    @Test func theSameSeedGivesTheSameAnswersUnderTheAdversary() {
        func run(_ seed: UInt64) -> [SimulatedAnswer] {
            var app = Caller.shelbyV1(seed: seed, .harsh)
            return (0..<120).map { number in
                app.now += 5_000
                let id = app.simulator.world.frames.keys.min() ?? ""
                return number.isMultiple(of: 3)
                    ? app.answer("PUT", app.path("frame/\(id)/like"))
                    : app.answer("GET", app.path("dashboard", "skip=\(number)"))
            }
        }
        let isRepeated = run(4) == run(4)
        let isAnother = run(4) != run(5)
        #expect(isRepeated && isAnother)
    }
}
