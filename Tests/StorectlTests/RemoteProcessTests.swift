import Foundation
import TapedeckTesting
import TestSupport
import Testing

/// Syncs with remotes in real processes: a simulated system, and stores whose syncs are killed.
///
/// `TAPEDECK_SEED=N` repeats the times at which syncs are killed.
@Suite(.serialized, .offTasks) struct RemoteProcessTests {
    private func remoteState(_ store: Storectl) throws -> String? {
        try store.run("status", "--json").document["remotes"]?[0]?["state"]?.text
    }

    @Test func offlineIntentsAreDeliveredOnce() throws {
        let remote = try ShelbyProcess()
        let store = try remote.connectedStore()
        #expect(try remoteState(store) == "upToDate")
        let video = try #require(try store.videos().last)
        let wanted = try store.append(
            "WatchLaterToggled", #"{"video":"\#(video.key)","isOn":true}"#)
        #expect(try remoteState(store) == "behind")
        #expect(try store.run("outbox").stdout.contains("queued"))
        for _ in 0..<2 { try store.succeed("sync", "home") }
        let marked = "flag \(video.broadcast) owner_watch_later=true"
        #expect(try remote.effects.map(\.description) == [marked])
        let told = try store.run("explain", wanted, "--json").document["remotes"]?[0]
        #expect(told?["state"]?.text == "confirmed")
        #expect(told?["remoteId"]?.text == video.broadcast)

        // Shelby's times have a resolution of one second, so two changes in the same second have no
        // known order.
        usleep(1_100_000)
        // When a viewing reaches 80 %, the mark is cleared on the device immediately, and on the
        // remote by the next sync.
        let watched = try store.append(
            "PlaybackProgressed",
            #"{"video":"\#(video.key)","viewing":"v","positionSeconds":80,"durationSeconds":100}"#)
        let later = try store.run("query", "watch-later", "--limit", "500").stdout
        #expect(!later.contains(video.key))
        let item = try store.run("outbox", "--json").document["items"]?[0]
        #expect(item?["event"]?.text == watched)
        #expect(item?["derived"] == .bool(true))
        #expect(try remoteState(store) == "behind")
        for _ in 0..<2 { try store.succeed("sync", "home") }
        let unmarked = "flag \(video.broadcast) owner_watch_later=false"
        #expect(try remote.effects.map(\.description) == [marked, unmarked])
        #expect(try store.run("outbox", "--json").document["items"]?.list == [])
        #expect(try remoteState(store) == "upToDate")
        #expect(try remote.violations == "[]")
        // A derived change is explained like an explicit one.
        let derived = try store.run("explain", watched, "--json").document["remotes"]?[0]
        #expect(derived?["state"]?.text == "confirmed" && derived?["derived"] == .bool(true))
    }

    @Test func laterIntentsReplaceEarlierOnes() throws {
        let remote = try ShelbyProcess()
        let store = try remote.connectedStore()
        let video = try #require(try store.videos().last)
        let said = try [true, false, true].map { isOn in
            try store.append("LikeToggled", #"{"video":"\#(video.key)","isOn":\#(isOn)}"#)
        }
        let states = try said.map {
            try store.run("explain", $0, "--json").document["remotes"]?[0]?["state"]?.text
        }
        #expect(states == ["replaced", "replaced", "queued"])
        try store.succeed("sync", "home")
        let last = try #require(said.last)
        let told = try store.run("explain", last, "--json").document["remotes"]?[0]
        #expect(told?["state"]?.text == "confirmed")
    }

    /// This device recorded the intent recently, so no other device can have begun to deliver it.
    @Test func intentsAlreadySyncedToAServerAreDeliveredAtOnce() throws {
        let remote = try ShelbyProcess()
        let video = try #require(try remote.connectedStore().videos().last)
        let server = try ServeProcess()
        let store = try Storectl.empty()
        try store.succeed("remote", "add", "home", "shelby", remote.url)
        try store.succeed("login", "home", "--token-file", remote.tokenFile)
        try store.append("LikeToggled", #"{"video":"\#(video.key)","isOn":true}"#)
        #expect(try store.sync(server.url, server).exit == 0)
        let run = try store.run("sync", "home", "--json")
        #expect(run.exit == 0, "\(run.stdout)")
        #expect(try run.document["pushed"]?.number == 1)
        #expect(try remote.effects.count == 1)
    }

    @Test func unsupportedIntentsAreReportedAsUntold() throws {
        let remote = try ShelbyProcess()
        let store = try remote.connectedStore()
        let video = try #require(try store.videos().last)
        let said = try store.append(
            "CommentPosted", #"{"video":"\#(video.key)","text":"hello"}"#)
        try store.succeed("sync", "home")
        let told = try store.run("explain", said, "--json").document["remotes"]?[0]
        #expect(told?["state"]?.text == "untold")
        #expect(told?["remote"]?.text == "home")
        #expect(try remoteState(store) == "upToDate")
    }

    @Test func oldViewsAreReportedAsExpired() throws {
        let remote = try ShelbyProcess()
        let store = try remote.connectedStore()
        let video = try #require(try store.videos().last)
        let run = try store.succeed(
            "append", "VideoWatched", #"{"video":"\#(video.key)"}"#, "--at",
            "2020-01-01T00:00:00Z", "--json")
        let watched = try #require(try run.document["first"]?["id"]?.text)
        try store.succeed("sync", "home")
        let told = try store.run("explain", watched, "--json").document["remotes"]
        #expect(told?.list?.compactMap { $0["state"]?.text } == ["expired"])
        #expect(try remote.effects.isEmpty)
        #expect(try remoteState(store) == "upToDate")
    }

    @Test func watchDeliversEventsAppendedWhileItRuns() throws {
        let remote = try ShelbyProcess()
        let store = try remote.connectedStore()
        let watch = try store.start(["sync", "home", "--watch", "--json"])
        #expect(try watch.waitForOutput("upToDate"))
        let video = try #require(try store.videos().last)
        try store.append("LikeToggled", #"{"video":"\#(video.key)","isOn":true}"#)
        #expect(try watch.waitForOutput(#""pushed":1"#))
        #expect(try remote.effects.map(\.text) == ["liked_by_owner=true"])
        // A second sync at the same time would deliver everything twice.
        try store.checkFails("sync", "home", code: "busy", exit: 5)
        watch.send(SIGTERM)
        let run = try watch.wait()
        #expect(run.exit == 0, "\(run.stderr)")
        let report = try #require(run.stdout.split(separator: "\n").last)
        #expect(
            try Contract.read()["sync"]?.shape?.differences(
                from: OrderedJSON(parsing: String(report))) == [])
    }

    @Test func intentsStayInTheOutboxWhileTheRemoteIsDown() throws {
        let store: Storectl
        do {
            // The process ends when its owner is released.
            let remote = try ShelbyProcess()
            store = try remote.connectedStore()
        }
        let video = try #require(try store.videos().last)
        try store.append("LikeToggled", #"{"video":"\#(video.key)","isOn":true}"#)
        let run = try store.run("sync", "home", "--json")
        #expect(run.exit == 7, "\(run.stderr)")
        #expect(try run.document["error"]?["code"]?.text == "offline")
        #expect(try run.document["waitingCount"]?.number == 1)
        #expect(try remoteState(store) == "waiting")
        let item = try store.run("outbox", "--json").document["items"]?[0]
        #expect(item?["delivery"]?["reason"]?.text == "offline")
    }

    /// A share that took effect but whose response was lost must not be repeated automatically.
    @Test func unknownOutcomesAreReportedAndNotRetried() throws {
        let remote = try ShelbyProcess()
        let loss = try AnswerLoss(to: remote.port, losing: "POST /v2/socializations")
        defer { loss.stop() }
        let store = try remote.connectedStore(through: loss.url)
        let video = try #require(try store.videos().last)
        func share(_ text: String) throws -> String {
            try store.append(
                "VideoShared",
                #"{"video":"\#(video.key)","destinations":["twitter"],"text":"\#(text)"}"#)
        }
        let shared = try share("first")
        let run = try store.run("sync", "home", "--json")
        #expect(run.exit == 2, "\(run.stderr)")
        #expect(try run.document["waiting"]?[0]?["reason"]?.text == "unknownOutcome")
        #expect(try store.run("sync", "home").exit == 2)
        #expect(try remote.effects.map(\.text) == ["first"])
        #expect(try remoteState(store) == "ended")
        #expect(try !store.run("status").stdout.contains("up to date"))
        let told = try store.run("explain", shared, "--json").document["remotes"]?[0]
        #expect(told?["state"]?.text == "unknown")

        try store.succeed("outbox", "drop", shared, "--yes")
        #expect(try remoteState(store) == "upToDate")
        let dropped = try store.run("explain", shared, "--json").document["remotes"]?[0]
        #expect(dropped?["state"]?.text == "dropped")
        let text = try store.run("explain", shared).stdout
        #expect(text.contains("servers\tnone known\n") && !text.contains("state\t"))
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("home\t") })
        #expect(line.hasPrefix("home\tdropped at ") && line.hasSuffix(": it will not be delivered"))

        // A share that the user retries is sent again.
        let again = try share("second")
        #expect(try store.run("sync", "home").exit == 2)
        try store.succeed("outbox", "retry", again)
        #expect(try store.run("explain", again).stdout.contains("queued"))
        #expect(try store.run("sync", "home").exit == 2)
        #expect(try remote.effects.map(\.text) == ["first", "second", "second"])
    }

    /// One device drops an intent that another has delivered in the meantime.
    @Test func deliveredIntentsStayConfirmedWhenAnotherDeviceDropsThem() throws {
        let (remote, server) = (try ShelbyProcess(), try ServeProcess())
        let (phone, tablet) = (try remote.connectedStore(), try remote.connectedStore())
        for device in [phone, tablet, phone] { try device.sync(server.url, server) }
        let video = try #require(try phone.videos().last)
        let liked = try phone.append("LikeToggled", #"{"video":"\#(video.key)","isOn":true}"#)
        for device in [phone, tablet] { try device.sync(server.url, server) }
        try phone.succeed("sync", "home")
        try tablet.succeed("outbox", "drop", liked, "--yes")
        for device in [phone, tablet, phone] { try device.sync(server.url, server) }
        #expect(try remote.standings[video.key]?.isLiked == true)
        for device in [phone, tablet] {
            let told = try device.run("explain", liked, "--json").document["remotes"]?[0]
            #expect(told?["state"]?.text == "confirmed")
            #expect(told?["remoteId"]?.text == video.broadcast)
        }
    }

    @Test func killedSyncsDeliverOnceOrReportUnknownOutcomes() throws {
        let random = SeededGenerator.fromEnvironment()
        print("remote kills: \(random)")
        var moments = random
        let remote = try ShelbyProcess()
        let store = try remote.connectedStore()
        let videos = try store.videos()
        try #require(videos.count >= 12)
        var kills = 0
        for (number, video) in videos.prefix(12).enumerated() {
            var lines = Samples.line("LikeToggled", #"{"video":"\#(video.key)","isOn":true}"#)
            for part in 0..<2 {
                lines += Samples.line(
                    "VideoShared",
                    #"{"video":"\#(video.key)","destinations":["twitter"],"text":"\#(number)-\#(part)"}"#
                )
            }
            try store.succeed("append", "--file", "-", input: lines)
            for _ in 0..<3 {
                let process = try store.start(["sync", "home"])
                usleep(UInt32(30_000 + moments.below(150) * 1_000))
                if process.isRunning { kills += 1 }
                process.send(SIGKILL)
                _ = try process.wait()
            }
        }
        _ = try store.run("sync", "home")
        let items = try #require(
            try store.run("outbox", "--limit", "500", "--json").document["items"]?.list)
        for item in items {
            #expect(item["delivery"]?["state"]?.text == "unknown")
            #expect(item["type"]?.text == "VideoShared")
        }
        let unknown = Set(items.compactMap { $0["event"]?.text })
        let effects = try remote.effects
        for video in videos.prefix(12) {
            let flags = effects.filter { $0.kind == "flag" && $0.entity == video.broadcast }
            #expect(!flags.isEmpty && flags.allSatisfy { $0.text == "liked_by_owner=true" })
        }
        let shares = effects.filter { $0.kind == "share" }.map(\.text)
        #expect(Set(shares).count == shares.count, "shared twice: \(shares.sorted())")
        for line in try store.run("log", "--type", "VideoShared", "--json").stdout
            .split(separator: "\n")
        {
            let event = try OrderedJSON(parsing: String(line))
            let text = try #require(event["payload"]?["text"]?.text)
            let isUnknown = unknown.contains(try #require(event["id"]?.text))
            #expect(shares.contains(text) || isUnknown, "\(text) was lost")
        }
        #expect(try remote.violations == "[]")
        #expect(kills > 0)
        print("remote kills: \(kills) of 36, \(unknown.count) of 24 shares unknown")
    }

    @Test func secretsStayInTheLoginFile() throws {
        let remote = try ShelbyProcess()
        let password = "correct horse battery"
        let store = try Storectl.empty()
        var printed = ""
        func run(_ arguments: String..., input: String = "") throws {
            let run = try store.run(arguments, input: Data(input.utf8))
            printed += run.stdout + run.stderr
        }
        let passwordFile = try store.file("password", (password + "\n").utf8)
        try run("remote", "add", "home", "shelby", "http://ada:\(password)@127.0.0.1:1")
        try run("remote", "add", "home", "shelby", remote.url, "--json")
        try run("login", "home", "--user", "ada", "--password-file", passwordFile, "--json")
        try run("login", "home", "--user", "ada", input: password + "\n")
        try run("login", "home", "--token-file", passwordFile)
        try run("login", "home", "--user", "ada", "--password-file", remote.tokenFile)
        try run("login", "home", "--token-file", remote.tokenFile, "--json")
        try run("sync", "home", "--json")
        let key = try #require(try store.videos().first).key
        try store.append("LikeToggled", #"{"video":"\#(key)","isOn":true}"#)
        try run("sync", "home")
        let copies = ["backup", "export"].map { (name: $0, path: "\(store.directory.path)/\($0)") }
        for copy in copies { try run(copy.name, copy.path, "--json") }
        for arguments in [["status"], ["log"], ["outbox"], ["doctor"], ["remote", "list"]] {
            let run = try store.run(arguments + ["--json"])
            printed += run.stdout + run.stderr
        }

        let secrets = remote.secrets + [password]
        for secret in secrets { #expect(!printed.contains(secret)) }
        let files = try #require(
            FileManager.default.enumerator(atPath: store.store)?.compactMap { $0 as? String })
        #expect(files.contains("logins/home.json"))
        for path in files.map({ "\(store.store)/\($0)" }) + copies.map(\.path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            let mode = try #require(attributes[.posixPermissions] as? Int)
            if path.contains("/logins") {
                let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
                #expect(mode == (isFolder ? 0o700 : 0o600), "\(path)")
            } else {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
                for secret in secrets {
                    #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(path)")
                }
                #expect(mode & 0o077 == 0 || !path.hasSuffix(".mdb"), "\(path)")
            }
        }

        // Adding the remote again with another URL deletes its login, and so does erasing the
        // store.
        let login = store.store + "/logins/home.json"
        try store.succeed("remote", "add", "home", "shelby", "http://127.0.0.1:1")
        #expect(!FileManager.default.fileExists(atPath: login))
        try store.succeed("remote", "add", "home", "shelby", remote.url)
        try store.succeed("login", "home", "--token-file", remote.tokenFile)
        #expect(FileManager.default.fileExists(atPath: login))
        try FileManager.default.createDirectory(
            atPath: store.store + "/blobs/aa", withIntermediateDirectories: true)
        try store.succeed("erase", "--yes")
        #expect(!FileManager.default.fileExists(atPath: store.store))
    }
}
