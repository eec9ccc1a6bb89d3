import Synchronization
@testable import TapedeckSync
import TapedeckSyncProtocol
import TestSupport
import Testing

/// Live connections that work, and live connections that only seem to.
@Suite(.offTasks) struct LiveHeadsTests {
    private static let head = "event: head\nid: 7\ndata: {\"lineage\":\"l\",\"head\":7}\n\n"

    /// Reads a scripted connection to its end; returns the heads, and the reason and the
    /// time of the end.
    private static func read(
        _ steps: [ScriptedParts.Step]
    ) async -> (heads: [UInt64], end: (any Error)?, time: Duration) {
        let stopwatch = Stopwatch()
        let heads = Mutex<[UInt64]>([])
        var end: (any Error)?
        do {
            try await LiveHeads.read(
                ScriptedParts.stream(steps, stopwatch), BodyDeadlines(stopwatch.clock)
            ) { head in heads.withLock { $0.append(head) } }
        } catch {
            end = error
        }
        return (heads.withLock(\.self), end, stopwatch.passed)
    }

    @Test func headsKeepAConnectionAlive() async {
        let pause = ScriptedParts.Step.wait(LiveHeads.silenceMax - .seconds(1))
        let (heads, end, _) = await Self.read([
            pause, .send(Self.head), pause, .send(": comment\n"), .send(Self.head), pause,
            .send(Self.head),
        ])
        #expect(heads == [7, 7, 7] && end == nil)
    }

    @Test func headsMayArriveInPieces() async {
        let (heads, end, _) = await Self.read(Self.head.utf8.map { .send([$0]) })
        #expect(heads == [7] && end == nil)
    }

    @Test(arguments: [
        "", ":", ": comment\n", ":\r\n", "data: {\"head\":", "event: head\n", "id: 8\n", "\n",
        "noise\n",
    ])
    func otherBytesDoNotKeepAConnectionAlive(text: String) async {
        let dripping = (1...Int(LiveHeads.silenceMax / .seconds(1))).flatMap { _ in
            [ScriptedParts.Step.wait(.seconds(1)), .send(text)]
        }
        // An endless line that begins like data or a comment is never complete.
        let (heads, end, time) = await Self.read([.send(Self.head)] + dripping + [.hang])
        #expect(heads == [7] && time == LiveHeads.silenceMax)
        guard case HTTPBodyError.tooSlow? = end else {
            Issue.record("ended with \(String(describing: end))")
            return
        }
    }

    @Test(arguments: [
        "data: ?\n", "data:\n", "data: {\"lineage\":\"l\"}\n", "data: {\"head\":-1}\n",
    ])
    func unreadableHeadsEndAConnectionAtOnce(text: String) async {
        let (heads, end, _) = await Self.read([.send(Self.head), .send(text), .hang])
        #expect(heads == [7] && end is LiveHeads.Failure)
    }

    @Test(arguments: [0, 1]) func longLinesEndAConnectionAtOnce(excess: Int) async {
        let line = [UInt8](repeating: UInt8(ascii: ":"), count: LiveHeads.lineBytesMax + excess)
        let (heads, end, _) = await Self.read([.send(line), .send("\n"), .send(Self.head)])
        #expect(heads == (excess == 0 ? [7] : []))
        #expect((end is LiveHeads.Failure) == (excess > 0))
    }
}
