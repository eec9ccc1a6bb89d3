import Foundation
import Tapedeck
import TapedeckTesting
import TestSupport
import Testing

/// Live lists equal the results of their queries after any events, from any process, and as time
/// passes.
@Suite(.offTasks) struct LiveListsTests {
    /// The start of 2023-11-03, two days before clocks go back in the United States and three days
    /// before the week ends.
    private static let november = UInt64(1_698_969_600_000)

    @Test func everyListQueryCanBeWatched() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../schema/cli.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        func names(of command: String) -> Set<String> {
            Set(
                lines.filter { $0.hasPrefix("## storectl \(command) ") }
                    .compactMap { $0.split(separator: " ").last.map(String.init) })
        }
        let queries = names(of: "query")
        #expect(queries.subtracting(LiveLists.others) == Set(LiveLists.allCases.map(\.rawValue)))
        #expect(names(of: "watch") == Set(LiveLists.allCases.map(\.rawValue)))
        #expect(LiveLists.others.isSubset(of: queries))
    }

    /// Options that choose the entries of a query also exist for its live list.
    @Test(arguments: LiveLists.allCases) func watchHasTheOptionsOfQuery(_ list: LiveLists) throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../schema/cli.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        /// Returns options and repeatable arguments; whether an argument is required is not
        /// compared.
        func words(of command: String) throws -> Set<String> {
            let synopses = lines.filter {
                $0.hasPrefix("storectl \(command) \(list.rawValue) ")
                    || $0 == "storectl \(command) \(list.rawValue)"
            }
            try #require(!synopses.isEmpty)
            let words = synopses.flatMap { $0.split(separator: " ").dropFirst(3) }
            return Set(words.map { $0.filter { !"[]".contains($0) } }).filter {
                $0.hasPrefix("--") || $0.hasSuffix("...")
            }
        }
        let others = (LiveLists.otherOptions[list] ?? []).union(LiveLists.pageOptions)
        let (asked, followed) = (try words(of: "query"), try words(of: "watch"))
        #expect(asked.subtracting(others).subtracting(followed) == [])
        // Every option in `otherOptions` exists in the query and is missing from the live list.
        let named = LiveLists.otherOptions[list] ?? []
        #expect(named.isSubset(of: asked) && named.isDisjoint(with: followed))
    }

    @Test(arguments: [3, 100]) func liveListsEqualQueries(_ limit: Int) throws {
        var activity = try LiveActivity("live", start: LiveListsTests.november)
        let lists = try LiveLists.follow(activity.store, limit: limit)
        let seed = "\(activity.random)"
        for round in 0..<80 {
            for _ in 0..<activity.number(6) { try activity.anything() }
            // Sometimes time passes without new events, and sometimes no time passes.
            let minutes = [0, 0, 1, 7, 60, 300][activity.number(6)]
            activity.place.clock.advance(by: .seconds(minutes * 60))
            for list in lists { try list.check(activity.store, "round \(round), \(seed)") }
        }
    }

    /// Time-dependent lists change without new events.
    @Test func listsChangeAsTimePasses() throws {
        var activity = try LiveActivity("live-time", start: LiveListsTests.november)
        for _ in 0..<600 { try activity.anything() }
        let lists = try LiveLists.follow(activity.store, limit: 20)
        for step in 0..<120 {
            let seconds = activity.number(4) == 0 ? 30_000 : activity.number(3_600)
            activity.place.clock.advance(by: .seconds(seconds))
            for list in lists { try list.check(activity.store, "step \(step), \(activity.random)") }
        }
        // Users also set their clocks back.
        activity.place.clock.advance(by: .seconds(-4 * 86_400))
        for list in lists
        where ["on now", "ending", "this week"].contains(where: list.name.hasPrefix) {
            try list.check(activity.store, "clock set back, \(activity.random)")
        }
    }

    /// Open lists report that the comments and likes of a removed answer leave, and that they return
    /// to the same places.
    @Test func removedAnswerLeavesLiveListsWithItsCommentsAndLikes() throws {
        let place = try TemporaryStore("live-removed")
        let store = try place.open()
        defer { store.close() }
        func see(_ observations: any Observation...) throws {
            place.clock.advance(by: .seconds(1))
            let now = Int64(place.clock.milliseconds)
            try store.log.appendBlocking(
                try observations.map { try ProposedEvent(observation: $0, observedAt: now) })
        }
        func answer(removed: Bool) -> AnswerObserved {
            .with { ($0.answer, $0.question, $0.removed) = ("1", "1", removed) }
        }
        func comment(_ id: Int) -> CommentObserved {
            .with {
                ($0.comment, $0.answer, $0.text) = ("whale:\(id)", "1", "words \(id)")
            }
        }
        func like(_ id: Int) -> LikeObserved {
            .with { ($0.like, $0.answer, $0.user) = ("\(id)", "1", "\(id)") }
        }
        try see(answer(removed: false), comment(1), comment(2), like(1), like(2))
        place.clock.advance(by: .seconds(1))
        try store.log.appendBlocking([
            try ProposedEvent(CommentPosted.with { ($0.answer, $0.text) = ("1", "my words") }),
            try ProposedEvent(LikeToggled.with { ($0.answer, $0.isOn) = ("1", true) }),
        ])
        let comments = LiveLoop(
            store.projections, try LiveList<CommentEntry>.comments(answer: "1"))
        let likers = LiveLoop(
            store.projections, try ArrangedList<LiveRow<LikerEntry>, LikerEntry>.likers(of: "1"))
        let hits = LiveLoop(store.projections, try LiveSearch("words"))
        var shown = (comments: [CommentEntry](), likers: [LikerEntry](), hits: [SearchHit]())
        /// Applies the pending changes of each list, and returns their number.
        func look() throws -> [Int] {
            let (said, liked, found) = (try comments.look(), try likers.look(), try hits.look())
            said?.apply(to: &shown.comments)
            liked?.apply(to: &shown.likers)
            found?.apply(to: &shown.hits)
            return [
                said?.changes.count ?? 0, liked?.changes.count ?? 0, found?.changes.count ?? 0,
            ]
        }
        #expect(try look() == [3, 3, 3])
        let before = shown
        try see(answer(removed: true))
        #expect(try look() == [3, 3, 3])
        #expect(shown.comments.isEmpty && shown.likers.isEmpty && shown.hits.isEmpty)
        try see(comment(3), like(3))
        #expect(try look() == [0, 0, 0])
        #expect(try store.projections.verify().differences.isEmpty)
        try see(answer(removed: false))
        #expect(try look() == [4, 4, 4])
        #expect(shown.comments.filter { $0.id != "whale:3" } == before.comments)
        #expect(shown.likers.filter { $0.like != "3" } == before.likers)
        #expect(shown.hits.filter { $0.id != "whale:3" } == before.hits)
        #expect(try store.projections.verify().differences.isEmpty)
    }

    @Test func eventsOfAnotherProcessReachLiveLists() async throws {
        var activity = try LiveActivity("live-process", start: LiveListsTests.november)
        for _ in 0..<100 { try activity.anything() }
        let lists = try LiveLists.follow(activity.store, limit: 10)
        for list in lists { try list.check(activity.store, "before") }
        for round in 0..<2 {
            let directory = activity.place.directory
            await #expect(processExitsWith: .success) {
                [directory = directory as String, now = activity.place.clock.milliseconds as UInt64]
                in
                try LiveListsTests.record(in: directory, at: now)
            }
            activity.place.clock.advance(by: .seconds(600))
            for list in lists { try list.check(activity.store, "round \(round)") }
        }
    }

    /// Records events in another process.
    private static func record(in directory: String, at now: UInt64) throws {
        var activity = try LiveActivity(opening: directory, at: now)
        for _ in 0..<60 { try activity.anything() }
        activity.store.close()
    }
}
