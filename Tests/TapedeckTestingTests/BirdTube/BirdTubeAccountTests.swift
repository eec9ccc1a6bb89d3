import TapedeckTesting
import Testing

/// Signing in and signing up at BirdTube, whose errors have status 200.
struct BirdTubeAccountTests {
    @Test func signInReturnsTheSessionButNoUserID() throws {
        var ada = Caller.birdTube()
        let user = try #require(try ada.signIn()["user"] as? [String: Any])
        #expect(user["email"] as? String == SimulatorAccount.user)
        #expect(user["nickname"] as? String == "ada" && user["id"] == nil)
        #expect(user["session"] as? String == ada.simulator.world.users[0].session)
        #expect(try ada.session() == user["session"] as? String, "the session never changes")
    }

    @Test func refusalsStateTheReason() throws {
        var ada = Caller.birdTube()
        #expect(try ada.signIn("nobody@example.org").message == "User not found.")
        #expect(try ada.signIn(password: "no").message == "Password is incorrect.")
        // In the system's own sample code, a login that is refused for either of these two reasons
        // causes an error 500.
        ada.simulator.stumblesOverRefusals = true
        let answer = try ada.answer(
            "/signin",
            [
                "email": SimulatorAccount.user, "password": "no", "device_token": "",
                "device_type": "IOS",
            ])
        #expect(answer.response?.status == 500)
    }

    @Test func addressCanSignUpOnlyOnce() throws {
        var guest = Caller.birdTube()
        let members = [
            "email": "grace@example.org", "nickname": "grace", "password": "secret",
            "device_token": "", "device_type": "WEB",
        ]
        #expect(try guest.post("/signup", members).isSuccess)
        #expect(try guest.post("/signup", members).message == "The email exists.")
        #expect(guest.simulator.effects.map(\.kind) == [.signUp])
        #expect(try guest.signIn("grace@example.org", password: "secret").isSuccess)
    }
}
