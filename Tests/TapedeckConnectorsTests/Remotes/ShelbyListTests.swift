import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// The lists of Shelby's v1 API that the user chooses to read.
@Suite(.offTasks) struct ShelbyListTests {
    private let rig = ShelbyV1Rig()
    private let phone: RemoteDevice

    init() throws { phone = try rig.device() }

    private func remotes(_ device: RemoteDevice? = nil) -> StoreRemotes {
        let store = (device ?? phone).store
        return StoreRemotes(store.log, store.projections)
    }

    private func sync(_ device: RemoteDevice? = nil) throws -> RemoteReport? {
        rig.world.clock.advance(by: .seconds(60))
        return try (device ?? phone).sync()
    }

    /// Adds a user whom the account's user does not follow, with frames on that user's roll, and
    /// adds a dashboard entry for the first frame.
    private func addStranger(frames count: Int) throws -> (user: ShelbyV1World.User, roll: String) {
        let now = Int64(rig.world.clock.milliseconds)
        let id = "4f0000000000000000000001"
        let user = ShelbyV1World.User(
            id: id, nickname: "eve", email: "eve@example.org", password: "",
            publicRoll: "4f0000000000000000000002")
        try rig.change { world in
            world.users[id] = user
            world.rolls[user.publicRoll] = ShelbyV1World.Roll(
                id: user.publicRoll, title: "Dragons", creator: id)
            for number in 0..<count {
                let time = now - Int64(count - number) * 60_000
                let video = ShelbyV1World.Video(
                    id: world.makeID(at: time), providerID: "stranger-\(number)",
                    title: "Title \(number)")
                world.videos[video.id] = video
                let frame = ShelbyV1World.Frame(
                    id: world.makeID(at: time), creator: id, roll: user.publicRoll,
                    video: video.id, conversation: nil)
                world.frames[frame.id] = frame
            }
            let first = world.frames.values.filter { $0.creator == id }.map(\.id).min()
            let entry = ShelbyV1World.Entry(id: world.makeID(at: now), user: id, frame: first)
            world.entries[entry.id] = entry
        }
        return (user, user.publicRoll)
    }

    private func titles(_ group: String, _ device: RemoteDevice? = nil) throws -> [String] {
        let group = try #require(VideoGroup(group))
        return try (device ?? phone).query {
            try $0.videos(in: group, at: UTCTime(milliseconds: 0), limit: QueryLimits.pageCountMax)
                .videos.map { $0.title ?? "" }
        }
    }

    private func lists(_ device: RemoteDevice? = nil) throws -> [String: ListEntry] {
        let page = try (device ?? phone).query { try $0.lists() }
        return Dictionary(uniqueKeysWithValues: page.lists.map { ($0.list, $0) })
    }

    // MARK: - Reading

    @Test func videosOfAChosenRollAreOnThatRollOnly() throws {
        let (user, roll) = try addStranger(frames: 120)
        _ = try sync()
        let timeline = try titles("timeline")
        try remotes().changeLists(of: "home", adding: ["roll/\(roll)"])
        let report = try sync()
        #expect(report?.failure == nil && report?.missing == [])
        #expect(try titles("roll/\(roll)") == (0..<120).reversed().map { "Title \($0)" })
        #expect(try titles("timeline") == timeline && titles("stream").count > 0)
        #expect(try titles("personal-roll").allSatisfy { !$0.hasPrefix("Title") })
        let list = try #require(try lists()["roll/\(roll)"])
        #expect(list.title == "Dragons" && list.owner == user.id && list.isFollowed == nil)
    }

    @Test func dashboardOfAnotherUserIsRead() throws {
        let (user, roll) = try addStranger(frames: 3)
        try remotes().changeLists(of: "home", adding: ["dashboard/\(user.id)"])
        _ = try sync()
        #expect(try titles("dashboard/\(user.id)") == ["Title 0"])
        #expect(try titles("roll/\(roll)") == ["Title 0"])
        #expect(try !titles("timeline").contains("Title 0"))
        #expect(try !titles("stream").contains("Title 0"))
        #expect(try lists()["dashboard/\(user.id)"]?.owner == user.id)
    }

    @Test func followedRollsAreListedUntilTheyAreUnfollowed() throws {
        try remotes().changeLists(of: "home", adding: ["following"])
        _ = try sync()
        let account = try rig.account()
        let followed = try rig.shelby().world.rolls.values.filter {
            $0.followers.contains(account.id)
        }
        #expect(followed.count == 4)
        #expect(try lists().count == 4 && lists().values.allSatisfy { $0.isFollowed == true })
        for roll in followed {
            let list = try #require(try lists()["roll/\(roll.id)"])
            #expect(list.title == roll.title && list.owner == roll.creator)
            #expect(try list.ownerName == rig.shelby().world.users[roll.creator]?.nickname)
        }
        try rig.change { $0.rolls[followed[0].id]?.followers = [] }
        _ = try sync()
        #expect(try lists()["roll/\(followed[0].id)"]?.isFollowed == false)
        #expect(try lists().values.filter { $0.isFollowed == true }.count == 3)
        try rig.change { $0.rolls[followed[0].id]?.followers = [account.id] }
        _ = try sync()
        #expect(try lists()["roll/\(followed[0].id)"]?.isFollowed == true)
    }

