import Tapedeck
import TapedeckTesting
import Testing

/// SH15: The host reports an offline or metered network; media transfers wait and report the
/// reason, while events are still recorded and read.
@Suite struct SH15Tests {
    private let stage: PlaybackStage
    /// An address without a server, so an attempted connection fails with a different message.
    private static let server = "http://127.0.0.1:9"

    init() throws { stage = try PlaybackStage("sh15") }

    private func plan(_ videos: String..., current: Int = 0) async throws -> ExtractionPlan {
        let list = try videos.map { try VideoKey($0) }
        let network = try await stage.store.network()
        return try await stage.ask {
            try $0.extractionPlan(
                list, current: current, policy: ExtractionPolicy(aheadCount: 5, network: network),
                at: $1)
        }
    }

    @Test func onlyTheCurrentVideoIsExtractedWhileMetered() async throws {
        try await stage.extract("vimeo:2")
        try await stage.store.setNetwork(.metered)
        let metered = try await plan("vimeo:1", "vimeo:2", "vimeo:3")
        #expect(metered.run?.text == "vimeo:1" && metered.waiting.isEmpty)
        #expect(metered.skipped.map(\.video.text) == ["vimeo:2", "vimeo:3"])
        #expect(metered.skipped.map(\.reason) == [.cached, .metered], "cached videos stay usable")
        try await stage.store.setNetwork(.online)
        let online = try await plan("vimeo:1", "vimeo:2", "vimeo:3")
        #expect(online.waiting.map(\.text) == ["vimeo:3"])
    }

    @Test func extractionsAreSkippedAndCancelledWhileOffline() async throws {
        try await stage.extract("vimeo:2")
        let list = try ["vimeo:1", "vimeo:2"].map { try VideoKey($0) }
        let running = ExtractionPolicy.Running(list[0], since: stage.now)
        let found = try await stage.ask {
            try $0.extractionPlan(
                list, current: 0, running: running, policy: ExtractionPolicy(network: .offline),
                at: $1)
        }
        #expect(found.run == nil && found.continuing == nil)
        #expect(found.cancelled == .init(video: list[0], reason: .network))
        #expect(found.skipped.map(\.reason) == [.offline, .cached])
    }

    @Test func offlineStoresRecordEventsAndReportTheReason() async throws {
        try await stage.store.setNetwork(.offline)
        try await stage.progress("vimeo:1", 10)
        let left = try await stage.ask { queries, _ in try queries.playback(of: "vimeo:1") }
        #expect(left.resumeSeconds == 10)
        let report = try await stage.store.sync(with: SH15Tests.server, token: "t")
        #expect(report.failure?.code == .offline)
        #expect(report.failure?.message == "this device is set to offline")
        // If the network is not set to offline, the sync tries to connect.
        try await stage.store.setNetwork(.metered)
        let tried = try await stage.store.sync(with: SH15Tests.server, token: "t")
        #expect(tried.failure?.message != report.failure?.message)
    }

    @Test func networkStateIsKeptUntilChanged() async throws {
        #expect(try await stage.store.network() == .online)
        try await stage.store.setNetwork(.metered)
        stage.store.close()
        let again = try stage.place.open()
        #expect(try await again.network() == .metered)
        try await again.setNetwork(.online)
        #expect(try await again.network() == .online)
    }
}
