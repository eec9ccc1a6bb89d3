import Foundation
import Tapedeck
import TapedeckTesting
import Testing

/// SR3: A player that reports every second is recorded as a few events, and every list is the same
/// as if all reports had been recorded.
@Suite struct SR3RecorderTests {
    private static let start: UInt64 = 1_353_542_400_000
    private static let videos = ["vimeo:1", "vimeo:2", "youtube:aqz-KE-bpKQ"]

    /// The results of the playback, statistics and watch-later queries.
    private struct Lists: Equatable {
        var entries: [PlaybackEntry]
        var inProgress: [PlaybackEntry]
        var statistics: StatisticsReport
        var watchLater: [WatchLaterEntry]

        init(_ store: TapedeckStore, through end: UInt64) async throws {
            (entries, inProgress, statistics, watchLater) = try await store.query { views in
                let queries = VideoQueries(views)
                return (
                    try queries.playback(of: SR3RecorderTests.videos).videos,
                    try queries.inProgress().videos,
                    try queries.statistics(
                        from: "2012-11-22", at: UTCTime(milliseconds: Int64(end))),
                    try queries.watchLater().videos
                )
            }
        }
    }

    /// Simulates the realistic use of a player, which pauses, seeks, changes its speed, and is
    /// closed and resumed.
    private struct Player {
        var generator: SeededGenerator
        var at = SR3RecorderTests.start
        private var viewing = 0
        private var video = ""
        private var position = 0.0
        private var duration = 0.0
        private var told = 0.0
        private var rate = 1.0
        /// The number of seconds played without interruption.
        private var played = 0.0
        private var hasStoppedClock = false

        init(_ generator: SeededGenerator) {
            self.generator = generator
            begin()
        }

        private mutating func begin() {
            viewing += 1
            video = SR3RecorderTests.videos.randomElement(using: &generator) ?? ""
            duration = [0, 4, 37.5, 600, 2_700.25].randomElement(using: &generator) ?? 0
            position = [0, 0, 100, 700].randomElement(using: &generator) ?? 0
            told = 0
            rate = 1
            played = 0
        }

        /// Returns the next report; nil if the user leaves the player.
        mutating func next() -> PlaybackProgressed? {
            let passed = UInt64.random(in: 900...1_150, using: &generator)
            if !hasStoppedClock { at += passed }
            switch Int.random(in: 0..<400, using: &generator) {
            case 0:
                at += .random(in: 0...4_000_000, using: &generator)
                begin()
                return nil
            case 1:
                position = .random(in: 0...max(1, duration), using: &generator)
                played = 0
            case 2: rate = rate == 0 ? 1 : 0
            case 3: rate = [0.5, 1, 1.5, 2].randomElement(using: &generator) ?? 1
            case 4: told = duration
            case 5: at += 30_000
            case 6: hasStoppedClock.toggle()
            default:
                position += rate * Double(passed) / 1_000
                played += rate * Double(passed) / 1_000
            }
            if duration > 0 { position = min(position, duration) }
            var report = PlaybackProgressed()
            (report.video, report.viewing) = (video, "v\(viewing)")
            (report.positionSeconds, report.durationSeconds) = (position, told)
            // Some players do not report the time played.
            if viewing.isMultiple(of: 2) { report.playedSeconds = played }
            return report
        }
    }

