import Tapedeck
import Testing

/// SR1: The stream, the likes, the personal roll, channel dashboards and rolls are lists of the
/// same kind, which can be read from any position.
struct SR1Tests {
    private let stage: GroupStage

    init() throws { stage = try GroupStage("groups") }

    @Test func listsContainOnlyTheirOwnEntries() async throws {
        try await stage.list("e1", "a", on: "stream", at: 1)
        try await stage.list("e2", "b", on: "dashboard/4e38", at: 2)
        try await stage.list("e3", "c", on: "roll/4e38", at: 3)
        try await stage.list("e4", "d", on: "personal-roll", at: 4)
        try await stage.list("e5", "a", on: "roll/4e38", at: 5)
        try await stage.list("e6", "b", on: "roll/4e3", at: 6)
        #expect(try await stage.ids("stream") == ["a"])
        #expect(try await stage.ids("dashboard/4e38") == ["b"])
        #expect(try await stage.ids("roll/4e38") == ["a", "c"])
        #expect(try await stage.ids("roll/4e3") == ["b"])
        #expect(try await stage.ids("personal-roll") == ["d"])
        #expect(try await stage.ids("roll/none").isEmpty)
        #expect(VideoGroup("roll/") == nil && VideoGroup("channel/1") == nil)
    }

    /// A channel chooser shows the titles and owners of all lists, including lists that the user
    /// does not follow.
    @Test func listsHaveTitlesAndOwners() async throws {
        func lists() async throws -> [ListEntry] {
            try await stage.store.query([VideoProjections.standard.knownLists.name]) {
                try VideoQueries($0).lists().lists
            }
        }
        let zoo = ListObserved.with {
            ($0.list, $0.title, $0.owner, $0.ownerName) = ("roll/1", "Zoo", "u1", "ada")
            ($0.thumbnailURL, $0.followed) = ("https://img.example.org/zoo.jpg", true)
        }
        let art = ListObserved.with { ($0.list, $0.title) = ("roll/2", "art") }
        let unnamed = ListObserved.with { ($0.list, $0.owner) = ("dashboard/u2", "u2") }
        try await stage.store.append([zoo, art, unnamed])
        #expect(try await lists().map(\.list) == ["roll/2", "roll/1", "dashboard/u2"])
        stage.wait(1)
        try await stage.store.append([
            ListObserved.with { ($0.list, $0.followed) = ("roll/1", false) }
        ])
        let entry = try #require(try await lists().first { $0.list == "roll/1" })
        #expect(entry.title == "Zoo" && entry.ownerName == "ada" && entry.isFollowed == false)
        #expect(entry.thumbnailUrl == "https://img.example.org/zoo.jpg")
    }

    @Test func videosAreListedOnceAtTheirNewestEntry() async throws {
        try await stage.list("e1", "a", on: "stream", at: 1)
        try await stage.list("e2", "b", on: "stream", at: 2)
        try await stage.list("e3", "a", on: "stream", at: 3)
        #expect(try await stage.ids("stream") == ["a", "b"])
        // If the newest entry of a video is removed, the video moves back to the position of its
        // earlier entry.
        stage.wait(1)
        try await stage.list("e3", "a", on: "stream", at: 3, removed: true, seenAt: stage.now)
        #expect(try await stage.ids("stream") == ["b", "a"])
        let listed = try await stage.page("stream").videos.last?.listedAt?.description
        #expect(listed == "2012-01-01T00:00:01.000Z")
        try await stage.list("e1", "a", on: "stream", at: 1, removed: true, seenAt: stage.now)
        #expect(try await stage.ids("stream") == ["b"])
    }

