import Foundation
import TestSupport
import Testing

/// Printing and following the log.
@Suite(.offTasks) struct LogTests {
    private func positions(_ run: Storectl.Run) throws -> [Double] {
        try run.stdout.split(separator: "\n").compactMap {
            try OrderedJSON(parsing: String($0))["position"]?.number
        }
    }

    @Test func logIsFilteredAndLimited() throws {
        let storectl = try Storectl.demo()
        func log(_ arguments: String...) throws -> [Double] {
            try positions(storectl.run(["log", "--json"] + arguments))
        }
        #expect(try log().count == Storectl.demoEvents)
        #expect(try log("--limit", "2") == [1, 2])
        #expect(try log("--after", "10", "--limit", "2") == [11, 12])
        #expect(try log("--after", "\(Storectl.demoEvents)") == [])
        #expect(try log("--type", "CommentPosted") == [5, 12])
        #expect(try log("--type", "CommentPosted", "--limit", "1") == [5])
        #expect(try log("--tag", "answer/demo-answer") == [11, 12])
        #expect(try log("--tag", "answer/demo-answer", "--type", "CommentPosted") == [12])
    }

    @Test func unknownTypesAreReportedButAreNotErrors() throws {
        let storectl = try Storectl.demo()
        let slip = try storectl.run("log", "--type", "CommentPostd", "--json")
        #expect(slip.exit == 0 && slip.stdout.isEmpty)
        #expect(
            slip.stderr == """
                unknown type: neither this program nor this store knows CommentPostd
                hint: did you mean CommentPosted?

                """)
        let stranger = try storectl.run("log", "--type", "NeverHeardOf")
        #expect(stranger.exit == 0 && stranger.stdout.isEmpty)
        #expect(stranger.stderr.hasSuffix("knows NeverHeardOf\n"))
        // A known type may have no events yet, or no events after a position.
        #expect(try storectl.succeed("log", "--type", "OriginForked").stdout.isEmpty)
        try storectl.succeed("log", "--type", "CommentPosted", "--after", "12")
    }

    @Test func textHasOneLinePerEvent() throws {
        let run = try Storectl.demo().succeed("log")
        let lines = run.stdout.split(separator: "\n")
        #expect(lines.count == Storectl.demoEvents)
        #expect(lines.allSatisfy { $0.split(separator: "\t").count == 6 })
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func followShowsEventsOfOtherProcessesAndEndsCleanly(_ signal: Int32) throws {
        let storectl = try Storectl.demo()
        let follower = try storectl.start([
            "log", "--follow", "--after", "\(Storectl.demoEvents)", "--json",
        ])
        try storectl.succeed("append", "WatchLaterToggled", Samples.later)
        #expect(try follower.waitForOutput("\"position\":\(Storectl.demoEvents + 1)"))
        try storectl.succeed("append", "WatchLaterToggled", Samples.later)
        #expect(try follower.waitForOutput("\"position\":\(Storectl.demoEvents + 2)"))
        follower.send(signal)
        let run = try follower.wait()
        #expect(run.exit == 0)
        #expect(run.stderr.isEmpty)
        #expect(try positions(run) == [1, 2].map { Double(Storectl.demoEvents + $0) })
    }

    @Test func followEndsAtItsLimit() throws {
        let storectl = try Storectl.demo()
        let run = try storectl.succeed("log", "--follow", "--limit", "3", "--json")
        #expect(try positions(run) == [1, 2, 3])
    }

    @Test(arguments: ["log --json", "log --follow", "query videos", "--help"])
    func closedPipesAreNotErrors(_ command: String) throws {
        let storectl = try Storectl.demo()
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/bash")
        let path = try Storectl.executable.path
        shell.arguments = [
            "-c",
            "exec 2>'\(storectl.directory.path)/err'; '\(path)' \(command) | true;"
                + " exit ${PIPESTATUS[0]}",
        ]
        shell.environment = ["TAPEDECK_STORE": storectl.store, "HOME": storectl.directory.path]
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
        let diagnostics = try String(
            contentsOfFile: storectl.directory.path + "/err", encoding: .utf8)
        #expect(diagnostics.isEmpty)
    }
}
