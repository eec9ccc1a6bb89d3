import Foundation
import TapedeckTesting
import TestSupport
import Testing

/// A demo store contains data for every feature.
@Suite(.offTasks) struct DemoStoreTests {
    /// The arguments of each query; queries that are not listed take no arguments.
    static let arguments: [String: [String]] = [
        "query comments": ["youtube:eRsGyueVLvQ"],
        "query show": ["1001"],
        "query schedule": ["--week", "2012-05-03"],
        "query on-now": ["--now", "2012-05-04T00:30:00Z"],
        "query ending-soon": ["--now", "2012-05-04T00:50:00Z"],
        "query schedule-changes": ["--after", "\(Storectl.demoEvents - 7)"],
        "query news": ["--since", "0"],
        "query chat": ["youtube:aqz-KE-bpKQ"],
        "query extractions": ["vimeo:1084537"],
        "query extraction-plan": [
            "vimeo:1084537", "youtube:aqz-KE-bpKQ", "--running", "youtube:eRsGyueVLvQ",
            "--since", "2012-05-03T20:10:00Z", "--now", "2012-05-03T20:10:01Z",
        ],
        "query playback": ["youtube:aqz-KE-bpKQ"],
        "query downloads": ["--budget", "10"],
        "query list": ["timeline"],
        "query statistics": ["--from", "2012-05-01", "--through", "2012-05-06"],
        "query questions": ["--mine"],
        "query likers": ["demo-answer-2"],
        "query user": ["demo-ada"],
        "query follows": ["demo-ada", "--direction", "following"],
        "query search": ["bunny"],
        "query video": ["youtube:aqz-KE-bpKQ"],
        "query share-text": ["youtube:aqz-KE-bpKQ", "--to", "twitter"],
    ]

    /// Lists that may be empty: the demo store reschedules an episode but changes no show.
    static let mayBeEmpty = ["query schedule-changes": ["$.shows"]]

    @Test func everyQueryPrintsSomething() throws {
        let storectl = try Storectl.demo()
        let queries = try Contract.read().commands.filter { $0.name.hasPrefix("query ") }
        #expect(queries.count > 30)
        for query in queries {
            let words = query.name.split(separator: " ").map(String.init)
            let asked = words + (Self.arguments[query.name] ?? [])
            let run = try storectl.run(asked + ["--json"])
            #expect(run.exit == 0, "\(query.name): \(run.stderr)")
            let shape = try #require(query.shape)
            let empty = shape.emptyLists(in: try run.document)
                .filter { !(Self.mayBeEmpty[query.name] ?? []).contains($0) }
            #expect(empty == [], "\(query.name)")
            #expect(try !storectl.run(asked).stdout.isEmpty, "\(query.name)")
        }
    }

    @Test(arguments: [
        "timeline", "favourites", "watch-later", "likes", "stream", "personal-roll", "popular",
        "new", "dashboard/films", "roll/dragons",
    ])
    func everyGroupHasAVideo(_ group: String) throws {
        let page = try Storectl.demo().succeed("query", "list", group, "--json").document
        #expect(page["videos"]?.list?.isEmpty == false)
    }

    @Test func demoStoreContainsEveryGeneratedType() throws {
        let log = try Storectl.demo().succeed("log", "--json").stdout
        let types = try log.split(separator: "\n").map {
            try OrderedJSON(parsing: String($0))["type"]?.text ?? ""
        }
        #expect(types.count == Storectl.demoEvents)
        var activity = MixedActivityGenerator(seed: 1, videos: 300)
        let others = try (0..<12_000).map { _ in try activity.next().proposal.type.name }
        #expect(Set(types) == Set(others))
    }
}
