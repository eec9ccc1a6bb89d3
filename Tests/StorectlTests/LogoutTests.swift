import Foundation
import TestSupport
import Testing

/// Logging out of a remote that can end sessions.
@Suite(.offTasks) struct LogoutTests {
    private let remote: ShelbyProcess
    private let password: String

    init() throws {
        remote = try ShelbyProcess()
        let secret = try #require(remote.document["password"]?.text)
        password = try remote.storectl.file("password", (secret + "\n").utf8)
    }

    private func device(url: String) throws -> Storectl {
        let store = try Storectl.empty()
        try store.succeed("remote", "add", "home", "shelby", url)
        return store
    }

    private func logIn(_ store: Storectl) throws {
        let user = try #require(remote.document["user"]?.text)
        try store.succeed("login", "home", "--user", user, "--password-file", password)
    }

    @Test func logoutEverywhereEndsTheSessionsOfAllDevices() throws {
        let devices = try (0..<2).map { _ in try device(url: remote.url + "/v1") }
        for store in devices {
            try logIn(store)
            try store.succeed("sync", "home")
        }
        let run = try devices[0].succeed("logout", "home", "--everywhere")
        #expect(run.stdout == "logged out of home everywhere\n")
        // The remote no longer accepts this device's token, but the device has the password.
        try devices[1].succeed("logout", "home", "--everywhere")
        try logIn(devices[0])
        try devices[0].succeed("sync", "home")
        #expect(try remote.violations == "[]")
    }

    /// The user has logged out elsewhere and logged in again, so the account has a new token.
    @Test(arguments: [true, false])
    func logoutWithADeadTokenEndsTheNewSessions(hasPassword: Bool) throws {
        let devices = try (0..<3).map { _ in try device(url: remote.url + "/v1") }
        try logIn(devices[0])
        try logIn(devices[1])
        try devices[0].succeed("logout", "home", "--everywhere")
        try logIn(devices[2])
        // A device without a password cannot renew its token.
        for store in hasPassword ? [devices[2]] : devices[1...] { try forgetPassword(store) }
        if hasPassword {
            try devices[1].succeed("logout", "home", "--everywhere")
            #expect(try devices[2].run("sync", "home").exit == 7)
        } else {
            try devices[1].checkFails(
                "logout", "home", "--everywhere", code: "unauthorized", exit: 7,
                says: "the token is no longer valid")
            try devices[2].succeed("sync", "home")
        }
        #expect(FileManager.default.fileExists(atPath: login(devices[1])) == !hasPassword)
        #expect(try remote.violations == "[]")
    }

    @Test func logoutWhoseResponseIsLostKeepsTheLogin() throws {
        let loss = try AnswerLoss(to: remote.port, losing: "DELETE /v1/token")
        defer { loss.stop() }
        let store = try device(url: loss.url + "/v1")
        try logIn(store)
        try store.checkFails(
            "logout", "home", "--everywhere", code: "offline", exit: 7, says: "did not confirm")
        try store.succeed("sync", "home")
        #expect(FileManager.default.fileExists(atPath: login(store)))
    }

