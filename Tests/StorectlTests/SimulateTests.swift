import Foundation
import TestSupport
import Testing

/// `storectl simulate` runs a simulated system.
@Suite(.offTasks) struct SimulateTests {
    /// Starts the system, reads its first line, and stops it.
    private func run(_ arguments: String..., signal: Int32 = SIGTERM) throws -> Storectl.Run {
        // The output of the process is in the directory of `storectl`, which is deleted when
        // `storectl` is released.
        let storectl = try Storectl()
        defer { withExtendedLifetime(storectl) {} }
        let process = try storectl.start(["simulate"] + arguments)
        _ = try process.waitForOutput("\n")
        process.send(signal)
        return try process.wait()
    }

    @Test(arguments: ["shelby", "tvmaze", "whale", "birdtube"])
    func firstLineDescribesTheSystem(_ system: String) throws {
        let run = try run(system, "--seed", "7", "--adversary", "--json")
        #expect(run.exit == 0, "\(run.stderr)")
        let shape = try #require(try Contract.read()["simulate"]?.shape)
        #expect(try shape.differences(from: run.document) == [])
        #expect(try run.document["system"]?.text == system)
        #expect(try run.document["seed"]?.number == 7)
        #expect(run.stdout.filter { $0 == "\n" }.count == 1)
    }

    @Test func textOutputIsOneLine() throws {
        let run = try run("whale", "--seed", "7", signal: SIGINT)
        #expect(run.exit == 0, "\(run.stderr)")
        #expect(run.stdout.hasPrefix("whale at http://127.0.0.1:"))
        #expect(run.stdout.hasSuffix("; seed 7\n"))
    }

    @Test func unknownSystemsAreRefusedWithTheKnownNames() throws {
        let run = try Storectl().run("simulate", "myspace")
        #expect(run.exit == 64)
        #expect(
            run.stderr.contains(
                "there is no system myspace; the systems are shelby, tvmaze, whale, birdtube"))
    }

    @Test func killedSystemsResumeFromTheirJournal() throws {
        let remote = try ShelbyProcess()
        let store = try remote.connectedStore()
        let video = try #require(try store.videos().last)
        try store.append("LikeToggled", #"{"video":"\#(video.key)","isOn":true}"#)
        try store.succeed("sync", "home")
        let effects = try remote.effects
        #expect(effects.map(\.text) == ["liked_by_owner=true"])
        try remote.kill()
        try remote.start()
        #expect(try remote.effects == effects)
        #expect(try remote.standings[video.key]?.isLiked == true)
        let run = try store.succeed("sync", "home", "--json")
        #expect(try run.document["pulled"]?.number == 0)
    }

    @Test func journalsKeepTheirSystemAndSeed() throws {
        let storectl = try Storectl()
        let journal = storectl.directory.path + "/journal"
        func first(_ arguments: String...) throws -> OrderedJSON {
            let process = try storectl.start(
                ["simulate"] + arguments + ["--journal", journal, "--json"])
            _ = try process.waitForOutput("\n")
            process.send(SIGKILL)
            return try process.wait().document
        }
        _ = try first("whale", "--seed", "7", "--adversary")
        #expect(try first("whale")["seed"]?.number == 7)
        for arguments in [["shelby"], ["whale", "--seed", "8"]] {
            let run = try storectl.run(["simulate"] + arguments + ["--journal", journal])
            #expect(run.exit == 64)
            #expect(run.stderr.contains("simulate whale --seed 7 --adversary"), "\(run.stderr)")
        }
    }
}
