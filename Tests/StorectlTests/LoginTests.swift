import Foundation
import Synchronization
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

    /// A change of the remote while it checks the password.
    enum RemoteChange: CaseIterable {
        case removal, newAddress, removalAndAddition

        func apply(to store: Storectl, at url: String) throws {
            if self != .newAddress { try store.succeed("remote", "remove", "home", "--yes") }
            if self == .removal { return }
            let address = self == .newAddress ? "http://127.0.0.1:1" : url
            try store.succeed("remote", "add", "home", "shelby", address + "/v1")
        }
    }

    @Test(arguments: RemoteChange.allCases)
    func loginThatEndsBeforeItSucceedsKeepsNothing(_ change: RemoteChange) throws {
        let (remote, store) = (try ShelbyProcess(), store)
        let url = Mutex("")
        let proxy = try AnswerLoss(to: remote.port, losing: "POST /v1/token") {
            #expect(throws: Never.self) {
                try change.apply(to: store, at: url.withLock(\.self))
            }
        }
        defer { proxy.stop() }
        url.withLock { $0 = proxy.url }
        try store.succeed("remote", "add", "home", "shelby", proxy.url + "/v1")
        let (user, secret) = (remote.document["user"]?.text, remote.document["password"]?.text)
        let password = try store.file("password", (try #require(secret) + "\n").utf8)
        let isThere = change == .removalAndAddition
        try store.checkFails(
            "login", "home", "--user", try #require(user), "--password-file", password,
            code: isThere ? "conditionFailed" : "notFound", exit: isThere ? 3 : 4,
            says: "during the login")
        #expect(!FileManager.default.fileExists(atPath: store.store + "/logins/home.json"))
        let accounts = try store.succeed("query", "accounts", "--json").document["accounts"]?.list
        #expect(accounts?.allSatisfy { $0["isSignedIn"] == .bool(false) } == true)
    }

    @Test func unreachableServerNamesTheRemote() throws {
        try checkFails(at: "http://127.0.0.1:1/v1", code: "offline")
        try checkFails(at: "https://127.0.0.1:1/v1", code: "offline")
    }

    /// The credentials are wrong, so the same login would fail again.
    @Test(arguments: ["whale", "birdtube"])
    func rejectedLoginsSuggestToCheckTheCredentials(_ system: String) throws {
        let server = try FixedAnswer(401, "")
        defer { server.stop() }
        try store.succeed("remote", "add", "home", system, server.url)
        let password = try store.file("password", "one\n".utf8)
        let run = try store.run(
            "login", "home", "--user", "ada@example.org", "--password-file", password, "--json")
        #expect(try run.document["error"]?["code"]?.text == "unauthorized")
        let hint = try #require(try run.document["error"]?["hint"]?.text)
        #expect(hint.contains("check the user name and the password"), "\(hint)")
        #expect(!hint.contains("storectl login"), "\(hint)")
    }

    /// The hint names only the credentials that the system accepts.
    @Test(arguments: ["whale", "birdtube", "shelby"])
    func missingCredentialsAreNamed(_ system: String) throws {
        try store.succeed("remote", "add", "home", system, "http://127.0.0.1:1")
        let run = try store.run("login", "home", "--json")
        let hint = try #require(try run.document["error"]?["hint"]?.text)
        #expect(hint.contains("--token-file") == (system == "shelby"), "\(hint)")
        #expect(hint.contains("--user") == (system != "shelby"), "\(hint)")
    }

    /// Answers each request with the same status and body.
    private final class FixedAnswer: Sendable {
        private let listener: Int32
        let url: String

        init(_ status: Int, _ body: String) throws {
            let (listener, port) = try LocalSocket.listening()
            self.listener = listener
            url = "http://127.0.0.1:\(port)"
            let answer = """
                HTTP/1.1 \(status) Fixed\r\nContent-Length: \(body.utf8.count)\r\n\
                Connection: close\r\n\r\n\(body)
                """
            Thread.detachNewThread {
                while true {
                    let device = accept(listener, nil, nil)
                    guard device >= 0 else { return }
                    var request = [UInt8](repeating: 0, count: 64 << 10)
                    _ = recv(device, &request, request.count, 0)
                    _ = LocalSocket.write(Array(answer.utf8)[...], to: device)
                    // The rest of the request is read, because closing would otherwise reset the
                    // connection before the client has read the answer.
                    shutdown(device, Int32(SHUT_WR))
                    while recv(device, &request, request.count, 0) > 0 {}
                    close(device)
                }
            }
        }

        func stop() { shutdown(listener, Int32(SHUT_RDWR)) }
    }

    @Test(
        arguments: ["shelby", "shelby/v1", "whale", "birdtube"],
        [
            (200, "<html>"), (302, ""), (400, "{}"), (404, ""), (409, ""), (413, ""), (422, ""),
            (429, ""), (500, "{}"), (503, ""),
        ])
    func failedLoginsSuggestARemedy(
        _ system: String, _ answer: (status: Int, body: String)
    ) throws {
        let server = try FixedAnswer(answer.status, answer.body)
        defer { server.stop() }
        let url = server.url + (system.hasSuffix("/v1") ? "/v1" : "")
        let words = system.split(separator: "/")
        try store.succeed("remote", "add", "home", String(words[0]), url)
        let secret = try store.file("secret", "one\ntwo\n".utf8)
        let password = try store.file("password", "one\n".utf8)
        let credentials =
            system == "shelby"
            ? ["--token-file", secret]
            : ["--user", "ada@example.org", "--password-file", password]
        let run = try store.run(["login", "home", "--json"] + credentials)
        #expect(run.exit == 7)
        let error = try run.document["error"]
        let hint = error?["hint"]?.text
        #expect(hint != nil, "\(error?["message"]?.text ?? run.stderr)")
    }

    /// No request is sent, but the user may have several remotes.
    @Test func localFailuresNameTheRemote() throws {
        try store.succeed("remote", "add", "home", "whale", "http://127.0.0.1:1")
        let lines = try store.file("lines", "one\ntwo\nthree\n".utf8)
        let cases: [(arguments: [String], input: String)] = [
            (["--user", "ada"], ""), ([], ""), (["--user", ""], ""),
            (["--user", "ada", "--password-file", "/no/such/file"], ""),
            (["--user", "ada", "--password-file", store.directory.path], ""),
            (["--user", "ada", "--password-file", lines], ""), (["--token-file", lines], ""),
            (["--user", "ada"], String(repeating: "x", count: 5_000)),
        ]
        for (arguments, input) in cases {
            let run = try store.run(
                ["login", "home", "--json"] + arguments, input: Data(input.utf8))
            let error = try run.document["error"]
            let message = try #require(error?["message"]?.text)
            #expect(
                message.hasPrefix("cannot log in to home: ") || message.hasPrefix("home: "),
                "\(message)")
            #expect(error?["hint"]?.text != nil, "\(message)")
        }
    }
}