    /// An unreadable row might describe any of the followed rolls.
    @Test func unreadableRowsEndNoFollow() throws {
        try remotes().changeLists(of: "home", adding: ["following"])
        _ = try sync()
        rig.world.portal = { request in
            request.path.hasSuffix("/rolls/following")
                ? RemoteResponse(
                    status: 200, headers: [],
                    body: Array(#"{"status":200,"result":[{"id":null,"title":"?"}]}"#.utf8)) : nil
        }
        for _ in 1...3 { #expect(try sync()?.unreadable.count == 1) }
        #expect(try lists().values.filter { $0.isFollowed == true }.count == 4)
    }

    @Test func framesThatLeaveARollLeaveTheList() throws {
        let (user, roll) = try addStranger(frames: 3)
        try remotes().changeLists(of: "home", adding: ["roll/\(roll)"])
        _ = try sync()
        let frames = try rig.shelby().world.frames.values.filter { $0.creator == user.id }
            .sorted { $0.id < $1.id }
        try rig.change { $0.remove(frames[1].id) }
        _ = try sync()
        #expect(try titles("roll/\(roll)") == ["Title 2", "Title 0"])
    }

    /// A deleted or private list is reported, and everything else is read.
    @Test func missingListsDoNotFailTheOthers() throws {
        let (_, roll) = try addStranger(frames: 2)
        let unknown = "roll/4fffffffffffffffffffffff"
        try remotes().changeLists(of: "home", adding: [unknown, "roll/\(roll)"])
        let report = try #require(try sync())
        #expect(report.failure == nil && report.unreadable == [])
        #expect(report.missing.count == 1 && report.missing[0].hasPrefix(unknown))
        #expect(try titles("roll/\(roll)").count == 2)
        try rig.change { $0.rolls[roll]?.isPublic = false }
        #expect(try sync()?.missing.count == 2)
        #expect(try titles("roll/\(roll)").count == 2, "an unreadable list removes nothing")
    }

    @Test func aListThatDisappearsBetweenPagesLosesNothing() throws {
        let (_, roll) = try addStranger(frames: 120)
        try remotes().changeLists(of: "home", adding: ["roll/\(roll)"])
        var session = try #require(try phone.session(isLive: false))
        var step = try session.begin()
        while case .send(let request) = step {
            let isLater = request.query.contains { $0.name == "since_id" }
            let isHidden = request.path == "/roll/\(roll)/frames" && isLater
            try rig.change { $0.rolls[roll]?.isPublic = !isHidden }
            step = try session.answered(try rig.world.send(request))
        }
        #expect(session.report.missing.count == 1)
        try rig.change { $0.rolls[roll]?.isPublic = true }
        _ = try sync()
        #expect(try titles("roll/\(roll)").count == 120)
    }

    @Test func aListThatFailsDoesNotFailTheSync() throws {
        let (_, roll) = try addStranger(frames: 1)
        try remotes().changeLists(of: "home", adding: ["roll/\(roll)", "following"])
        var session = try #require(try phone.session(isLive: true))
        var step = try session.begin()
        while case .send(let request) = step {
            var response = try rig.world.send(request)
            if request.path == "/roll/\(roll)/frames" {
                response = RemoteResponse(
                    status: 500, headers: response.headers,
                    body: Array(#"{"status":500,"message":"oops"}"#.utf8))
            }
            step = try session.answered(response)
        }
        guard case .idle = step else {
            Issue.record("the session is not idle: \(step)")
            return
        }
        #expect(session.report.missing.count == 1)
        #expect(try lists().count == 4)
    }

    /// A followed roll is described in two places, with different fields.
    @Test func aSecondSyncRecordsNothingNew() throws {
        try remotes().changeLists(of: "home", adding: ["following"])
        _ = try sync()
        try remotes().changeLists(of: "home", adding: Array(lists().keys))
        _ = try sync()
        let events = try phone.store.log.currentHead()
        _ = try sync()
        #expect(try phone.store.log.currentHead() == events)
    }

    // MARK: - Choosing

    @Test func listsBeyondTheLimitCanBeRemovedOneByOne() throws {
        let tablet = try rig.device(seed: 2)
        try exchange(phone, tablet)
        let names = (0..<60).map { "roll/4f00000000000000000000\(10 + $0)" }
        try remotes().changeLists(of: "home", adding: Array(names[..<30]))
        try remotes(tablet).changeLists(of: "home", adding: Array(names[30...]))
        try exchange(phone, tablet)
        #expect(try remotes().changeLists(of: "home", removing: [names[0]]).parts.count == 59)
        #expect(try sync()?.missing.count == 50)
    }

    @Test func addingTheRemoteOnAnotherDeviceKeepsItsLists() throws {
        try remotes().changeLists(of: "home", adding: ["following"])
        rig.world.clock.advance(by: .seconds(60))
        let tablet = try rig.device(seed: 2)
        try exchange(phone, tablet)
        for device in [phone, tablet] {
            #expect(try remotes(device).named("home").parts == ["following"])
        }
    }

    @Test func choicesOfTwoDevicesAreMerged() throws {
        let tablet = try rig.device(seed: 2)
        let (user, roll) = try addStranger(frames: 1)
        try exchange(phone, tablet)
        try remotes().changeLists(of: "home", adding: ["roll/\(roll)"])
        try remotes(tablet).changeLists(of: "home", adding: ["following", "dashboard/\(user.id)"])
        try exchange(phone, tablet)
        for device in [phone, tablet] {
            let parts = try remotes(device).named("home").parts
            #expect(Set(parts) == ["following", "roll/\(roll)", "dashboard/\(user.id)"])
        }
        try remotes().changeLists(of: "home", removing: ["following"])
        try exchange(phone, tablet)
        #expect(try remotes(tablet).named("home").parts.count == 2)
        _ = try sync(tablet)
        #expect(try titles("roll/\(roll)", tablet) == ["Title 0"])
    }

    @Test func aLiveSessionReadsANewListAtOnce() throws {
        let (_, roll) = try addStranger(frames: 1)
        var session = try #require(try phone.session(isLive: true))
        var step = try session.begin()
        var paths: [String] = []
        func drive() throws {
            while case .send(let request) = step {
                paths.append(request.path)
                step = try session.answered(try rig.world.send(request))
            }
        }
        try drive()
        guard case .idle = step else {
            Issue.record("the session is not idle: \(step)")
            return
        }
        paths = []
        try remotes().changeLists(of: "home", adding: ["roll/\(roll)"])
        step = try session.woken()
        try drive()
        #expect(paths.contains("/roll/\(roll)/frames"))
        #expect(try titles("roll/\(roll)") == ["Title 0"])
        try remotes().changeLists(of: "home", removing: ["roll/\(roll)"])
        paths = []
        step = try session.woken()
        try drive()
        #expect(!paths.isEmpty && !paths.contains("/roll/\(roll)/frames"))
    }

    @Test func addingTheRemoteAgainKeepsItsListsAndTheLogin() throws {
        try remotes().changeLists(of: "home", adding: ["following"])
        let events = try phone.store.log.currentHead()
        let remote = try remotes().add("home", system: "shelby", url: phone.remote.url)
        #expect(remote.parts == ["following"])
        #expect(try phone.store.log.currentHead() == events)
        #expect(try remotes().status(remote).remote.parts == ["following"])
        // A list that is chosen already is not recorded again.
        try remotes().changeLists(of: "home", adding: ["following"])
        #expect(try phone.store.log.currentHead() == events)
    }

    @Test func wrongListsAreRefused() throws {
        for list in ["", "roll", "roll/", "roll/xyz", "stream", "roll/../../token", "dashboard"] {
            let error = try #require(throws: SyncError.self) {
                try remotes().changeLists(of: "home", adding: [list])
            }
            #expect(error.code == .usage && error.hint?.contains("roll/ID") == true, "\(list)")
        }
        let many = (0...50).map { "roll/4f00000000000000000000\(10 + $0)" }
        #expect(throws: SyncError.self) { try remotes().changeLists(of: "home", adding: many) }
        #expect(try remotes().named("home").parts == [])
        let error = try #require(throws: SyncError.self) {
            try remotes().changeLists(of: "home", removing: ["following"])
        }
        #expect(error.code == .notFound)
        // If one of the changes is refused, none is recorded.
        let events = try phone.store.log.currentHead()
        #expect(throws: SyncError.self) {
            try remotes().changeLists(
                of: "home", adding: ["following"], removing: ["roll/4f0000000000000000000001"])
        }
        #expect(try phone.store.log.currentHead() == events)
        let world = RemoteWorld { ShelbySimulator(seed: 7, at: $0) }
        let other = try RemoteDevice(world, "shelby", root: "/v2")
        #expect(throws: SyncError.self) {
            try remotes(other).changeLists(of: "home", adding: ["following"])
        }
    }
}