    @Test(arguments: 0..<4)
    func listsEqualThoseOfAFullRecording(_ round: UInt64) async throws {
        var source = SeededGenerator.fromEnvironment()
        if round > 0 { source = SeededGenerator(seed: source.seed &+ round) }
        print(source)
        let seed = source.seed
        let (wholePlace, fewPlace) = (try TemporaryStore("all"), try TemporaryStore("few"))
        let (whole, few) = (try wholePlace.open(), try fewPlace.open())
        var player = Player(source)
        var coalescing = PlaybackCoalescing()
        var (all, kept): ([ProposedEvent], [ProposedEvent]) = ([], [])
        func keep(_ reports: [PlaybackCoalescing.Report]) throws {
            kept += try reports.map {
                try ProposedEvent($0.event, atMilliseconds: $0.atMilliseconds)
            }
        }
        for step in 0..<12_000 {
            if step % 1_500 == 700, let video = Self.videos.randomElement(using: &player.generator)
            {
                let toggle = try ProposedEvent(
                    WatchLaterToggled.with { ($0.video, $0.isOn) = (video, true) },
                    atMilliseconds: player.at)
                all.append(toggle)
                kept.append(toggle)
            }
            guard let report = player.next() else {
                try keep(coalescing.flush().map { [$0] } ?? [])
                continue
            }
            all.append(try ProposedEvent(report, atMilliseconds: player.at))
            try keep(coalescing.take(report, atMilliseconds: player.at))
        }
        try keep(coalescing.flush().map { [$0] } ?? [])
        try await whole.log.append(all)
        try await few.log.append(kept)
        let (expected, found) = (
            try await Lists(whole, through: player.at), try await Lists(few, through: player.at)
        )
        #expect(found == expected, "seed \(seed)")
        #expect(expected.statistics.total.watchedSeconds > 1_000, "seed \(seed)")
        #expect(kept.count * 8 < all.count, "seed \(seed): \(kept.count) of \(all.count)")
    }

    private static func tick(_ position: Double, of duration: Double = 600) -> PlaybackProgressed {
        PlaybackProgressed.with {
            ($0.video, $0.viewing) = ("vimeo:7", "v1")
            ($0.positionSeconds, $0.durationSeconds) = (position, duration)
        }
    }

    @Test func halfAnHourOfPlaybackTakesFewEvents() async throws {
        let stage = try PlaybackStage("sr3-recorder")
        let recorder = try await PlaybackRecorder.open(stage.store)
        for second in 0...1_800 {
            stage.wait(1)
            try await recorder.report(Self.tick(Double(second), of: 1_800))
        }
        try await recorder.flush()
        let events = try await stage.store.read()
        #expect(events.count <= 14)
        let found = try await stage.ask { queries, _ in try queries.playback(of: "vimeo:7") }
        #expect(found.state == .finished && found.viewings == 1)
        let statistics = try await stage.ask { queries, now in
            try queries.statistics(at: now)
        }
        #expect(statistics.total.watchedSeconds == 1_800 && statistics.total.completions == 1)
    }

    @Test func videosLeaveWatchLaterAtOnce() async throws {
        let stage = try PlaybackStage("sr3-recorder")
        try await stage.store.append([
            WatchLaterToggled.with { ($0.video, $0.isOn) = ("vimeo:7", true) }
        ])
        let recorder = try await PlaybackRecorder.open(stage.store)
        func isMarked() async throws -> Bool {
            try await stage.ask { queries, _ in try !queries.watchLater().videos.isEmpty }
        }
        for second in 440...449 {
            stage.wait(1)
            try await recorder.report(Self.tick(Double(second)))
        }
        #expect(try await isMarked())
        stage.wait(1)
        try await recorder.report(Self.tick(450))
        #expect(try await !isMarked())
    }

