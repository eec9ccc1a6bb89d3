import Foundation
import Testing

/// `storectl simulate` runs a made-up system for others.
struct SimulateTests {
    /// Starts it, reads its first line, and ends it.
    private func run(_ arguments: String..., signal: Int32 = SIGTERM) throws -> Storectl.Run {
        // Its directory holds what the process prints, and goes away with it.
        let storectl = try Storectl()
        defer { withExtendedLifetime(storectl) {} }
        let process = try storectl.start(["simulate"] + arguments)
        while process.isRunning, try !process.stdoutSoFar.contains("\n") { usleep(5_000) }
        process.send(signal)
        return try process.wait()
    }

    @Test(arguments: ["shelby", "whale"])
    func firstLineSaysWhereAndAsWhom(_ system: String) throws {
        let run = try run(system, "--seed", "7", "--adversary", "--json")
        #expect(run.exit == 0, "\(run.stderr)")
        let shape = try #require(try Contract.read()["simulate"]?.shape)
        #expect(try shape.differences(from: run.document) == [])
        #expect(try run.document["system"]?.text == system)
        #expect(try run.document["seed"]?.number == 7)
        #expect(run.stdout.filter { $0 == "\n" }.count == 1)
    }

    @Test func withoutJSONItIsALineToRead() throws {
        let run = try run("whale", "--seed", "7", signal: SIGINT)
        #expect(run.exit == 0, "\(run.stderr)")
        #expect(run.stdout.hasPrefix("whale at http://127.0.0.1:"))
        #expect(run.stdout.hasSuffix("; seed 7\n"))
    }

    @Test func anUnknownSystemIsAnsweredWithTheNames() throws {
        let run = try Storectl().run("simulate", "myspace")
        #expect(run.exit == 64)
        #expect(run.stderr.contains("there is no system myspace; there are shelby, whale"))
    }
}
