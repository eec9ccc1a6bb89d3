import TapedeckModel
import Testing

struct StampTests {
    @Test func stampsCompareByTimeThenByCounter() {
        #expect(Stamp(milliseconds: 1, counter: 9) < Stamp(milliseconds: 2))
        #expect(Stamp(milliseconds: 2) < Stamp(milliseconds: 2, counter: 1))
        let stamp = Stamp(milliseconds: 1_700_000_000_000, counter: 513)
        #expect(stamp.milliseconds == 1_700_000_000_000)
        #expect(stamp.counter == 513)
        #expect(Stamp(rawValue: stamp.rawValue) == stamp)
    }

    @Test func clockFollowsTheSystemClock() {
        var clock = HybridClock()
        #expect(clock.tick(milliseconds: 10) == Stamp(milliseconds: 10))
        #expect(clock.tick(milliseconds: 20) == Stamp(milliseconds: 20))
    }

    @Test func clockCountsWhenSystemClockStopsOrGoesBack() {
        var clock = HybridClock()
        _ = clock.tick(milliseconds: 10)
        #expect(clock.tick(milliseconds: 10) == Stamp(milliseconds: 10, counter: 1))
        #expect(clock.tick(milliseconds: 3) == Stamp(milliseconds: 10, counter: 2))
        #expect(clock.tick(milliseconds: 11) == Stamp(milliseconds: 11))
    }

    @Test func overflowingCounterCarriesIntoTheTime() {
        var clock = HybridClock(last: Stamp(milliseconds: 10, counter: .max))
        #expect(clock.tick(milliseconds: 10) == Stamp(milliseconds: 11))
        #expect(clock.tick(milliseconds: 10) == Stamp(milliseconds: 11, counter: 1))
    }

    @Test func nextStampIsLaterThanAMergedStamp() {
        var clock = HybridClock()
        clock.merge(Stamp(milliseconds: 50, counter: 7))
        #expect(clock.tick(milliseconds: 10) == Stamp(milliseconds: 50, counter: 8))
        clock.merge(Stamp(milliseconds: 20))
        #expect(clock.tick(milliseconds: 60) == Stamp(milliseconds: 60))
    }

    @Test func clockStopsAtTheLargestStamp() {
        var clock = HybridClock(last: Stamp(rawValue: .max))
        #expect(clock.tick(milliseconds: 10) == Stamp(rawValue: .max))
        #expect(clock.tick(milliseconds: .max) == Stamp(rawValue: .max))
        var fresh = HybridClock()
        #expect(fresh.tick(milliseconds: .max).milliseconds == Stamp.millisecondsMax)
    }
}