    @Test func pendingReportsOutliveTheRecorder() async throws {
        let stage = try PlaybackStage("sr3-recorder")
        var recorder: PlaybackRecorder? = try await .open(stage.store, player: "tv")
        for second in 0..<20 {
            stage.wait(1)
            try await recorder?.report(Self.tick(Double(second)))
        }
        let last = stage.now
        #expect(try await stage.store.read().count == 1)
        await #expect {
            _ = try await PlaybackRecorder.open(stage.store, player: "tv")
        } throws: { ($0 as? StoreError)?.code == .busy }
        recorder = nil
        stage.wait(3_600)
        _ = try await PlaybackRecorder.open(stage.store, player: "tv")
        let found = try await stage.ask { queries, _ in try queries.playback(of: "vimeo:7") }
        #expect(found.resumeSeconds == 19 && found.playedAt == last)
        _ = try await PlaybackRecorder.open(stage.store, player: "tv")
        #expect(try await stage.store.read().count == 2)
    }

    /// Apps flush at each pause; the time played before a pause is counted, and so is the time after.
    @Test func watchedTimeIsTheSameWithPauses() async throws {
        let stage = try PlaybackStage("sr3-recorder")
        let recorder = try await PlaybackRecorder.open(stage.store)
        for position in stride(from: 0.0, through: 40, by: 10) {
            try await recorder.report(Self.tick(position))
            if position > 0 {
                try await recorder.flush()
                try await recorder.flush()
            }
            stage.wait(10)
        }
        let found = try await stage.ask { queries, _ in
            try queries.playback(of: Self.tick(0).video).watchedSeconds
        }
        #expect(found == 40)
    }

    /// A process may end at any point; the interrupted run is recorded once.
    @Test func interruptedRunsAreRecordedOnce() async throws {
        let stage = try PlaybackStage("sr3-recorder")
        func open() async throws -> PlaybackRecorder {
            // Every report is recorded immediately, so none is held back.
            try await .open(stage.store, holdSecondsMax: 0, reportsWatched: true)
        }
        func watched() async throws -> [Double] {
            try await stage.store.read(type: VideoWatched.eventType)
                .map { try $0.decode(VideoWatched.self).endSeconds }
        }
        var recorder: PlaybackRecorder? = try await open()
        for position in 0...20 {
            stage.wait(1)
            try await recorder?.report(Self.tick(Double(position)))
        }
        recorder = nil
        #expect(try await watched().isEmpty)
        recorder = try await open()
        #expect(try await watched() == [20])
        recorder = nil
        recorder = try await open()
        #expect(try await watched() == [20])
    }

    @Test func eachRunIsRecordedAsWatched() async throws {
        let stage = try PlaybackStage("sr3-recorder")
        var recorder: PlaybackRecorder? = try await .open(stage.store, reportsWatched: true)
        func play(_ positions: ClosedRange<Int>) async throws {
            for position in positions {
                stage.wait(1)
                try await recorder?.report(Self.tick(Double(position)))
            }
        }
        func watched() async throws -> [VideoWatched] {
            try await stage.store.read(type: VideoWatched.eventType)
                .map { try $0.decode(VideoWatched.self) }
        }
        try await play(0...30)
        try await recorder?.flush()
        try await play(31...40)
        // The viewer skips twice, and the end of the video ends the run.
        try await play(300...310)
        try await play(590...600)
        let found = try await watched()
        #expect(found.map(\.startSeconds) == [0, 30, 300, 590])
        #expect(found.map(\.endSeconds) == [30, 40, 310, 600])
        #expect(found.map(\.isComplete) == [false, false, false, true])
        try await recorder?.flush()
        // The process ends while a run continues.
        try await play(0...20)
        recorder = nil
        #expect(try await watched().count == 4)
        recorder = try await .open(stage.store, reportsWatched: true)
        let last = try #require(try await watched().last)
        #expect(last.startSeconds == 0 && last.endSeconds == 20 && last.viewing == "v1")
        recorder = nil
        _ = try await PlaybackRecorder.open(stage.store, reportsWatched: true)
        #expect(try await watched().count == 5)
    }

    @Test func invalidReportsAreRefusedAndChangeNothing() async throws {
        let stage = try PlaybackStage("sr3-recorder")
        let recorder = try await PlaybackRecorder.open(stage.store)
        for position in [1.0, 2] { try await recorder.report(Self.tick(position)) }
        await #expect {
            try await recorder.report(Self.tick(.nan))
        } throws: { ($0 as? StoreError)?.code == .invalidPayload }
        try await recorder.flush()
        let found = try await stage.ask { queries, _ in try queries.playback(of: "vimeo:7") }
        #expect(found.resumeSeconds == 2)
    }
}
