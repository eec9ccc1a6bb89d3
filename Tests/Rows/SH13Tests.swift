import Tapedeck
import TapedeckTesting
import Testing

/// SH13: The video that each device plays, and the handoff to another device with the position.
@Suite struct SH13Tests {
    private let stage: PlaybackStage

    init() throws { stage = try PlaybackStage("sh13") }

    private func report(
        _ device: String, _ video: String?, at position: Double = 0, isPlaying: Bool = false
    ) async throws {
        stage.wait(1)
        var event = NowPlayingChanged()
        event.device = device
        if let video {
            (event.video, event.viewing) = (video, "viewing-1")
            (event.positionSeconds, event.isPlaying) = (position, isPlaying)
        }
        try await stage.store.append([event])
    }

    private func devices() async throws -> [NowPlayingEntry] {
        try await stage.ask { try $0.nowPlaying(at: $1).devices }
    }

    private func devices(with video: String) async throws -> [String] {
        try await stage.ask { try $0.nowPlaying(video: video, at: $1).devices.map(\.device) }
    }

    private func handOff(_ source: String, _ target: String) async throws {
        let change = HandOff(from: source, to: target, now: stage.now)
        try await stage.store.decide { try change.decide(VideoQueries($0)) }
    }

    @Test func devicesAreListedWithTheirCurrentVideo() async throws {
        #expect(try await devices().isEmpty)
        try await report("tv", "youtube:a", at: 10, isPlaying: true)
        try await report("phone", "vimeo:7", at: 3)
        #expect(try await devices().map(\.device) == ["phone", "tv"])
        #expect(try await devices(with: "https://vimeo.com/7") == ["phone"])
        #expect(try await devices(with: "youtube:a") == ["tv"])
        stage.wait(29)
        let tv = try #require(try await devices().last)
        #expect(tv.positionSeconds == 10 && tv.estimatedSeconds == 40 && tv.playing)
        let phone = try #require(try await devices().first)
        #expect(phone.estimatedSeconds == 3 && !phone.playing)
        try await report("tv", nil)
        #expect(try await devices(with: "youtube:a").isEmpty)
        #expect(try await devices().map(\.video) == [nil, "vimeo:7"])
    }

    @Test func estimatedPositionsStopAtTheEndOfTheVideo() async throws {
        try await stage.progress("youtube:a", 10, of: 60)
        try await report("tv", "youtube:a", at: 50, isPlaying: true)
        stage.wait(3_600)
        #expect(try await devices().first?.estimatedSeconds == 60)
        // The duration may also come from a remote.
        var described = VideoDescribed()
        (described.video, described.durationSeconds) = ("vimeo:2", 213)
        try await stage.store.append([described])
        try await report("radio", "vimeo:2", at: 10, isPlaying: true)
        stage.wait(3_600)
        #expect(try await devices().first?.estimatedSeconds == 213)
    }

    @Test func handOffsStopAtTheEndOfTheVideo() async throws {
        try await stage.progress("youtube:a", 10, of: 60)
        try await report("tv", "youtube:a", at: 50, isPlaying: true)
        try await report("radio", "youtube:b", at: 50, isPlaying: true)
        stage.wait(400 * 86_400)
        try await handOff("tv", "phone")
        try await handOff("radio", "car")
        let positions = Dictionary(
            uniqueKeysWithValues: try await devices().map { ($0.device, $0.positionSeconds) })
        #expect(positions["phone"] == 60)
        // A device that has reported nothing for hours is assumed to have stopped.
        #expect(positions["car"] == 14_450)
    }

    @Test func anotherDeviceResumesAtTheSamePosition() async throws {
        try await report("tv", "youtube:a", at: 10, isPlaying: true)
        stage.wait(20)
        try await handOff("tv", "phone")
        let found = try await devices()
        #expect(Set(found.map(\.device)) == ["tv", "phone"])
        let phone = try #require(found.first { $0.device == "phone" })
        #expect(phone.video == "youtube:a" && phone.viewing == "viewing-1")
        #expect(phone.positionSeconds == 30 && phone.playing)
        let tv = try #require(found.first { $0.device == "tv" })
        #expect(!tv.playing && tv.positionSeconds == 30)
    }

    @Test func invalidHandOffsAreRefused() async throws {
        let nothing = await #expect(throws: HandOff.Refusal.self) {
            try await handOff("tv", "phone")
        }
        #expect(nothing == .nothingPlays)
        try await report("tv", "youtube:a")
        let same = await #expect(throws: HandOff.Refusal.self) { try await handOff("tv", "tv") }
        #expect(same == .sameDevice)
    }
}
