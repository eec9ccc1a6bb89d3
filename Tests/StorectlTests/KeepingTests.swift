import Foundation
import TestSupport
import Testing

/// Export, import, backup, restore, erase, verify, status and doctor.
@Suite(.offTasks) struct KeepingTests {
    private func digests(_ storectl: Storectl) throws -> OrderedJSON? {
        try storectl.succeed("replay", "--json").document["projections"]
    }

    @Test func exportsAreImportedOnce() throws {
        let one = try Storectl.empty()
        let appended = try one.succeed(
            "append", "--file", "-", "--json", input: Samples.birdTube + Samples.playback)
        let count = try #require(appended.document["recorded"]?.number)
        let file = one.directory.path + "/export"
        try one.succeed("export", file)
        let two = try Storectl.empty()
        let first = try two.succeed("import", file, "--json").document
        #expect(count > 0 && first["recorded"]?.number == count)
        let second = try two.succeed("import", file, "--json").document
        #expect(second["recorded"]?.number == 0)
        #expect(second["known"]?.number == count)
        #expect(try digests(two) == digests(one))
    }

    /// After such an import, a store could no longer be synced.
    @Test func demoExportsAreImportedOnlyIntoDemoStores() throws {
        let demo = try Storectl.demo()
        let file = demo.directory.path + "/export"
        try demo.succeed("export", file)
        let other = try Storectl.empty()
        try other.checkFails("import", file, code: "usage", exit: 64, says: "sample events")
        let status = try other.succeed("status", "--json").document
        #expect(status["events"]?.number == 0 && status["demo"] == .bool(false))
        let report = try Storectl.demo().succeed("import", file, "--json").document
        #expect(report["recorded"]?.number == Double(Storectl.demoEvents))
    }

    @Test func restoreAndImportRecognizeEachOthersFiles() throws {
        let storectl = try Storectl.empty()
        try storectl.succeed("backup", "b")
        try storectl.succeed("export", "e")
        let imported = try storectl.run("import", "b", "--store", storectl.store)
        #expect(imported.exit == 64)
        #expect(imported.stderr.hasPrefix("error: b is a backup, not an export\n"))
        #expect(imported.stderr.contains("storectl restore --store DIR b\n"))
        let restored = try storectl.run("restore", "e", "--store", "r")
        #expect(restored.exit == 64)
        #expect(restored.stderr.hasPrefix("error: e is an export, not a backup\n"))
        #expect(restored.stderr.contains("storectl init --store r, then"))
        #expect(restored.stderr.contains("storectl import --store r e\n"))
    }

    @Test func backupsRestoreAsASeparateStore() throws {
        let one = try Storectl.demo()
        let file = one.directory.path + "/backup"
        try one.succeed("backup", file)
        let two = try Storectl()
        let restored = try two.succeed("restore", file, "--json").document
        #expect(restored["events"]?.number == Double(Storectl.demoEvents))
        #expect(try digests(two) == digests(one))
        let (old, new) = (
            try one.succeed("status", "--json").document,
            try two.succeed("status", "--json").document
        )
        #expect(old["store"] == new["store"])
        #expect(old["origin"] != new["origin"])
        #expect(new["demo"] == .bool(true))
        try two.checkFails("restore", file, code: "storeExists", exit: 5)
    }

    @Test func oneLetterFileNamesAreAccepted() throws {
        let storectl = try Storectl.demo()
        try storectl.succeed("backup", "b")
        try storectl.succeed("export", "e")
        try storectl.succeed("import", "e")
        try storectl.succeed("restore", "b", "--store", "r")
        try storectl.checkFails("restore", "b", "--store", "r", code: "storeExists", exit: 5)
    }

