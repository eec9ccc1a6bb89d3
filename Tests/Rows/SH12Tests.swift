import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// SH12: Statistics count the videos played, watched, finished and shared, by day and by provider,
/// despite wrong clocks and different time zones.
@Suite struct SH12Tests {
    private let stage: PlaybackStage

    init() throws { stage = try PlaybackStage("sh12") }

    /// Returns the time that is the given number of seconds after noon on a day in May 2012, in
    /// Unix milliseconds.
    private static func noon(_ day: Int, _ seconds: Double = 0) -> UInt64 {
        UInt64(1_335_873_600_000 + (day - 1) * 86_400_000) + UInt64(seconds * 1_000)
    }

    private func report(
        _ video: String, _ viewing: String, _ position: Double, day: Int, at seconds: Double,
        of duration: Double = 600
    ) async throws {
        try await stage.store.append(
            [
                PlaybackProgressed.with {
                    ($0.video, $0.viewing) = (video, viewing)
                    ($0.positionSeconds, $0.durationSeconds) = (position, duration)
                }
            ], atMilliseconds: Self.noon(day, seconds))
    }

    private func statistics(
        _ first: String = "2012-05-01", _ last: String = "2012-05-04", zone: String = "UTC"
    ) async throws -> StatisticsReport {
        try await stage.ask { queries, now in
            try queries.statistics(from: first, through: last, at: now, zone: zone)
        }
    }

    @Test func skippedPartsAreNotCountedAsWatched() async throws {
        try await report("vimeo:7", "a", 0, day: 1, at: 0)
        try await report("vimeo:7", "a", 10, day: 1, at: 10)
        try await report("vimeo:7", "a", 400, day: 1, at: 11)
        try await report("vimeo:7", "a", 420, day: 1, at: 31)
        // Seeking back adds no watch time, but watching a part again does.
        try await report("vimeo:7", "a", 400, day: 1, at: 32)
        try await report("vimeo:7", "a", 405, day: 1, at: 37)
        let found = try await statistics()
        #expect(found.days.map(\.date) == ["2012-05-01", "2012-05-02", "2012-05-03", "2012-05-04"])
        #expect(found.days[0].figures.watchedSeconds == 35)
        #expect(found.days[0].figures.plays == 1 && found.total.plays == 1)
        #expect(found.days[1].figures.plays == 0 && found.days[1].figures.videos == 0)
    }

    @Test func viewingIsCountedAsFinishedOnlyOnce() async throws {
        try await report("vimeo:7", "a", 590, day: 1, at: 0)
        try await report("vimeo:7", "a", 596, day: 1, at: 6)
        try await report("vimeo:7", "a", 600, day: 1, at: 10)
        try await report("youtube:x", "b", 10, day: 2, at: 0)
        let found = try await statistics()
        #expect(found.total.completions == 1 && found.total.plays == 2 && found.total.videos == 2)
        #expect(found.sources.map(\.source) == ["vimeo", "youtube"])
        #expect(found.sources.first?.figures.completions == 1)
        #expect(found.sources.first?.figures.watchedSeconds == 10)
    }

    @Test func overlappingReportsAreCountedOnce() async throws {
        try await report("vimeo:7", "a", 0, day: 1, at: 0)
        try await report("vimeo:7", "a", 15, day: 1, at: 15)
        var watched = VideoWatched()
        watched.video = "vimeo:7"
        (watched.startSeconds, watched.endSeconds) = (0, 14)
        try await stage.store.append([watched], atMilliseconds: Self.noon(1, 15))
        #expect(try await statistics().total.watchedSeconds == 15)
        // If an app reports only intervals, the watched time is computed from the intervals.
        watched.video = "vimeo:8"
        watched.isComplete = true
        try await stage.store.append([watched], atMilliseconds: Self.noon(1, 20))
        let total = try await statistics().total
        #expect(total.watchedSeconds == 29 && total.completions == 1)
    }

