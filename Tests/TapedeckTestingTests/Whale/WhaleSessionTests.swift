import TapedeckTesting
import Testing

/// Logging in to Whale and signing up.
struct WhaleSessionTests {
    @Test func loginReturnsTheTokenInAHeader() throws {
        var ada = Caller.whale()
        ada.headers = []
        let answer = try ada.call(
            "POST", "/api/v1/sessions",
            form: ["email": SimulatorAccount.user, "password": SimulatorAccount.password])
        #expect(answer.status == 200)
        #expect(try answer.object["username"] as? String == "ada")
        #expect(try answer.object["token"] == nil)
        let header = try #require(answer.header("Authorization"))
        #expect(header.hasPrefix("Bearer ") && header.split(separator: ".").count == 3)
        let expires = try #require(answer.header("x-expires").flatMap { Int64($0) })
        #expect(expires > ada.now / 1_000 && expires < ada.now)
        for value in [header, String(header.dropFirst("Bearer ".count))] {
            ada.headers = [SimulatedField("authorization", value)]
            #expect(try ada.call("GET", "/api/v1/sessions").object["id"] as? Int == 1)
        }
    }

    @Test func wrongCredentialsReturn401WithAnEmptyBody() throws {
        var ada = Caller.whale()
        let answer = try ada.call(
            "POST", "/api/v1/sessions", form: ["email": SimulatorAccount.user, "password": "no"])
        #expect(answer.status == 401 && answer.body.isEmpty)
    }

    @Test(arguments: [
        ("GET", "sessions"), ("GET", "answers"), ("GET", "questions"), ("GET", "questions/1"),
        ("GET", "answers/1/comments"), ("GET", "answers/1/likes"), ("DELETE", "comments/1"),
    ])
    func requestsWithoutATokenReturn401WithAnEmptyBody(_ method: String, _ path: String) throws {
        var nobody = Caller.whale()
        nobody.headers = []
        let answer = try nobody.call(method, "/api/v1/\(path)")
        #expect(answer.status == 401 && answer.body.isEmpty)
        #expect(nobody.simulator.violations.isEmpty)
    }

    @Test func sessionsExpire() throws {
        var ada = Caller.whale()
        #expect(try ada.call("GET", "/api/v1/sessions").status == 200)
        ada.now += 31 * Moments.day
        #expect(try ada.call("GET", "/api/v1/sessions").status == 401)
        ada.become(1)
        ada.simulator.expireTokens()
        #expect(try ada.call("GET", "/api/v1/sessions").status == 401)
    }

    @Test func signingUpLogsIn() throws {
        var guest = Caller.whale()
        guest.headers = []
        let answer = try guest.call(
            "POST", "/api/v1/users",
            form: [
                "first_name": "Grace", "last_name": "H", "email": "grace@example.org",
                "username": "grace", "password": "secret",
            ])
        #expect(answer.status == 201)
        guest.headers = [
            SimulatedField("Authorization", try #require(answer.header("authorization")))
        ]
        #expect(
            try guest.call("GET", "/api/v1/sessions").object["username"] as? String == "grace")
        #expect(guest.simulator.effects.map(\.kind) == [.signUp])
    }

    @Test func takenAddressReturns422WithErrorsByField() throws {
        var guest = Caller.whale()
        let answer = try guest.call(
            "POST", "/api/v1/users",
            form: [
                "first_name": "Ada", "last_name": "L", "email": SimulatorAccount.user,
                "username": "ada2", "password": "secret",
            ])
        #expect(answer.status == 422)
        #expect(answer.text == #"{"errors":{"email":["has already been taken"]}}"#)
    }

    @Test func patchChangesTheCallersImageWhateverThePath() throws {
        var ada = Caller.whale()
        let answer = try ada.call(
            "PATCH", "/api/v1/users/2", form: ["image_url": "http://img.example.org/new.png"])
        #expect(try answer.object["id"] as? Int == 1)
        #expect(ada.simulator.world.users[0].imageURL == "http://img.example.org/new.png")
    }
}