    /// A video that is only on a roll has a title, a picture and a duration, and a search finds it as
    /// long as the roll contains it.
    @Test func videosOnRollsHaveTitles() async throws {
        try await stage.list("e1", "a", on: "roll/1", at: 1)
        let described = VideoDescribed.with {
            ($0.video, $0.title) = ("youtube:a", "Zebra crossing")
            ($0.thumbnailURL, $0.durationSeconds) = ("https://img.example.org/a.jpg", 90)
        }
        try await stage.store.append([described])
        let entry = try #require(try await stage.page("roll/1").videos.first)
        #expect(entry.title == "Zebra crossing" && entry.durationSeconds == 90)
        #expect(entry.thumbnailUrl == "https://img.example.org/a.jpg")
        func found() async throws -> [String] {
            try await stage.store.query(VideoProjections.standard.searched(in: .videos).map(\.name))
            {
                try VideoQueries($0).search("zebra", in: .videos).hits.map(\.id)
            }
        }
        #expect(try await found() == [entry.key])
        stage.wait(1)
        try await stage.list("e1", "a", on: "roll/1", at: 1, removed: true, seenAt: stage.now)
        #expect(try await found().isEmpty)
    }

    @Test func pagesGoBothWaysFromAnyIndex() async throws {
        for number in 0..<25 {
            try await stage.share("b\(number)", "v\(number)", at: Int64(number))
        }
        let all = try await stage.ids("timeline")
        try #require(all.first == "v24" && all.count == 25)
        let middle = try await stage.page("timeline", from: 10, limit: 5)
        #expect(middle.ids == Array(all[10..<15]))
        let front = try await stage.page("timeline", limit: 5, cursor: middle.previous)
        #expect(front.ids == Array(all[5..<10]))
        let again = try await stage.page("timeline", limit: 5, cursor: front.next)
        #expect(again.ids == middle.ids)
        let first = try await stage.page("timeline", limit: 7, cursor: front.previous)
        #expect(first.ids == Array(all[0..<5]) && first.previous == nil)
        let behind = try await stage.page("timeline", limit: 50, cursor: middle.next)
        #expect(behind.ids == Array(all[15...]) && behind.next == nil)
        #expect(try await stage.page("timeline").previous == nil)
        let end = try await stage.page("timeline", from: 25, limit: 5)
        #expect(end.ids.isEmpty && end.next == nil)
        let last = try await stage.page("timeline", limit: 5, cursor: end.previous)
        #expect(try await last.ids == stage.page("timeline", from: 20).ids)
        #expect(last.next == nil && last.previous != nil)
    }

    @Test func pagesStayConsistentWhileTheListGrows() async throws {
        for number in 0..<10 {
            try await stage.share("b\(number)", "v\(number)", at: Int64(number))
        }
        let page = try await stage.page("timeline", from: 2, limit: 3)
        #expect(page.ids == ["v7", "v6", "v5"])
        try await stage.share("n1", "new", at: 100)
        try await stage.share("n2", "v0", at: 101)
        let behind = try await stage.page("timeline", limit: 50, cursor: page.next)
        #expect(behind.ids == ["v4", "v3", "v2", "v1"])
        let front = try await stage.page("timeline", limit: 50, cursor: page.previous)
        #expect(front.ids == ["v0", "new", "v9", "v8"])
    }

    @Test func cursorsFromOtherGroupsAreRefused() async throws {
        for number in 0..<3 {
            try await stage.list("e\(number)", "v\(number)", on: "roll/1", at: Int64(number))
            try await stage.list("e\(number)", "v\(number)", on: "roll/12", at: Int64(number))
        }
        let next = try await stage.page("roll/1", limit: 2).next
        let error = await #expect(throws: StoreError.self) {
            try await stage.page("roll/12", cursor: next)
        }
        #expect(error?.code == .usage)
        await #expect(throws: StoreError.self) {
            try await stage.page("roll/1", from: 1, cursor: next)
        }
    }

    @Test func submissionsAreGroupsToo() async throws {
        for (number, views) in [UInt64(5), 50, 20].enumerated() {
            var said = SubmissionObserved()
            (said.video, said.title, said.views) = ("youtube:s\(number)", "handed in", views)
            said.createdAt = .init(seconds: Int64(1_000 + number))
            try await stage.store.append([said])
        }
        #expect(try await stage.ids("popular") == ["s1", "s2", "s0"])
        #expect(try await stage.ids("new") == ["s2", "s1", "s0"])
        #expect(try await stage.page("new").videos.first?.title == "handed in")
    }
}
