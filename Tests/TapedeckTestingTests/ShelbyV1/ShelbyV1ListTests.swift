import Foundation
import TapedeckTesting
import Testing

/// The lists of Shelby's API v1, and their contents.
struct ShelbyV1ListTests {
    @Test func listsShowTwentyRowsNewestFirst() throws {
        var app = Caller.shelbyV1()
        let ids = try app.dashboard().texts("id")
        #expect(ids.count == 20 && ids == ids.sorted(by: >))
        #expect(try app.dashboard("limit=50").count == 50)
    }

    @Test func listsHaveAtMost500Rows() throws {
        var app = Caller.shelbyV1()
        let user = try app.ada.id
        for _ in 0..<600 {
            let id = app.simulator.world.makeID(at: Moments.start)
            app.simulator.world.entries[id] = ShelbyV1World.Entry(id: id, user: user, frame: nil)
        }
        #expect(try app.dashboard("limit=1000").count == 500)
    }

    @Test func sinceIDPageRepeatsItsBoundaryRow() throws {
        var app = Caller.shelbyV1()
        let first = try app.dashboard("limit=10").texts("id")
        let second = try app.dashboard("limit=10&since_id=\(first[9])").texts("id")
        #expect(second.first == first.last)
        #expect(second.dropFirst().allSatisfy { $0 < first[9] })
    }

    @Test func skipShiftsWhenARowIsAdded() throws {
        var app = Caller.shelbyV1()
        let first = try app.dashboard("limit=10").texts("id")
        let id = app.simulator.world.makeID(at: app.now)
        app.simulator.world.entries[id] = ShelbyV1World.Entry(
            id: id, user: try app.ada.id, frame: nil)
        #expect(try app.dashboard("limit=10&skip=10").texts("id").first == first.last)
    }

    @Test func onlyTheFastPathReportsItsDuration() throws {
        var app = Caller.shelbyV1()
        let roll = try app.ada.publicRoll
        for path in ["dashboard", "roll/\(roll)/frames"] {
            #expect(try app.call("GET", app.path(path)).object["cApiTimeMs"] is Int)
        }
        let id = try app.wholeFrame().id
        #expect(try app.call("GET", app.path("frame/\(id)")).object["cApiTimeMs"] == nil)
    }

    @Test(arguments: ["/v1/dashboard", "/v1/dashboard?auth_token=made-up"])
    func dashboardWithoutTokenReturns404ThatSays401(_ target: String) throws {
        var app = Caller.shelbyV1()
        let answer = try app.call("GET", target)
        #expect(answer.status == 404)
        #expect(try answer.object["status"] as? Int == 401)
        #expect(app.simulator.violations.isEmpty)
    }

    @Test func framesAreNestedInTheirRoll() throws {
        var app = Caller.shelbyV1()
        let frame = try app.wholeFrame()
        let roll = try #require(frame.roll)
        let object = try #require(
            try app.result("GET", "roll/\(roll)/frames") as? [String: Any])
        #expect(object["id"] as? String == roll)
        let frames = try #require(object["frames"] as? [[String: Any]])
        #expect(frames.texts("id").contains(frame.id))
    }

    @Test func joinedObjectsMayBeNull() throws {
        var app = Caller.shelbyV1()
        let entries = try app.dashboard("limit=100")
        #expect(entries.contains { $0["frame"] is NSNull })
        let frames = entries.compactMap { $0["frame"] as? [String: Any] }
        for name in ["creator", "roll", "video", "conversation"] {
            #expect(frames.contains { $0[name] is NSNull }, "\(name)")
            #expect(frames.contains { $0[name] is [String: Any] }, "\(name)")
        }
        #expect(entries.contains { $0["actor"] is [String: Any] })
        #expect(entries.contains { $0["src_frame"] is [String: Any] })
    }

    static let ages: [(seconds: Int64, text: String)] = [
        (0, "just now"), (59, "just now"), (60, "1m ago"), (300, "5m ago"), (3_599, "59m ago"),
        (10_800, "3h ago"), (43_200, "12h ago"), (43_201, "Jun 1"), (777_600, "May 23"),
    ]

    @Test(arguments: ages)
    func datesAreFormattedForDisplay(_ ageSeconds: Int64, _ text: String) throws {
        var world = ShelbyV1World()
        // The call is made one second after the start: 2012-06-01T12:00:01.
        let id = world.makeID(at: Moments.start + 1_000 - ageSeconds * 1_000)
        world.frames[id] = ShelbyV1World.Frame(
            id: id, creator: nil, roll: nil, video: nil, conversation: nil)
        var app = Caller(ShelbyV1Simulator(world: world))
        let answer = try app.call("GET", "/v1/frame/\(id)").object
        #expect((answer["result"] as? [String: Any])?["created_at"] as? String == text)
    }
}