    /// Playback positions, statistics and recorded intervals agree on the watched time.
    @Test func allSourcesAgreeOnTheWatchedTime() async throws {
        func playback(_ video: String) async throws -> PlaybackEntry {
            try await stage.ask { queries, _ in try queries.playback(of: video) }
        }
        try await report("vimeo:7", "a", 0, day: 1, at: 0)
        try await report("vimeo:7", "a", 135, day: 1, at: 135)
        #expect(try await playback("vimeo:7").watchedSeconds == 135)
        #expect(try await statistics().total.watchedSeconds == 135)
        // A recorder reports half an hour of playback both as positions and as an interval; the
        // time is counted once.
        let recorder = try await PlaybackRecorder.open(stage.store, reportsWatched: true)
        for second in stride(from: 0, through: 1_800, by: 60) {
            try await recorder.report(
                PlaybackProgressed.with {
                    ($0.video, $0.viewing) = ("vimeo:8", "b")
                    ($0.positionSeconds, $0.durationSeconds) = (Double(second), 3_600)
                }, atMilliseconds: Self.noon(2, Double(second)))
        }
        try await recorder.flush()
        let found = try await playback("vimeo:8")
        #expect(found.watchedSeconds == 1_800 && found.state == .inProgress)
        #expect(found.viewing == "b" && found.resumeSeconds == 1_800)
        #expect(try await statistics().days[1].figures.watchedSeconds == 1_800)
        // An app may report that a video was watched, without positions.
        try await stage.store.append(
            [VideoWatched.with { $0.video = "vimeo:9" }], atMilliseconds: Self.noon(3))
        let watched = try await playback("vimeo:9")
        #expect(watched.state == .watched && watched.watchedSeconds == 0)
        #expect(watched.playedAt?.milliseconds == Int64(Self.noon(3)))
    }

    @Test func daysFollowTheGivenTimeZone() async throws {
        try await report("vimeo:7", "a", 1, day: 1, at: 11 * 3_600)
        #expect(try await statistics().days[0].figures.plays == 1)
        #expect(try await statistics(zone: "Europe/Berlin").days[1].figures.plays == 1)
        #expect(try await statistics(zone: "Asia/Kolkata").days[1].figures.plays == 1)
    }

    @Test func lateReportsAreCountedAtTheirOwnTime() async throws {
        try await report("vimeo:7", "a", 0, day: 1, at: 0)
        try await report("vimeo:7", "a", 30, day: 1, at: 30)
        try await report("vimeo:7", "a", 10, day: 1, at: 10)
        try await report("vimeo:7", "a", 20, day: 1, at: 20)
        let total = try await statistics().total
        #expect(total.watchedSeconds == 30 && total.plays == 1)
    }

    @Test func longPausesSeparateSessions() async throws {
        try await report("vimeo:1", "a", 1, day: 1, at: 0)
        try await report("vimeo:2", "b", 1, day: 1, at: 1_800)
        try await report("vimeo:3", "c", 1, day: 1, at: 3 * 3_600)
        let found = try await statistics()
        #expect(found.sessions == 2 && found.longestSessionSeconds == 2_700)
    }

    /// If a clock is set back, a store records all events in one millisecond until the clock has
    /// caught up.
    @Test func stoppedClocksLoseNothing() async throws {
        for position in [0.0, 10, 40, 70, 100, 500] {
            try await report("vimeo:7", "a", position, day: 1, at: 0)
        }
        #expect(try await statistics().days[0].figures.watchedSeconds == 100)
        // A recorder measures the time that has passed between reports, so it also recognizes
        // shorter skips.
        stage.place.clock.set(milliseconds: Self.noon(2))
        let steady = ManualClock()
        let recorder = try await PlaybackRecorder.open(
            stage.store, clock: SteadyClock { ("boot", steady.milliseconds) })
        for (position, seconds) in [(0.0, 0), (10, 10), (40, 30), (70, 30), (170, 1), (200, 30)] {
            steady.advance(by: .seconds(seconds))
            try await recorder.report(
                PlaybackProgressed.with {
                    ($0.video, $0.viewing) = ("vimeo:7", "b")
                    ($0.positionSeconds, $0.durationSeconds) = (position, 600)
                })
        }
        try await recorder.flush()
        #expect(try await statistics().days[1].figures.watchedSeconds == 100)
    }

    @Test func sharesAreCountedByDestination() async throws {
        let share = try ShareVideo("vimeo:7", to: ["twitter", "facebook"], text: "look")
        stage.place.clock.set(milliseconds: Self.noon(3))
        try await stage.store.append([
            BroadcastReceived.with { ($0.broadcast, $0.video) = ("b", "vimeo:7") }
        ])
        try await stage.store.decide { try share.decide(VideoQueries($0)) }
        let found = try await statistics()
        #expect(found.days[2].figures.shares == 2 && found.total.shares == 2)
    }

    @Test func invalidDaysAndTimeZonesAreRefused() async throws {
        for (first, last, zone) in [
            ("2012-05-02", "2012-05-01", "UTC"), ("2012-02-30", "2012-05-01", "UTC"),
            ("1900-01-01", "2012-05-01", "UTC"), ("2012-05-01", "2012-05-01", "Mars/Olympus"),
        ] {
            let error = await #expect(throws: StoreError.self) {
                try await statistics(first, last, zone: zone)
            }
            #expect(error?.code == .usage)
        }
    }
}