    @Test func compactionKeepsListsAndShrinksTheFile() throws {
        let storectl = try Storectl.empty()
        var lines = ""
        for second in 0..<5_000 {
            let position = second % 1_000
            lines += #"{"type":"PlaybackProgressed","at":"2012-11-22T\#(Self.clock(second))Z","#
            lines += #""payload":{"video":"vimeo:7","viewing":"v\#(second / 1_000)","#
            lines += #""positionSeconds":\#(position),"durationSeconds":1000}}"# + "\n"
        }
        try storectl.succeed("append", "--file", "-", input: lines)
        let before = try digests(storectl)
        let statistics = try storectl.succeed(
            "query", "statistics", "--from", "2012-11-22", "--through", "2012-11-23", "--json")
        let done = try storectl.succeed("compact", "--json").document
        let removed = try #require(done["compaction"]?["removed"]?.number)
        #expect(removed > 3_900 && done["compaction"]?["examined"]?.number == 4_096)
        let file = try #require(done["file"])
        #expect(try #require(file["bytes"]?.number) * 2 < #require(file["bytesBefore"]?.number))
        #expect(try digests(storectl) == before)
        #expect(
            try storectl.succeed(
                "query", "statistics", "--from", "2012-11-22", "--through", "2012-11-23", "--json"
            ).stdout
                == statistics.stdout)
        try storectl.succeed("replay", "--verify")
        let verified = try storectl.succeed("verify", "--json").document
        #expect(verified["compacted"]?.number == removed)
        let gone = try storectl.run("show", "100")
        #expect(gone.exit == 4 && gone.stderr.contains("compaction"))
        let again = try storectl.succeed("compact", "--json").document
        #expect(again["compaction"]?["examined"]?.number == 0)
        // Another store imports the remaining events and has the same digests.
        let export = storectl.directory.path + "/export"
        try storectl.succeed("export", export)
        let other = try Storectl.empty()
        try other.succeed("import", export)
        #expect(try digests(other) == before)
    }

    private static func clock(_ second: Int) -> String {
        func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        return "\(two(10 + second / 3_600)):\(two(second / 60 % 60)):\(two(second % 60))"
    }

    @Test func onlyDemoStoresAreMarkedAsDemo() throws {
        let demo = try Storectl.demo()
        #expect(try demo.succeed("status", "--json").document["demo"] == .bool(true))
        let other = try Storectl.empty()
        #expect(try other.succeed("status", "--json").document["demo"] == .bool(false))
    }

    @Test func eraseRemovesTheEntireStore() throws {
        let storectl = try Storectl.demo()
        try storectl.succeed("replay")
        try storectl.checkFails("erase", code: "usage", exit: 64)
        #expect(FileManager.default.fileExists(atPath: storectl.store + "/log.mdb"))
        try storectl.succeed("erase", "--yes")
        #expect(!FileManager.default.fileExists(atPath: storectl.store))
        try storectl.checkFails("erase", "--yes", code: "noStore", exit: 4)
    }

    @Test func storesInUseAreNotErased() throws {
        let storectl = try Storectl.demo()
        let before = try storectl.succeed("log", "--json").stdout
        let follower = try storectl.start(["log", "--follow", "--json"])
        #expect(try follower.waitForOutput("\"position\":12"))
        try storectl.checkFails("erase", "--yes", code: "busy", exit: 5)
        #expect(try storectl.succeed("log", "--json").stdout == before)
        follower.send(SIGTERM)
        _ = try follower.wait()
        try storectl.succeed("erase", "--yes")
    }

    /// Media that is being added to a store cannot outlive the store.
    @Test func storesToWhichMediaIsBeingAddedAreNotErased() throws {
        let storectl = try Storectl.empty()
        let pipe = storectl.directory.path + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        let adder = try storectl.start(["blob", "add", pipe])
        var writer: Int32 = -1
        // Opening succeeds once the command reads from the pipe.
        try eventuallyBlocking("the command reads the file") {
            writer = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            return writer >= 0
        }
        try storectl.checkFails("erase", "--yes", code: "busy", exit: 5)
        #expect(write(writer, "media", 5) == 5)
        _ = close(writer)
        #expect(try adder.wait().exit == 0)
        #expect(FileManager.default.fileExists(atPath: storectl.store + "/blobs"))
        try storectl.succeed("erase", "--yes")
        #expect(!FileManager.default.fileExists(atPath: storectl.store))
    }

    @Test func eraseNamesTheMediaThatItKeeps() throws {
        for form in [[], ["--json"]] {
            let storectl = try Storectl.empty()
            let media = storectl.directory.path + "/media"
            try #require(mkdir(media, 0o700) == 0)
            try #require(symlink(media, storectl.store + "/blobs") == 0)
            let erased = try storectl.run(["erase", "--yes"] + form)
            #expect(erased.exit == 0)
            #expect(erased.stdout.contains("/media"), "\(erased)")
            #expect(FileManager.default.fileExists(atPath: media))
            #expect(!FileManager.default.fileExists(atPath: storectl.store))
        }
    }

    @Test func eraseKeepsForeignFiles() throws {
        let storectl = try Storectl.demo()
        let other = storectl.store + "/letter.txt"
        try Data("mine".utf8).write(to: URL(fileURLWithPath: other))
        try storectl.succeed("erase", "--yes")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: storectl.store) == ["letter.txt"])
    }

    /// Kinds of damage that every reader must detect.
    enum Damage: String, CaseIterable, Sendable {
        case cutOff, emptied, overwritten, marker
    }

    private func damage(_ storectl: Storectl, _ how: Damage) throws {
        let log = URL(fileURLWithPath: storectl.store + "/log.mdb")
        switch how {
        case .cutOff:
            let file = try FileHandle(forWritingTo: log)
            try file.truncate(atOffset: 9_000)
        case .emptied: try Data().write(to: log)
        case .overwritten:
            var data = try Data(contentsOf: log)
            for index in 8_192..<data.count { data[index] = UInt8(truncatingIfNeeded: index &* 31) }
            try data.write(to: log)
        case .marker:
            try Data("{}".utf8).write(to: URL(fileURLWithPath: storectl.store + "/store.json"))
        }
    }

    @Test(arguments: Damage.allCases)
    func damageIsReportedAndNeverCausesACrash(_ how: Damage) throws {
        let storectl = try Storectl.demo()
        try damage(storectl, how)
        let run = try storectl.run("verify", "--json")
        #expect(run.exit == 6)
        let document = try run.document
        #expect(try Contract.read()["verify"]?.shape?.differences(from: document) == [])
        #expect(document["intact"] == .bool(false))
        #expect(document["error"]?["code"]?.text == "damaged")
        #expect(run.stderr.hasPrefix("error: "))
        #expect(try storectl.run("verify", "--in-process").exit == 6)
        for command in [["log"], ["query", "videos"], ["replay"], ["status"], ["doctor"]] {
            let run = try storectl.run(command + ["--json"])
            #expect(run.exit == 6, "\(command): \(run.exit) \(run.stderr)")
            #expect(try run.document["error"]?["code"]?.text == "damaged")
        }
    }

    @Test func undamagedStoresAreReportedAsIntact() throws {
        let report = try Storectl.demo().succeed("verify", "--json").document
        #expect(report["intact"] == .bool(true))
        #expect(report["events"]?.number == Double(Storectl.demoEvents))
    }

    @Test func doctorWarnsWithHints() throws {
        let storectl = try Storectl.demo()
        #expect(try storectl.succeed("doctor", "--json").document["healthy"] == .bool(true))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: storectl.store)
        let isMade = FileManager.default.createFile(
            atPath: storectl.store + "/views-999.mdb", contents: nil,
            attributes: [.posixPermissions: 0o600])
        #expect(isMade)
        let document = try storectl.succeed("doctor", "--json").document
        let warnings = (document["findings"]?.list ?? []).filter {
            $0["level"]?.text == "warning"
        }
        #expect(warnings.compactMap { $0["check"]?.text } == ["views files", "permissions"])
        #expect(warnings.allSatisfy { $0["hint"]?.text?.isEmpty == false })
    }

    /// Half-copied media takes up space that no other command shows.
    @Test func doctorFindsUnfinishedMedia() throws {
        let storectl = try Storectl.empty()
        let file = try storectl.file("picture", Array("picture".utf8))
        try storectl.succeed("blob", "add", file)
        try storectl.succeed("image", "keep", "https://example.org/a.png", file)
        func leave(_ name: String) throws -> String {
            try storectl.file("store/\(name).tapedeck-part", Array("half".utf8))
        }
        func warnings() throws -> [String] {
            try (storectl.succeed("doctor", "--json").document["findings"]?.list ?? [])
                .filter { $0["check"]?.text == "unfinished files" }
                .compactMap { $0["message"]?.text }
        }
        for folder in ["blobs", "images", "images/blobs"] {
            _ = try leave("\(folder)/new.0123456789abcdef")
        }
        // A running process is writing this file.
        let living = open(try leave("blobs/new.fedcba9876543210"), O_RDONLY | O_CLOEXEC)
        try #require(living >= 0)
        defer { _ = close(living) }
        try #require(flock(living, LOCK_EX) == 0)
        let found = try warnings()
        #expect(found.count == 3)
        #expect(found.first?.hasPrefix("1 file of interrupted additions of media in blobs") == true)
        try storectl.succeed("image", "keep", "https://example.org/b.png", file)
        #expect(try warnings().count == 1)
        try storectl.succeed("blob", "add", file)
        #expect(try warnings().isEmpty)
    }

    /// Events dated in the future are reported even if events appended after them have the current
    /// time.
    @Test func doctorFindsEventsDatedInTheFuture() throws {
        let storectl = try Storectl.empty()
        for time in ["9999-12-31T00:00:00Z", "9998-01-01T00:00:00Z"] {
            try storectl.succeed("append", "WatchLaterToggled", Samples.later, "--at", time)
        }
        try storectl.succeed("append", "WatchLaterToggled", Samples.later)
        let findings = try storectl.succeed("doctor", "--json").document["findings"]?.list
        let clock = findings?.first { $0["check"]?.text == "clock" }
        #expect(clock?["level"]?.text == "warning")
        let message = clock?["message"]?.text ?? ""
        #expect(
            message.hasPrefix(
                "2 events dated in the future; the last, at position 1, is dated 9999-12-31T00:00:00.000Z"
            ),
            "\(message)")
    }

    @Test func doctorRebuildsTheIndexAndPrunesViews() throws {
        let storectl = try Storectl.demo()
        try storectl.succeed("query", "videos")
        try storectl.succeed("query", "videos", "--winner", "newest")
        func views() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: storectl.store)
                .filter { $0.hasPrefix("views-") && $0.hasSuffix(".mdb") }.sorted()
        }
        func messages(_ arguments: String...) throws -> [String] {
            let document = try storectl.run(["doctor", "--json"] + arguments).document
            return (document["findings"]?.list ?? []).compactMap { finding in
                guard let check = finding["check"]?.text, let message = finding["message"]?.text
                else { return nil }
                return "\(check): \(message)"
            }
        }
        let files = try views()
        #expect(files.count > 1)
        let listed = try messages().filter { $0.contains("belongs to another version") }
        #expect(!listed.isEmpty && listed.allSatisfy { $0.contains("last used 20") })
        let done = try messages("--prune", "--rebuild-index")
        #expect(done.first == "index: rebuilt from \(Storectl.demoEvents) events")
        #expect(done.dropFirst().first?.hasPrefix("views files: ") == true)
        #expect(try views().count == files.count - listed.count)
        #expect(try messages().filter { $0.contains("belongs to another version") } == [])
        #expect(try storectl.succeed("status", "--json").document["unindexed"]?.number == 0)
        try storectl.succeed("replay", "--verify")
        try storectl.succeed("verify")
        try storectl.succeed("query", "videos", "--winner", "newest")
    }

    @Test func statusReportsEventsOriginsAndTimes() throws {
        let storectl = try Storectl.demo()
        let report = try storectl.succeed("status", "--json").document
        #expect(report["events"]?.number == Double(Storectl.demoEvents))
        #expect(report["origins"]?.list?.count == 1)
        #expect(report["firstAt"]?.text == "2012-05-01T09:00:00.000Z")
        #expect(report["lastAt"]?.text == "2012-05-06T11:00:02.000Z")
    }
}
