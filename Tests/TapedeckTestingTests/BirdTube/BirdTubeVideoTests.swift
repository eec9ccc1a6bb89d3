import TapedeckTesting
import Testing

/// Videos at BirdTube: shifting lists, submissions and views.
struct BirdTubeVideoTests {
    @Test func listsArePagedByOffsetAndEndWithAnEmptyPage() throws {
        var guest = Caller.birdTube()
        var pages: [[[String: Any]]] = []
        repeat {
            pages.append(try guest.list(pages.joined().count, order: 2))
        } while pages.last?.isEmpty == false
        #expect(pages.map(\.count) == [20, 20, 20, 4, 0])
        let rows = Array(pages.joined())
        #expect(Set(rows.texts("video_id")).count == 64)
        let times = rows.numbers("created_time")
        // The times are in seconds, and some videos have the same time.
        #expect(times == times.sorted(by: >) && Set(times).count < times.count)
        #expect(times.allSatisfy { $0 < Int(Moments.start / 1_000) })
        #expect(rows.numbers("owner").count == 64 && rows.texts("channel_url").count == 64)
        #expect(guest.simulator.violations.isEmpty)
    }

    @Test func viewsReorderThePopularList() throws {
        var guest = Caller.birdTube()
        let views = try guest.list(0, 100, order: 1).numbers("viewer")
        #expect(views == views.sorted(by: >))
        let first = try guest.list(0, order: 1)
        let last = try #require(try guest.list(60, order: 1).texts("video_id").last)
        for _ in 0...views[0] {
            let answer = try guest.answer("/video/view", ["video_id": last]).response
            #expect(answer?.text == "{}")
        }
        #expect(try guest.list(0, order: 1).texts("video_id").first == last)
        // The last row of the first page is now the first row of the second page.
        let second = try guest.list(20, order: 1)
        #expect(second.texts("video_id").first == first.texts("video_id").last)
        #expect(guest.simulator.effects.allSatisfy { $0.kind == .view && $0.entity == last })
    }

    @Test func viewOfAMissingVideoReturnsAnEmptyResponse() throws {
        var guest = Caller.birdTube()
        #expect(try guest.post("/video/view", ["video_id": "nothing"]).isEmpty)
        #expect(guest.simulator.effects.isEmpty)
    }

    @Test func videoCanBeRegisteredOnlyOnce() throws {
        var ada = Caller.birdTube()
        let session = try ada.session()
        #expect(try ada.register("aaaaaaaaaaa", session: session).isSuccess)
        #expect(
            try ada.register("aaaaaaaaaaa", session: session).message
                == "The video is already registered.")
        let effect = try #require(ada.simulator.effects.first)
        #expect(ada.simulator.effects.count == 1 && effect.kind == .submission)
        #expect(effect.entity == "aaaaaaaaaaa" && effect.text == "t")
        let row = try #require(try ada.list(0, order: 2).first)
        #expect(row["video_id"] as? String == "aaaaaaaaaaa" && row["viewer"] as? Int == 0)
    }

    @Test func unknownSessionsAndInvalidIDsGetTheSameRefusal() throws {
        var ada = Caller.birdTube()
        let refused = "The video can't be registered."
        #expect(try ada.register("aaaaaaaaaaa", session: "no").message == refused)
        let session = try ada.session()
        #expect(try ada.register("short", session: session).message == refused)
        ada.simulator.expireTokens()
        ada.now += 900 * Moments.day
        #expect(try ada.register("aaaaaaaaaaa", session: session).isSuccess)
    }

    @Test(
        arguments: [
            ("/video/list", ["offset": 0, "limit": 1]),
            ("/video/list", ["offset": "0", "limit": 1, "order_by": 1]),
            ("/video/view", ["video_id": 7]), ("/video/view", ["video_id": "a", "session": "s"]),
            ("/video/register", ["video_id": "a"]), ("/nothing", [:]),
            (
                "/channel/messages",
                ["channel_url": "c", "timestamp": 1, "limit": 1, "direction": ""]
            ),
        ] as [(String, [String: any Sendable])])
    func unknownRequestsAreViolations(_ path: String, _ members: [String: any Sendable]) throws {
        var guest = Caller.birdTube()
        #expect(try guest.answer(path, members).response?.status == 400)
        #expect(guest.simulator.violations.map(\.path) == [path])
    }
}
