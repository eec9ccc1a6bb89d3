import Foundation
import TestSupport
import Testing

/// Commands that are interrupted by a signal report their progress.
@Suite(.offTasks) struct InterruptionTests {
    @Test func interruptedAppendsReportTheirProgress() throws {
        let storectl = try Storectl.empty()
        let pipe = storectl.directory.path + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        // The pipe is also opened for reading, so that opening it does not block and the reader
        // never sees the end of the file.
        let descriptor = open(pipe, O_RDWR)
        try #require(descriptor >= 0)
        defer { _ = close(descriptor) }
        let appender = try storectl.start(["append", "--file", pipe])
        var lines = Samples.toggles(1_500)
        lines.withUTF8 { bytes in
            var done = 0
            while done < bytes.count {
                done += max(
                    0, write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done))
            }
        }
        var events: Double?
        for _ in 0..<500 where events != 1_000 {
            events = try storectl.succeed("status", "--json").document["events"]?.number
        }
        #expect(events == 1_000)
        appender.send(SIGINT)
        let run = try appender.wait()
        #expect(run.exit == -SIGINT)
        #expect(run.stdout.isEmpty)
        #expect(run.stderr == "interrupted: recorded 1,000 events from the first 1,000 lines\n")
        #expect(try storectl.succeed("verify", "--json").document["events"]?.number == 1_000)
    }
}
