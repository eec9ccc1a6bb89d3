import Foundation
import Tapedeck
import TapedeckTesting

/// Queries of lists, and live lists.
extension Bench {
    private static let questions = 5_000
    private static let questionsAsOf = 100
    private static let changes = 300
    private static let changesOfOthers = 100

    private func video(_ number: Int) -> String { "vimeo:\(number + 1)" }

    /// Returns the event in which a user shares a video.
    private func share(_ number: Int, at second: Int) throws -> ProposedEvent {
        let said = BroadcastReceived.with {
            ($0.broadcast, $0.video) = ("b\(number)", video(number))
            $0.title = "The \(number). video of somebody who films cats"
            ($0.sharer, $0.comment) = ("user \(number % 5_000)", "look at this one")
            $0.createdAt = .init(seconds: Int64(second))
        }
        return try ProposedEvent(observation: said, observedAt: Int64(second) * 1_000)
    }

    /// Fills a store with `events` videos, and builds its lists.
    ///
    /// Each video is shared once, and every tenth video has comments.
    func fillVideos() throws {
        let log = try EventLog.create(directory, options: .init(unindexedEventsMax: .max))
        let duration = try timed {
            for start in stride(from: 0, to: events, by: 10_000) {
                var batch: [ProposedEvent] = []
                for number in start..<min(start + 10_000, events) {
                    batch.append(try share(number, at: 1_300_000_000 + number))
                    guard number % 10 == 0 else { continue }
                    for text in ["one", "two", "three"] {
                        batch.append(
                            try ProposedEvent(
                                CommentPosted.with {
                                    ($0.video, $0.text) = (self.video(number), text)
                                }))
                    }
                }
                try log.appendBlocking(batch)
            }
            try log.indexAll()
        }
        let projections = ProjectionRunner(log, projections: VideoProjections.standard.all)
        _ = try projections.rebuild()
        projections.close()
        log.close()
        line(duration)
    }

    /// Queries one video with its comments, and the first page of a list.
    func ask() throws {
        let store = try TapedeckStore.open(directory, creating: false)
        let isPoint = measure == "point-query"
        let now = UTCTime(milliseconds: 1_400_000_000_000)
        var random = UInt64(seed)
        var seconds: [Double] = []
        // The first queries load pages into the cache and are not counted.
        for index in 0..<Bench.questions + 1_000 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let key = video(Int(random >> 33) % (events / 10) * 10)
            let duration = try timed {
                if isPoint {
                    let page = try store.projections.read(["videos"]) {
                        try VideoQueries($0).comments(video: key)
                    }
                    guard page.comments.count == 4 else { throw BenchError("\(key): \(page)") }
                } else {
                    let page = try store.projections.read(
                        ["videos", "watch-later", "playability"]
                    ) { try VideoQueries($0).videos(in: .timeline, at: now) }
                    guard page.videos.count == 50 else { throw BenchError("\(page.videos.count)") }
                }
            }
            if index >= 1_000 { seconds.append(duration.seconds) }
        }
        store.close()
        line(seconds)
    }

    /// Queries one video as of a random position, and the first page of the list as of the middle
    /// of the log.
    ///
    /// The probability of choosing a video is proportional to the number of its events, because the
    /// video of a random event is chosen.
    func lookBack() throws {
        let store = try TapedeckStore.open(
            directory, creating: false, options: .init(unindexedEventsMax: .max))
        defer { store.close() }
        let head = try store.log.currentHead().rawValue
        guard measure == "as-of" else {
            let point = HistoryPoint.position(LogPosition(rawValue: head / 2))
            let duration = try timed {
                let page = try store.projections.read(["videos", "watch-later"], asOf: point) {
                    try VideoQueries($0).videos()
                }
                guard !page.videos.isEmpty else { throw BenchError("the list is empty") }
            }
            return line(duration)
        }
        var random = SeededGenerator(seed: seed)
        func position() -> LogPosition { LogPosition(rawValue: 1 + random.below(head)) }
        var seconds: [Double] = []
        // The first queries load pages into the cache and are not counted.
        while seconds.count < Bench.questionsAsOf + 20 {
            let tags = try store.log.event(at: position())?.tags ?? []
            guard let video = tags.first(where: { $0.kind == "video" }) else { continue }
            let point = HistoryPoint.position(position())
            let duration = try timed {
                _ = try store.projections.read(["videos"], asOf: point) {
                    try VideoQueries($0).comments(video: String(video.name))
                }
            }
            seconds.append(duration.seconds)
        }
        line(Array(seconds.dropFirst(20)))
    }

    /// Measures the time from an event to the change that an observer of a list of `events` rows
    /// receives.
    func follow() async throws {
        let options = EventLog.Options(unindexedEventsMax: .max)
        let store = try TapedeckStore.open(store, options: options)
        for start in stride(from: 0, to: events, by: 10_000) {
            try await store.log.append(
                try (start..<min(start + 10_000, events)).map {
                    try share($0, at: 1_300_000_000 + $0)
                })
        }
        var updates = store.live(.group(.timeline, limit: events * 2)).makeAsyncIterator()
        var first = try await updates.next()
        // The list is available once the projection is built.
        while first?.state.loading != nil { first = try await updates.next() }
        guard first?.changes.count == events else {
            throw BenchError("the list is incomplete")
        }
        var seconds: [Double] = []
        if measure == "live-diff" {
            for number in events..<events + Bench.changes {
                let event = try share(number, at: 1_300_000_000 + number)
                let started = ContinuousClock.now
                try await store.log.append([event])
                let update = try await updates.next()
                seconds.append((ContinuousClock.now - started).seconds)
                guard update?.changes.count == 1 else { throw BenchError("\(update as Any)") }
            }
        } else {
            let writer = Process()
            writer.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
            writer.arguments = [
                "live-writer", "--dir", directory, "--events", "\(Bench.changesOfOthers)", "--seed",
                "\(events)",
            ]
            try writer.run()
            while seconds.count < Bench.changesOfOthers {
                guard let update = try await updates.next() else { break }
                let now = Double(monotonicNanoseconds())
                for case .inserted(let entry, _) in update.changes {
                    guard let told = entry.title.flatMap({ Double($0) }) else { continue }
                    seconds.append((now - told) / 1e9)
                }
            }
            writer.waitUntilExit()
        }
        store.close()
        line(seconds)
    }

    /// Runs in a separate process that appends a broadcast from time to time, with the current time
    /// as its title.
    func write() throws {
        let log = try EventLog(opening: store, options: .init(unindexedEventsMax: .max))
        for number in 0..<events {
            usleep(30_000)
            let said = BroadcastReceived.with {
                ($0.broadcast, $0.video) = ("o\(number)", "youtube:o\(number)")
                $0.title = "\(monotonicNanoseconds())"
                $0.createdAt = .init(seconds: 1_350_000_000 + Int64(number))
            }
            try log.appendBlocking([try ProposedEvent(observation: said, observedAt: nil)])
        }
        log.close()
    }

    func line(_ seconds: [Double], _ extra: [(String, String)] = []) {
        let sorted = seconds.sorted()
        line(
            .seconds(seconds.reduce(0, +)),
            [
                ("medianSeconds", "\(sorted[sorted.count / 2])"),
                ("p99Seconds", "\(sorted[sorted.count * 99 / 100])"),
            ] + extra)
    }
}

/// Returns the time, in nanoseconds, of a monotonic clock that all processes share.
private func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
