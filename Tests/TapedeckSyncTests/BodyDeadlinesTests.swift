import TapedeckSyncProtocol
import TestSupport
import Testing

/// One timer for the bodies of all connections.
@Suite(.offTasks) struct BodyDeadlinesTests {
    @Test func bodiesReadInTimeReturnTheirResult() async throws {
        let deadlines = BodyDeadlines(Stopwatch().clock)
        let soon = deadlines.clock.now() + .seconds(1)
        #expect(try await deadlines.watch(soon) { _ in 7 } == 7)
        struct Broken: Error {}
        await #expect(throws: Broken.self) {
            try await deadlines.watch(soon) { _ in throw Broken() }
        }
    }

    @Test func cancelledCallersStopTheirBodies() async throws {
        let deadlines = BodyDeadlines(Stopwatch().clock)
        let (begun, begin) = AsyncStream<Never>.makeStream()
        let (parts, part) = AsyncStream<Never>.makeStream()
        let caller = Task {
            try await deadlines.watch(deadlines.clock.now() + .seconds(1)) { _ in
                begin.finish()
                for await _ in parts {}
                try Task.checkCancellation()
            }
        }
        for await _ in begun {}
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        part.finish()
    }

    /// A long-lived body, such as a live connection, always has a later deadline than the bodies
    /// that come and go beside it.
    @Test func timersDoNotAccumulate() async {
        let stopwatch = Stopwatch()
        let deadlines = BodyDeadlines(stopwatch.clock)
        func deadline(_ seconds: Int) -> ContinuousClock.Instant {
            deadlines.clock.now() + .seconds(seconds)
        }
        let live = deadlines.add(deadline(40))
        for _ in 0..<50 {
            let (ended, end) = AsyncStream<Never>.makeStream()
            let body = deadlines.add(deadline(10)) { end.finish() }
            await stopwatch.waitForSleeper()
            stopwatch.advance(.seconds(10))
            for await _ in ended {}
            #expect(deadlines.remove(body))
            deadlines.move(live, to: deadline(40))
        }
        #expect(!deadlines.remove(live))
        #expect(stopwatch.sleeperCount < 10)
    }
}
