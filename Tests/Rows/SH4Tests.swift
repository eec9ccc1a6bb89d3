import Tapedeck
import Testing

/// SH4: Limits based on a device's memory apply to lists, never to the log.
struct SH4Tests {
    private let stage: GroupStage

    init() throws { stage = try GroupStage("caps") }

    @Test func onlyVideosOfTheNewestBroadcastsAreShown() async throws {
        try await stage.share("b1", "old", at: 1)
        try await stage.share("b2", "again", at: 2)
        try await stage.share("b3", "middle", at: 3)
        try await stage.share("b4", "again", at: 4)
        try await stage.share("b5", "new", at: 5)
        #expect(try await stage.ids("timeline", newest: 1) == ["new"])
        #expect(try await stage.ids("timeline", newest: 3) == ["new", "again", "middle"])
        // The fourth broadcast is of a video that is already shown.
        #expect(try await stage.ids("timeline", newest: 4) == ["new", "again", "middle"])
        #expect(try await stage.ids("timeline", newest: 5) == ["new", "again", "middle", "old"])
        #expect(try await stage.ids("timeline", newest: 60) == stage.ids("timeline"))
        #expect(try await stage.page("timeline").videos.last?.broadcasts == 1)
    }

    /// A list with fewer videos than the limit may have more broadcasts.
    @Test func broadcastsAreLimitedEvenIfThereAreFewVideos() async throws {
        try await stage.share("b1", "once", at: 1)
        for number in 2...5 { try await stage.share("b\(number)", "often", at: Int64(number)) }
        #expect(try await stage.ids("timeline", newest: 3) == ["often"])
        #expect(try await stage.ids("timeline", newest: 5) == ["often", "once"])
    }

    @Test func newestLimitEndsFavouritesAndWatchLaterAtTheSameBroadcast() async throws {
        for (number, video) in ["a", "b", "c", "d"].enumerated() {
            try await stage.share(
                "b\(number)", video, at: Int64(number), liked: number != 2,
                watchLater: number != 1)
        }
        #expect(try await stage.ids("favourites", newest: 3) == ["d", "b"])
        #expect(try await stage.ids("watch-later", newest: 3) == ["d", "c"])
        #expect(try await stage.ids("favourites") == ["d", "b", "a"])
        #expect(try await stage.ids("watch-later") == ["d", "c", "a"])
    }

    @Test func capsKeepTheFirstEntriesOfRemoteLists() async throws {
        for (number, video) in ["a", "b", "c"].enumerated() {
            try await stage.list("e\(number)", video, on: "stream", at: Int64(number))
        }
        #expect(try await stage.ids("stream", newest: 2) == ["c", "b"])
    }

    @Test(arguments: [(64, 60), (128, 60), (129, 200), (256, 200), (512, 300), (16_384, 300)])
    func capsOfThe2012AppDependOnMemory(mebibytes: UInt64, broadcasts: Int) {
        #expect(QueryLimits.broadcastsOf2012(memoryBytes: mebibytes << 20) == broadcasts)
    }

    @Test func invalidCapsAreRefused() async throws {
        for newest in [0, -1, QueryLimits.groupCountMax + 1] {
            let error = await #expect(throws: StoreError.self) {
                try await stage.page("timeline", newest: newest)
            }
            #expect(error?.code == .usage)
        }
    }
}
