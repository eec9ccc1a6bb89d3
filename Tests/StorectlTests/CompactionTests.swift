import Foundation
import Tapedeck
import TapedeckTesting
import TestSupport
import Testing

@testable import StorectlCommands

/// Compaction removes events but changes no list and no digest, whatever is recorded in between.
@Suite(.offTasks) struct CompactionTests {
    /// Devices that play videos and record events of all other types, each in a log that is never
    /// compacted.
    private struct Household {
        var random: SeededGenerator
        let place: TemporaryStore
        private(set) var logs: [EventLog] = []
        private var mixed: [MixedActivityGenerator]
        private var players: [Player]
        private(set) var reports = 0
        private(set) var newest = 0

        /// A player that occasionally pauses, seeks or begins another viewing.
        private struct Player {
            var device: Int
            var viewing = 0
            var video = 1
            var position = 0.0
            var duration = 600.0
            var rate = 1.0

            mutating func report(_ random: inout SeededGenerator) -> PlaybackProgressed {
                switch random.below(300) {
                case 0, 1:
                    viewing += 1
                    video = 1 + random.below(4)
                    (position, duration) = (0, Double(100 * (1 + random.below(9))))
                case 2: position = Double(random.below(900))
                case 3: rate = rate == 0 ? 1 : 0
                case 4: rate = 1.5
                default: position += rate
                }
                position = min(position, duration)
                return PlaybackProgressed.with {
                    ($0.video, $0.viewing) = ("vimeo:\(video)", "d\(device)-\(viewing)")
                    ($0.positionSeconds, $0.durationSeconds) = (position, duration)
                }
            }
        }

        init(_ random: SeededGenerator) throws {
            self.random = random
            place = try TemporaryStore("household")
            mixed = (0..<3).map { MixedActivityGenerator(seed: random.seed &+ $0, videos: 40) }
            players = (0..<3).map { Player(device: $0) }
            for device in 0..<3 {
                logs.append(
                    try EventLog.create(place.path("device-\(device)"), options: place.options))
            }
        }

        /// Returns an event that supersedes earlier events, although it is sometimes dated before
        /// them.
        private mutating func newest(on device: Int) throws -> ProposedEvent {
            let earlier: UInt64 = random.oneIn(5) ? random.below(20_000) : 0
            let at = place.clock.milliseconds - earlier
            let video = "vimeo:\(1 + random.below(4))"
            newest += 1
            switch random.below(3) {
            case 0:
                let said = NowPlayingChanged.with {
                    $0.device = "device-\(random.below(4))"
                    if !random.oneIn(4) {
                        ($0.video, $0.isPlaying) = (video, random.oneIn(2))
                        $0.positionSeconds = Double(random.below(900))
                    }
                }
                return try ProposedEvent(said, atMilliseconds: at)
            case 1:
                let found = VideoExtracted.with {
                    ($0.video, $0.url) = (video, "https://cdn.example/\(random.below(1_000))")
                }
                return try ProposedEvent(found, atMilliseconds: at)
            default:
                let failed = ExtractionFailed.with {
                    ($0.video, $0.reason) = (video, "timeout")
                    $0.attempt = UInt32(1 + random.below(5))
                }
                return try ProposedEvent(failed, atMilliseconds: at)
            }
        }

        /// Records a device's activity for about the given number of seconds.
        mutating func go(on device: Int, seconds: Int) throws {
            for _ in 0..<seconds {
                place.clock.advance(by: .milliseconds(900 + random.below(200)))
                var events = [try ProposedEvent(players[device].report(&random))]
                reports += 1
                if random.oneIn(4) { events.append(try newest(on: device)) }
                if random.oneIn(9) {
                    // Other activity; playback reports come only from the players.
                    let other = try mixed[device].next().proposal
                    if other.type != PlaybackProgressed.eventType { events.append(other) }
                }
                try logs[device].appendBlocking(events)
            }
        }
    }

    private static func rule(_ log: EventLog) throws -> CompactionRule { try .video(log) }

    /// Returns the number of events of types for which compaction keeps only the newest event.
    private static func newestCount(_ log: EventLog) throws -> Int {
        var count = 0
        let types = [
            NowPlayingChanged.eventType, VideoExtracted.eventType, ExtractionFailed.eventType,
        ]
        try log.scan { if types.contains($0.type) { count += 1 } }
        return count
    }