    @Test func repeatingALogoutEverywhereSucceeds() throws {
        let server = try ServeProcess()
        let devices = try (0..<3).map { _ in try device(url: remote.url + "/v1") }
        for store in devices[..<2] {
            try logIn(store)
            try store.succeed("sync", "home")
        }
        try devices[0].succeed("logout", "home", "--everywhere")
        for store in devices { #expect(try store.sync(server.url, server).exit == 0) }
        let head = try devices[0].succeed("log", "--json").stdout
        for store in devices[..<2] {
            let run = try store.succeed("logout", "home", "--everywhere")
            #expect(run.stdout == "already logged out of home everywhere\n")
        }
        #expect(try devices[0].succeed("log", "--json").stdout == head)
        // This device has never been logged in.
        try devices[2].checkFails(
            "logout", "home", "--everywhere", code: "usage", exit: 64, says: "not logged in")

        // The user logs in on another device, so there is a session again.
        try logIn(devices[1])
        for store in [devices[1], devices[0]] {
            #expect(try store.sync(server.url, server).exit == 0)
        }
        try devices[0].checkFails(
            "logout", "home", "--everywhere", code: "usage", exit: 64, says: "not logged in")
    }

    /// A hint to log in first would lead nowhere.
    @Test(arguments: ["shelby", "whale", "birdtube", "tvmaze"])
    func systemsThatCannotEndSessionsSaySo(_ system: String) throws {
        let store = try Storectl.empty()
        try store.succeed("remote", "add", "other", system, "http://127.0.0.1:1")
        let run = try store.run("logout", "other", "--everywhere", "--json")
        #expect(run.exit == 64)
        let error = try run.document["error"]
        #expect(error?["message"]?.text?.contains("cannot end sessions") == true)
        #expect(error?["hint"]?.text?.contains("storectl logout other") == true)
        #expect(error?["hint"]?.text?.contains("without --everywhere") == true)
    }

    /// A removal ends the logins of the devices, but no session at the remote.
    @Test func removalOfTheRemoteDoesNotCountAsALogoutEverywhere() throws {
        let store = try device(url: remote.url + "/v1")
        try logIn(store)
        try store.succeed("remote", "remove", "home", "--yes")
        try store.succeed("remote", "add", "home", "shelby", remote.url + "/v1")
        try store.checkFails(
            "logout", "home", "--everywhere", code: "usage", exit: 64, says: "not logged in")
    }

    /// A process was killed before the remote received its request to end the sessions.
    @Test func interruptedLogoutEndsTheSessionsWhenItIsRepeated() throws {
        let devices = try (0..<2).map { _ in try device(url: remote.url + "/v1") }
        for store in devices {
            try logIn(store)
            try store.succeed("sync", "home")
        }
        // The other device cannot start a new session.
        try forgetPassword(devices[1])
        try markLogout(devices[0])
        for command in [["sync", "home"], ["login", "home", "--user", "ada"]] {
            let run = try devices[0].run(command + ["--json"])
            #expect(run.exit == 7)
            #expect(run.stderr.contains("storectl logout home --everywhere"), "\(run.stderr)")
        }
        for command in [["status"], ["remote", "list"], ["outbox"]] {
            #expect(try devices[0].run(command).exit == 0)
        }
        #expect(FileManager.default.fileExists(atPath: login(devices[0])))
        try devices[1].succeed("sync", "home", "--refresh")

        let run = try devices[0].succeed("logout", "home", "--everywhere")
        #expect(run.stdout == "logged out of home everywhere\n")
        #expect(!FileManager.default.fileExists(atPath: login(devices[0])))
        #expect(try devices[1].run("sync", "home", "--refresh").exit == 7)
        #expect(try remote.violations == "[]")
    }

    /// Marks a login as a process does that is killed during a logout everywhere.
    private func markLogout(_ store: Storectl) throws {
        let data = try Data(contentsOf: URL(filePath: login(store)))
        var json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        json["isEnding"] = true
        try JSONSerialization.data(withJSONObject: json).write(
            to: URL(filePath: login(store)), options: .atomic)
    }

    private func login(_ store: Storectl) -> String { store.store + "/logins/home.json" }

    /// Removes the password from a login file.
    private func forgetPassword(_ store: Storectl) throws {
        let secret = try #require(remote.document["password"]?.text)
        let text = try String(contentsOfFile: login(store), encoding: .utf8)
        try text.replacing("\"\(secret)\"", with: "\"\"").write(
            toFile: login(store), atomically: true, encoding: .utf8)
    }

    @Test(arguments: [true, false])
    func otherDevicesLogOutOnlyIfTheLogoutWasEverywhere(isEverywhere: Bool) throws {
        let server = try ServeProcess()
        let devices = try (0..<2).map { _ in try device(url: remote.url + "/v1") }
        for store in devices {
            try logIn(store)
            try store.succeed("sync", "home")
        }
        if isEverywhere {
            try devices[0].succeed("logout", "home", "--everywhere")
        } else {
            try devices[0].succeed("logout", "home")
        }
        for store in devices { #expect(try store.sync(server.url, server).exit == 0) }
        let login = devices[1].store + "/logins/home.json"
        #expect(FileManager.default.fileExists(atPath: login) == !isEverywhere)
        if isEverywhere {
            try devices[1].checkFails(
                "sync", "home", code: "unauthorized", exit: 7, says: "not logged in")
            try logIn(devices[1])
        }
        try devices[1].succeed("sync", "home")
        #expect(try remote.violations == "[]")
    }
}
