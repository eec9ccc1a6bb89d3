import Foundation
import TestSupport
import Testing

/// A read that the operating system cannot serve ends the program with an error instead of a crash.
@Suite(.offTasks) struct CrashGuardTests {
    @Test func truncatingAnOpenFileIsReportedAsDamage() throws {
        let storectl = try Storectl.demo()
        let follower = try storectl.start(["log", "--follow", "--json"])
        #expect(try follower.waitForOutput("\"position\":\(Storectl.demoEvents)"))
        let file = try FileHandle(
            forWritingTo: URL(fileURLWithPath: storectl.store + "/log.mdb"))
        try file.truncate(atOffset: 0)
        let run = try follower.wait()
        #expect(run.exit == 6)
        let last = try #require(run.stdout.split(separator: "\n").last)
        #expect(try OrderedJSON(parsing: String(last))["error"]?["code"]?.text == "damaged")
        #expect(run.stderr.hasPrefix("error: reading the store in "))
        #expect(run.stderr.contains("\nhint: "))
    }
}
