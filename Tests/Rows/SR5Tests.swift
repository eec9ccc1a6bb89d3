import Tapedeck
import TapedeckTesting
import Testing

/// SR5: Downloaded videos play from disk, and are evicted to stay within a budget.
@Suite struct SR5Tests {
    private let stage: PlaybackStage

    init() throws { stage = try PlaybackStage("sr5") }

    private func download(_ number: Int, _ bytes: UInt64, on device: String = "") async throws {
        stage.wait(1)
        try await stage.store.append([
            DownloadCompleted.with {
                ($0.video, $0.device, $0.bytes) = ("vimeo:\(number)", device, bytes)
                $0.blob = String(repeating: "ab", count: 32)
            }
        ])
    }

    private func downloads(_ device: String = "") async throws -> DownloadsPage {
        try await stage.ask { queries, _ in try queries.downloads(device: device) }
    }

    private func remove(_ numbers: Int...) async throws {
        stage.wait(1)
        let videos = try numbers.map { try VideoKey("vimeo:\($0)") }
        try await stage.store.decide { try RemoveDownloads(videos).decide(VideoQueries($0)) }
    }

    @Test func downloadsAreListedUntilRemoved() async throws {
        try await download(1, 100)
        try await download(2, 50)
        try await download(3, 7, on: "tv")
        var page = try await downloads()
        #expect(page.videos.map(\.video) == ["vimeo:1", "vimeo:2"])
        #expect(page.count == 2 && page.bytes == 150 && page.device == "default")
        #expect(try await downloads("tv").bytes == 7)
        try await download(1, 120)
        try await remove(2)
        page = try await downloads()
        #expect(page.videos.map(\.bytes) == [120] && page.count == 1 && page.bytes == 120)
        let refusal = await #expect(throws: RemoveDownloads.Refusal.self) { try await remove(2) }
        #expect(try refusal == .notOnDisk(VideoKey("vimeo:2")))
    }

    @Test func downloadedVideosAreNotExtracted() async throws {
        try await download(1, 100)
        let list = try [VideoKey("vimeo:1"), VideoKey("vimeo:2")]
        let plan = try await stage.ask { try $0.extractionPlan(list, current: 0, at: $1) }
        #expect(plan.skipped == [.init(video: list[0], reason: .onDisk)])
        #expect(plan.run == list[1])
        let elsewhere = try await stage.ask {
            try $0.extractionPlan(list, current: 0, device: "tv", at: $1)
        }
        #expect(elsewhere.run == list[0])
        try await remove(1)
        let again = try await stage.ask { try $0.extractionPlan(list, current: 0, at: $1) }
        #expect(again.run == list[0])
    }

    @Test func watchedVideosAreEvictedFirstAndTheCurrentOneNever() async throws {
        for number in 1...4 { try await download(number, 100) }
        try await stage.progress("vimeo:3", 600)
        func gone(_ bytesMax: UInt64, current: Int? = nil, new: UInt64 = 0) async throws -> [String]
        {
            let playing = try current.map { try VideoKey("vimeo:\($0)") }
            return try await stage.ask { queries, _ in
                try queries.evictions(
                    DownloadBudget(bytesMax: bytesMax), current: playing, newBytes: new
                ).map(\.text)
            }
        }
        #expect(try await gone(400) == [])
        #expect(try await gone(399) == ["vimeo:3"])
        #expect(try await gone(300) == ["vimeo:3"])
        #expect(try await gone(250) == ["vimeo:3", "vimeo:1"])
        #expect(try await gone(250, current: 3) == ["vimeo:1", "vimeo:2"])
        #expect(try await gone(0, current: 2) == ["vimeo:3", "vimeo:1", "vimeo:4"])
        #expect(try await gone(400, new: 1) == ["vimeo:3"])
        #expect(try await gone(.max, new: .max) == [])
    }

    @Test(arguments: 0..<200) func evictionsAreMinimal(_ seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed) &+ 1)
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
        let downloads = try (0..<number(12)).map { index in
            DownloadBudget.Candidate(
                try VideoKey("vimeo:\(index + 1)"), bytes: UInt64(number(50)),
                at: UTCTime(milliseconds: Int64(number(5))), isWatched: number(3) == 0)
        }
        let current = downloads.isEmpty ? nil : downloads[number(downloads.count)].video
        let budget = DownloadBudget(bytesMax: UInt64(number(300)))
        let gone = budget.evictions(downloads, current: current)
        #expect(gone == budget.evictions(downloads.shuffled(using: &generator), current: current))
        #expect(Set(gone).count == gone.count && !gone.contains { $0 == current })
        func total(without gone: ArraySlice<VideoKey>) -> UInt64 {
            downloads.filter { !gone.contains($0.video) }.reduce(0) { $0 + $1.bytes }
        }
        let isKept = total(without: gone[...]) <= budget.bytesMax
        let rest = downloads.filter { !gone.contains($0.video) && $0.bytes > 0 }
        #expect(isKept || rest.allSatisfy { $0.video == current })
        if !gone.isEmpty { #expect(total(without: gone.dropLast()) > budget.bytesMax) }
        let places = gone.compactMap { video in downloads.first { $0.video == video } }
        for (first, second) in zip(places, places.dropFirst()) {
            #expect(first.isWatched || !second.isWatched)
            #expect(first.isWatched != second.isWatched || first.at <= second.at)
        }
    }
}
