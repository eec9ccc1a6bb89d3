import TapedeckTesting
import Testing

/// Requests that are not part of a system's API get a 400 response and are recorded as violations.
struct ViolationTests {
    @Test(arguments: [
        ("GET", "/v2/nothing.json"), ("DELETE", "/v2/users.json"), ("GET", "/"), ("GET", ""),
        ("GET", "/v2/users.json?secret=1"), ("GET", "/v2/users"), ("POST", "/oauth/nothing"),
        ("GET", "/oauth/request_token"), ("POST", "/oauth/request_token?oauth_callback=oob"),
        ("GET", "/oauth/authorize?oauth_token=a&provider=myspace"),
    ])
    func unknownRequestsAreViolations(_ method: String, _ target: String) throws {
        var ada = Caller.shelby()
        #expect(try ada.call(method, target).status == 400)
        let violation = try #require(ada.simulator.violations.first)
        #expect(violation.method == method)
        #expect(!violation.description.contains("secret=1"))
    }

    @Test func unexpectedBodyIsAViolation() throws {
        var ada = Caller.shelby()
        #expect(try ada.call("GET", "/v2/users.json", form: ["a": "1"]).status == 400)
    }

    @Test func bodyThatIsNotAFormIsAViolation() throws {
        var ada = Caller.shelby()
        let id = try #require(ada.broadcasts().texts("_id").first)
        let request = SimulatedRequest(
            "PUT", "/v2/broadcasts/\(id).json",
            headers: [SimulatedField("Content-Type", "application/json")],
            body: Array("{\"liked_by_owner\":true}".utf8))
        #expect(ada.simulator.respond(to: request, at: ada.now).response?.status == 400)
    }
}
