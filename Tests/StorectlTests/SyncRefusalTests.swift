import Foundation
import TestSupport
import Testing

/// The errors of syncs that fail or are refused, and the secrets that syncs never print.
@Suite(.serialized, .offTasks) struct SyncRefusalTests {
    @Test func wrongTokensAreReportedAndLoseNothing() throws {
        let server = try ServeProcess()
        let store = try Storectl.empty()
        var history = SyncHistory()
        try history.append(3, to: store)
        let wrong = try store.file("wrong-token", String(try server.token.reversed()).utf8)
        for arguments in [[], ["--dry-run"]] {
            let run = try store.run(
                ["sync", server.url, "--token-file", wrong, "--json"] + arguments)
            #expect(run.exit == 7)
            #expect(try run.document["error"]?["code"]?.text == "unauthorized")
            #expect(run.stderr.contains("\(server.url) rejected the token: "))
            #expect(run.stderr.contains("the token was read from \(wrong)"))
            #expect(
                run.stderr.contains(
                    "hint: create a token on the server with storectl token create NAME --data DIR"
                        + " --to FILE, then sync with --token-file FILE\n"))
        }
        let run = try store.run("sync", server.url, "--token-file", wrong, "--json")
        #expect(try run.document["waitingCount"]?.number == 3)
        try store.checkFails("sync", server.url, code: "usage", exit: 64)
        try Storectl.settle([store], server)
        try history.check([store])
    }

    @Test func stoppedServersAreReportedAsOffline() throws {
        let server = try ServeProcess()
        let store = try Storectl.empty()
        var history = SyncHistory()
        try history.append(3, to: store)
        try server.kill()
        try store.checkFails(
            "sync", server.url, "--token-file", server.tokenFile, code: "offline", exit: 7)
        try history.append(2, to: store)
        try server.start()
        #expect(try store.sync(server.url, server).document["pushed"]?.number == 5)
        try Storectl.settle([store], server)
        try history.check([store])
    }

    /// Events that were pulled from a server do not wait to be pushed to it, even if the server has
    /// stopped.
    @Test func onlyUnpushedEventsWaitForTheServer() throws {
        let server = try ServeProcess()
        let (writing, reading) = (try Storectl.empty(), try Storectl.empty())
        var history = SyncHistory()
        try history.append(3, to: writing)
        #expect(try writing.sync(server.url, server).exit == 0)
        #expect(try reading.sync(server.url, server).exit == 0)
        try history.append(2, to: reading)
        try server.kill()
        for store in [reading, writing] {
            let run = try store.run(
                "sync", server.url, "--token-file", server.tokenFile, "--json")
            #expect(run.exit == 7)
            let outbox = try #require(
                try store.run("outbox", "--json").document["items"]?.list)
            #expect(try run.document["waitingCount"]?.number == Double(outbox.count))
            #expect(outbox.count == (store.store == reading.store ? 2 : 0))
        }
        try server.start()
        try Storectl.settle([writing, reading], server)
        try history.check([writing, reading])
    }

    /// Events must not wait permanently for a mistyped address.
    @Test func mistypedServersCanBeRemoved() throws {
        let store = try Storectl.empty()
        try store.append("WatchLaterToggled", #"{"video":"vimeo:1","isOn":true}"#)
        let token = try store.file("token", "t".utf8)
        let wrong = "http://127.0.0.1:1"
        try store.checkFails("sync", wrong, "--token-file", token, code: "offline", exit: 7)
        #expect(try store.run("explain", "1", "--json").document["state"]?.text == "waiting")
        // The position identifies the event; the long id is last, because a terminal shortens it.
        let line = try store.run("outbox").stdout.split(separator: "\t")
        #expect(line.prefix(3) == ["1", "WatchLaterToggled", Substring(wrong)])
        #expect(line[3].hasPrefix("waiting") && line[4].hasSuffix("-1\n"))
        try store.checkFails("remote", "remove", wrong + "2", "--yes", code: "notFound", exit: 4)
        try store.checkFails("remote", "remove", wrong, code: "usage", exit: 64)
        try store.succeed("remote", "remove", wrong, "--yes")
        #expect(try store.run("explain", "1", "--json").document["state"]?.text == "local")
        #expect(try store.run("status", "--json").document["sync"]?.list == [])
        // The hint contains the entire command.
        let short = try store.run(
            "sync", "--store", store.store, "127.0.0.1:8737", "--token-file", "server/token",
            "--dry-run")
        #expect(short.exit == 64)
        #expect(
            short.stderr.contains(
                "run storectl sync http://127.0.0.1:8737 --dry-run --token-file server/token --store"
                    + " \(store.store)\n"))
    }

    /// A user name or password typed as part of an address is not printed.
    @Test func loginsInAddressesAreNotRepeated() throws {
        let store = try Storectl.empty()
        let secret = "pl4nted"
        for login in ["ada:\(secret)@", "\(secret)@", "ada:x/\(secret)?#@"] {
            let (url, name) = ("http://\(login)127.0.0.1:1", "\(login)127.0.0.1:1")
            for arguments in [
                ["sync", url], ["sync", name], ["sync", url, "--refresh"],
                ["remote", "add", "home", "whale", url], ["remote", "add", name, "whale", url],
                ["remote", "remove", url, "--yes"], ["remote", "remove", name, "--yes"],
                ["login", url], ["logout", url],
            ] {
                let run = try store.run(arguments)
                #expect(run.exit != 0)
                #expect(!(run.stdout + run.stderr).contains(secret), "\(arguments)")
            }
        }
        try store.checkFails(
            "remote", "remove", "http://ada:\(secret)@127.0.0.1:1", "--yes", code: "notFound",
            exit: 4, says: "never synced with http://…@127.0.0.1:1")
    }

    /// Once a server has responded, events do not wait for addresses that never responded.
    @Test func eventsDoNotWaitForAddressesThatNeverResponded() throws {
        let server = try ServeProcess()
        let store = try Storectl.empty()
        let token = try store.file("token", "t".utf8)
        try store.append("WatchLaterToggled", #"{"video":"vimeo:1","isOn":true}"#)
        try store.checkFails(
            "sync", "http://127.0.0.1:1", "--token-file", token, code: "offline", exit: 7)
        try store.checkFails(
            "sync", server.url + "/foo", "--token-file", server.tokenFile,
            code: "malformedRequest", exit: 7, says: "/foo")
        // Different spellings of an address identify the same server.
        for url in [server.url + "/", server.url.uppercased()] {
            #expect(try store.sync(url, server).exit == 0)
        }
        #expect(try store.run("explain", "1", "--json").document["state"]?.text == "sequenced")
        try store.append("WatchLaterToggled", #"{"video":"vimeo:2","isOn":true}"#)
        #expect(try store.run("outbox", "--json").document["items"]?.list?.count == 1)
        let known = try store.run("status", "--json").document["sync"]?.list ?? []
        #expect(known.compactMap { $0["server"]?.text }.filter { $0 == server.url }.count == 1)
        #expect(known.count == 3)
        #expect(known.compactMap { $0["undelivered"]?.number } == [0, 1, 0])
        // A sync with such an address, `outbox` and `status` say the same.
        let failed = try store.run("sync", "http://127.0.0.1:1", "--token-file", token, "--json")
        #expect(failed.exit == 7)
        #expect(try failed.document["waitingCount"]?.number == 0)
        #expect(
            try store.run("status").stdout.contains(
                "http://127.0.0.1:1\twaiting: offline, last response never"))
        try store.succeed("remote", "remove", server.url + "/foo/", "--yes")
    }

    @Test(arguments: [
        "http://127.0.0.1:99999", "http://127.0.0.1:0", "http://127.0.0.1:",
        "http://localhost:70000000000000000000", "http://[::1]:65536",
        "http://127.0.0.1:8899/" + String(repeating: "b", count: 400),
        "https://" + String(repeating: "a", count: 1_000) + ".com", "http://example.org:80",
        "http://u:p@127.0.0.1:80",
    ])
    func invalidAddressesAreUsageErrors(_ address: String) throws {
        let store = try Storectl.empty()
        let token = try store.file("token", "t".utf8)
        try store.checkFails("sync", address, "--token-file", token, code: "usage", exit: 64)
        try store.checkFails("remote", "add", "home", "shelby", address, code: "usage", exit: 64)
        #expect(try store.run("status", "--json").document["sync"]?.list == [])
    }

    @Test func otherProgramsAtAnAddressAreReported() throws {
        let store = try Storectl.empty()
        try store.append("WatchLaterToggled", #"{"video":"vimeo:1","isOn":true}"#)
        let token = try store.file("token", "t".utf8)
        // Accepts connections and closes them immediately.
        let (listener, port) = try LocalSocket.listening()
        defer { shutdown(listener, Int32(SHUT_RDWR)) }
        Thread.detachNewThread {
            while true {
                let device = accept(listener, nil, nil)
                guard device >= 0 else { return }
                close(device)
            }
        }
        let address = "http://127.0.0.1:\(port)"
        let run = try store.run("sync", address, "--token-file", token)
        #expect(run.exit == 7)
        #expect(run.stderr.contains(address) && run.stderr.contains("hint:"))
        let secure = try store.run("sync", "https://127.0.0.1:\(port)", "--token-file", token)
        #expect(secure.exit == 7)
        for words in ["NIO", "Error", "BoringSSL"] {
            #expect(!(run.stderr + secure.stderr).contains(words))
        }
    }

    @Test func dryRunsChangeNothing() throws {
        let server = try ServeProcess()
        let (store, other) = (try Storectl.empty(), try Storectl.empty())
        var history = SyncHistory()
        try history.append(4, to: other)
        try Storectl.settle([other], server)
        try history.append(3, to: store)
        let log = try store.succeed("log", "--json").stdout
        for _ in 0..<2 {
            let run = try store.sync(server.url, server, "--dry-run")
            #expect(run.exit == 0, "\(run.stderr)")
            #expect(try run.document["pushed"]?.number == 3)
            #expect(try run.document["pulled"]?.number == 4)
        }
        #expect(try store.succeed("log", "--json").stdout == log)
        #expect(try other.sync(server.url, server).document["pulled"]?.number == 0)
        try Storectl.settle([store, other], server)
        try history.check([store, other])
        #expect(try store.sync(server.url, server, "--dry-run").document["pushed"]?.number == 0)
        // Without a network, a preview fails like a sync.
        try store.succeed("network", "offline")
        let offline = try store.sync(server.url, server, "--dry-run")
        #expect(try offline.document["error"]?["code"]?.text == "offline" && offline.exit == 7)
    }

    @Test func demoStoresNeverSync() throws {
        let server = try ServeProcess()
        let demo = try Storectl.demo()
        for arguments in [[], ["--dry-run"], ["--watch"]] {
            let run = try demo.run(
                ["sync", server.url, "--token-file", server.tokenFile, "--json"] + arguments)
            #expect(run.exit == 64, "\(arguments)")
            #expect(try run.document["error"]?["code"]?.text == "usage")
            #expect(run.stderr.contains("this store contains sample events"), "\(arguments)")
        }
        // A missing token is not reported, because no token helps.
        try demo.checkFails("sync", server.url, code: "usage", exit: 64, says: "sample events")
        let other = try Storectl.empty()
        #expect(try other.sync(server.url, server).document["pulled"]?.number == 0)
    }

    @Test(arguments: [
        "http://192.0.2.1:8737", "http://example.com", "http://127.0.0.1.example.com:8737",
        "http://0.0.0.0:8737", "ftp://127.0.0.1", "http://", "http://user:word@127.0.0.1:8737",
    ])
    func tokensAreNotSentUnencrypted(_ target: String) throws {
        let store = try Storectl.empty()
        let file = try store.file("token", "tdk_secret-that-is-not-told".utf8)
        try store.checkFails("sync", target, "--token-file", file, code: "usage", exit: 64)
        #expect(try !store.printed("secret-that-is-not-told"))
    }

    @Test func tokensAreNeverPrintedOrStored() throws {
        let server = try ServeProcess()
        try server.end()
        try server.start("--verbose")
        let token = try server.token
        let store = try Storectl.empty()
        var history = SyncHistory()
        try history.append(3, to: store)
        let watch = try store.start([
            "sync", server.url, "--token-file", server.tokenFile, "--watch",
        ])
        #expect(try watch.waitForOutput("up to date"))
        for process in [watch, try server.running] {
            let arguments = try #require(commandLine(process.identifier))
            #expect(arguments.contains("storectl") && !arguments.contains(token))
        }
        watch.send(SIGINT)
        _ = try watch.wait()
        #expect(try store.sync(server.url, server, "--dry-run").exit == 0)
        #expect(try store.run("sync", server.url, "--token-file", server.tokenFile).exit == 0)
        let run = try server.end()
        #expect(run.exit == 0)
        // The server logged the requests, but not their contents.
        #expect(run.stderr.contains("/v1/"))
        #expect(!run.stdout.contains(token) && !run.stderr.contains(token))
        #expect(try store.sync(server.url, server).exit == 7)
        #expect(try !store.printed(token))
        // The store's files do not contain the token.
        for file in try FileManager.default.contentsOfDirectory(atPath: store.store) {
            let data = FileManager.default.contents(atPath: store.store + "/" + file) ?? Data()
            #expect(data.firstRange(of: Data(token.utf8)) == nil, "\(file)")
        }
    }

    /// Returns the arguments of a process as visible to other processes.
    private func commandLine(_ process: Int32) -> String? {
        #if os(Linux)
            FileManager.default.contents(atPath: "/proc/\(process)/cmdline").map {
                String(decoding: $0, as: UTF8.self)
            }
        #else
            "storectl"
        #endif
    }
}
