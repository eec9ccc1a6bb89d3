import Foundation
import Tapedeck
import TapedeckTesting
import Testing

/// The test doubles: the random generator, the clock and the temporary store.
@Suite struct DoublesTests {
    @Test func seededGeneratorMatchesSplitmix64() {
        // The first outputs of splitmix64 for the seed 1234567.
        var random = SeededGenerator(seed: 1_234_567)
        #expect(random.next() == 6_457_827_717_110_365_317)
        #expect(random.next() == 3_203_168_211_198_807_973)
        #expect((0..<100).allSatisfy { _ in random.below(10) < 10 })
    }

    @Test func manualClockMovesOnlyWhenAdvanced() {
        let clock = ManualClock(milliseconds: 1_000)
        let now = clock.now
        #expect(now() == 1_000)
        clock.advance(by: .milliseconds(1_500))
        #expect(now() == 2_500)
        clock.advance(by: .seconds(-2))
        #expect(now() == 500)
        clock.advance(by: .seconds(-2))
        #expect(now() == 0)
    }

    @Test func temporaryStoresAreDeletedAfterUse() async throws {
        let directory: String
        do {
            let place = try TemporaryStore()
            directory = place.directory
            let store = try place.open()
            try await store.append([
                WatchLaterToggled.with { ($0.video, $0.isOn) = ("vimeo:1", true) }
            ])
            let event = try await store.read().first
            #expect(event?.stamp.milliseconds == place.clock.milliseconds)
            store.close()
            let log = try place.openLog()
            #expect(log.head.rawValue == 1)
        }
        #expect(!FileManager.default.fileExists(atPath: directory))
    }
}
