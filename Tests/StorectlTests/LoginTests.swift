import TestSupport
import Testing

/// Failures of `storectl login`: a user with several remotes must see which one failed.
@Suite(.offTasks) struct LoginTests {
    private let store: Storectl

    init() throws {
        store = try Storectl.empty()
    }

    /// Checks that a login at a remote fails, and that the message names the remote once.
    private func checkFails(
        at url: String, code: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try store.succeed("remote", "add", "home", "shelby", url, sourceLocation: sourceLocation)
        let password = try store.file("password", "no such password\n".utf8)
        let run = try store.run(
            "login", "home", "--user", "ada@example.org", "--password-file", password, "--json")
        #expect(run.exit == 7, sourceLocation: sourceLocation)
        let error = try run.document["error"]
        #expect(error?["code"]?.text == code, sourceLocation: sourceLocation)
        let message = try #require(error?["message"]?.text, sourceLocation: sourceLocation)
        // The address of a remote names it, too.
        let names = [url, "home"].map { message.ranges(of: $0).count }
        #expect(names.reduce(0, +) == 1, "\(message)", sourceLocation: sourceLocation)
    }

    @Test func wrongPasswordNamesTheRemote() throws {
        let remote = try ShelbyProcess()
        try checkFails(at: remote.url + "/v1", code: "unauthorized")
    }

    @Test func lostResponseNamesTheRemote() throws {
        let remote = try ShelbyProcess()
        let loss = try AnswerLoss(to: remote.port, losing: "POST /v1/token")
        defer { loss.stop() }
        try checkFails(at: loss.url + "/v1", code: "offline")
    }

    @Test func unreachableServerNamesTheRemote() throws {
        try checkFails(at: "http://127.0.0.1:1/v1", code: "offline")
        try checkFails(at: "https://127.0.0.1:1/v1", code: "offline")
    }
}