    private func digests(_ runner: ProjectionRunner) throws -> [String: String] {
        let names = ShippedProjections.all().map(\.name)
        let report = try runner.rebuild(names)
        #expect(report.frozen.isEmpty)
        return Dictionary(
            uniqueKeysWithValues: report.projections.map { ($0.name, $0.digest) })
    }

    /// A seed that once failed because a superseded report remained in the log and was counted
    /// differently.
    private static let formerFailure: UInt64 = 1_847_265_950

    @Test(arguments: Soak.isOn ? [0, 1, 2, 3] : [3])
    func compactionCommutesWithFoldsAndImports(_ round: UInt64) throws {
        var source = SeededGenerator.fromEnvironment()
        if round > 0 { source = SeededGenerator(seed: source.seed &+ round) }
        if round == 3 { source = SeededGenerator(seed: Self.formerFailure) }
        print(source)
        var household = try Household(source)
        var random = SeededGenerator(seed: source.seed ^ 1)
        let place = household.place
        let names = ["whole", "few", "by-way"]
        let logs = try names.map { try EventLog.create(place.path($0), options: place.options) }
        let runners = logs.map { ProjectionRunner($0, projections: ShippedProjections.all()) }
        defer {
            for runner in runners { runner.close() }
            for log in logs + household.logs { log.close() }
        }
        let lineage = LineageID(high: 7, low: source.seed)
        var served: UInt64 = 0
        var removed: UInt64 = 0
        for _ in 0..<30 {
            let device = random.below(3)
            try household.go(on: device, seconds: 60 + random.below(240))
            let file = place.path("device.tdx")
            try household.logs[device].export(to: file)
            // Some events arrive with receipts from the server.
            var receipts: [Receipt] = []
            for _ in 0..<random.below(4) {
                let last = try household.logs[device].origins()[0].lastSequence
                let id = EventID(
                    origin: household.logs[device].origin,
                    sequence: last - random.below(min(last, 30)))
                guard let event = try household.logs[device].event(id),
                    try logs[0].event(id) == nil
                else { continue }
                served += 1
                receipts.append(
                    Receipt(
                        event: id, lineage: lineage, serverPosition: served,
                        receivedAt: Stamp(
                            milliseconds: event.stamp.milliseconds - 500 + random.below(1_000)),
                        outcome: random.oneIn(4) ? .refused(.tooLarge) : .accepted))
            }
            for index in 0..<2 {
                try logs[index].importEvents(from: file)
                try logs[index].recordReceipts(receipts)
            }
            if random.oneIn(3) { try runners[1].read(nil) { _ in } }
            if random.oneIn(2) {
                removed += try runners[1].compact(Self.rule(logs[1]), blockCount: 128).removed
            }
            if random.oneIn(4) {
                let file = place.path("few.tdx")
                try logs[1].export(to: file)
                try logs[2].importEvents(from: file)
                if random.oneIn(2) { try runners[2].read(nil) { _ in } }
            }
        }
        removed += try runners[1].compact(Self.rule(logs[1]), blockCount: 128).removed
        // The third log also imports everything from the other two, some of it as stubs.
        for index in [1, 0] {
            let file = place.path("\(index).tdx")
            try logs[index].export(to: file)
            try logs[2].importEvents(from: file)
        }
        let newest = try logs.map(Self.newestCount)
        #expect(newest[0] > household.newest, "\(source)")
        // A block of 128 events contains only a few events of each device and video.
        #expect(newest[1] * 3 < newest[0] * 2, "\(newest[1]) of \(newest[0]), \(source)")
        let recorded = UInt64(household.reports) + UInt64(newest[0])
        #expect(removed * 10 > recorded * 6, "\(removed) of \(recorded)")
        for (name, log) in zip(names, logs) {
            #expect(try log.verify().problems == [], "\(name), \(source)")
            #expect(log.head == logs[0].head, "\(name), \(source)")
        }
        for runner in runners {
            try runner.read(nil) { _ in }
            let differences = try runner.verify(nil).differences
            #expect(differences.isEmpty, "\(differences), \(source)")
        }
        let expected = try digests(runners[0])
        for (name, runner) in zip(names, runners).dropFirst() {
            let found = try digests(runner)
            for (projection, digest) in expected.sorted(by: { $0.key < $1.key }) {
                #expect(found[projection] == digest, "\(projection) of \(name), \(source)")
            }
        }
    }
}
