import Foundation
import TestSupport
import Testing

/// Secrets appear only in the login file, never in other files of the store, in errors or in
/// output.
@Suite(.offTasks) struct SecretTests {
    /// A string that every planted secret contains, so that the tests find secrets in any
    /// surrounding text.
    private static let mark = "pl4nted"

    private func check(
        _ store: Storectl, _ runs: [Storectl.Run], _ secrets: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for secret in secrets {
            for run in runs {
                #expect(
                    !run.stdout.contains(secret) && !run.stderr.contains(secret),
                    "\(run.arguments)", sourceLocation: sourceLocation)
            }
            let files = try #require(FileManager.default.enumerator(atPath: store.store))
            for case let name as String in files
            where !(name.hasPrefix("logins/") && name.hasSuffix(".json")) {
                let bytes = FileManager.default.contents(atPath: "\(store.store)/\(name)") ?? Data()
                #expect(
                    bytes.range(of: Data(secret.utf8)) == nil, "\(name)",
                    sourceLocation: sourceLocation)
            }
        }
    }

    /// Runs every command that reports on a store and its remotes.
    private func reportRuns(_ store: Storectl) throws -> [Storectl.Run] {
        var runs: [Storectl.Run] = []
        for command in [
            ["status"], ["remote", "list"], ["outbox"], ["log"], ["doctor"], ["sync", "home"],
        ] {
            for more in [[], ["--json"]] { runs.append(try store.run(command + more)) }
        }
        for command in ["export", "backup"] {
            runs.append(try store.run(command, "\(store.store)/../\(command)", "--json"))
        }
        return runs
    }

    @Test(arguments: [true, false]) func loginsStayInTheirFile(isToken: Bool) throws {
        let remote = try ShelbyProcess()
        let store = try Storectl.empty()
        try store.succeed("remote", "add", "home", "shelby", remote.url + (isToken ? "" : "/v1"))
        let password = try #require(remote.document["password"]?.text)
        let file = try remote.storectl.file("password", (password + "\n").utf8)
        let login =
            isToken
            ? ["--token-file", remote.tokenFile]
            : ["--user", try #require(remote.document["user"]?.text), "--password-file", file]
        var runs = [try store.run(["login", "home"] + login)]
        #expect(runs[0].exit == 0)
        runs.append(try store.run("sync", "home"))
        #expect(runs[1].exit == 0)
        runs += try reportRuns(store)
        try remote.kill()
        runs += try reportRuns(store)
        let held = try String(
            contentsOfFile: store.store + "/logins/home.json", encoding: .utf8)
        let secrets = isToken ? remote.secrets : [password]
        for secret in secrets { #expect(held.contains(secret)) }
        try check(store, runs, secrets)
    }

    @Test(arguments: [true, false]) func filesWithWindowsLineEndsAreAccepted(
        isToken: Bool
    ) throws {
        let remote = try ShelbyProcess()
        let store = try Storectl.empty()
        try store.succeed("remote", "add", "home", "shelby", remote.url + (isToken ? "" : "/v1"))
        let text =
            isToken
            ? try String(contentsOfFile: remote.tokenFile, encoding: .utf8)
                .replacing("\n", with: "\r\n")
            : try #require(remote.document["password"]?.text) + "\r\n"
        let file = try store.file("secret", text.utf8)
        chmod(file, 0o600)
        let user = try #require(remote.document["user"]?.text)
        let login =
            isToken ? ["--token-file", file] : ["--user", user, "--password-file", file]
        #expect(try store.run(["login", "home"] + login).exit == 0)
    }

    /// A login that the user approves in a browser; with API v1, the service shows a PIN.
    @Test(arguments: ["", "/v1"]) func approvedLoginsStayInTheirFile(path: String) throws {
        let remote = try ShelbyProcess()
        let store = try Storectl.empty()
        try store.succeed("remote", "add", "home", "shelby", remote.url + path)
        let consumer = try ["consumerKey", "consumerSecret"].map {
            try #require(remote.document[$0]?.text)
        }
        let file = try store.file("consumer", "\(consumer.joined(separator: "\n"))\n".utf8)
        let login = [
            "login", "home", "--oauth", "--provider", "twitter", "--consumer-file", file,
            "--oauth-url", remote.url + "/oauth",
        ]
        chmod(file, 0o644)
        let refused = try store.run(login + ["--json"])
        #expect(refused.exit == 5)
        #expect(try refused.document["error"]?["code"]?.text == "accessDenied")
        chmod(file, 0o600)
        let pipe = Pipe()
        let process = try store.start(login, through: pipe)
        try eventuallyBlocking("the address of the page") {
            try process.stderrSoFar.contains("\n") || !process.isRunning
        }
        let words = try process.stderrSoFar.split(whereSeparator: \.isWhitespace)
        let page = try #require(words.first { $0.hasPrefix(remote.url) })
        let body = try LocalSocket.get(String(page.dropFirst(remote.url.count)), port: remote.port)
        let reply = try #require(
            String(decoding: body, as: UTF8.self).split(whereSeparator: \.isWhitespace).last)
        try pipe.fileHandleForWriting.write(contentsOf: Data("\(reply)\n".utf8))
        var runs = [try process.wait()]
        #expect(runs[0].exit == 0, "\(runs[0].stderr)")
        #expect(runs[0].stdout.hasPrefix("logged in to home as "))
        runs.append(try store.run("sync", "home"))
        #expect(runs[1].exit == 0)
        runs += try reportRuns(store)
        let verifier = try #require(reply.split(separator: "=").last)
        try check(
            store, runs, [consumer[1], String(verifier), "request-secret-", "access-secret-"])
        let held = try String(contentsOfFile: store.store + "/logins/home.json", encoding: .utf8)
        #expect(held.contains("access-secret-") && !held.contains("request-"))
    }

    @Test(arguments: ["\n", "\u{0}", " ", "é", "\u{1B}[31m", "\r\nHost: evil"])
    func invalidTokensAreNotRepeatedInOutput(between: String) throws {
        let store = try Storectl.empty()
        let secret = Self.mark + between + Self.mark
        let file = try store.file("secret", (secret + "\n").utf8)
        let port = try LocalSocket.freePort()
        let url = "http://127.0.0.1:\(port)"
        try store.succeed("remote", "add", "home", "shelby", url)
        try store.succeed("remote", "add", "birds", "birdtube", url)
        var runs = [try store.run("sync", url, "--token-file", file, "--json")]
        #expect(runs[0].exit == 64)
        for login in [
            ["home", "--token-file", file], ["home", "--user", "ada", "--password-file", file],
            ["birds", "--user", "ada@example.org", "--password-file", file],
        ] {
            runs.append(try store.run(["login"] + login))
            #expect(runs.last?.exit != 0)
        }
        runs += try reportRuns(store)
        try check(store, runs, [Self.mark])
    }

    /// Users may copy a token together with a line break, for example from a terminal.
    @Test func whitespaceAroundTokensIsIgnored() throws {
        let server = try ServeProcess()
        let store = try Storectl.empty()
        let token = try String(contentsOfFile: server.tokenFile, encoding: .utf8)
        let file = try store.file("token", "\n  \(token)\r\n \n".utf8)
        try store.append("VideoSubmitted", #"{"video":"youtube:brandnewone","title":"New"}"#)
        try store.succeed("sync", server.url, "--token-file", file)
    }
}
