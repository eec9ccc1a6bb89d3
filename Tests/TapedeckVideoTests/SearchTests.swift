import TapedeckModel
import TapedeckProjections
import TestSupport
import Testing

@testable import TapedeckVideo

/// Search results and their order.
@Suite(.offTasks) struct SearchTests {
    private func found(
        _ text: String, _ script: Script, in scope: SearchScope? = nil
    ) throws -> [String] {
        try queries(script.events).search(text, in: scope).hits.map { "\($0.kind) \($0.id)" }
    }

    @Test func hitsAreRankedByFieldThenWholeWordThenTime() throws {
        var script = Script()
        func share(_ id: String, _ title: String, _ sharer: String, at second: Double) throws {
            try script.broadcast(
                id, of: "youtube:\(id)", created: second, title: title, sharer: sharer)
        }
        try share("old", "The cat sleeps", "ann", at: 1)
        try share("new", "A CAT, awake", "bob", at: 2)
        try share("more", "Catalogue of dogs", "bob", at: 9)
        try share("by", "Nothing else", "Cat Stevens", at: 8)
        try script.broadcast(
            "said", of: "youtube:said", created: 7, title: "Dogs", comment: "no cat here")
        #expect(
            try found("cat", script) == [
                "video youtube:new", "video youtube:old", "video youtube:more", "video youtube:by",
                "comment said",
            ])
        #expect(try found("catal", script) == ["video youtube:more"])
        #expect(try found("cats", script).isEmpty)
    }

    @Test func everyWordMustMatchButOnlyTheLastMayMatchAsAPrefix() throws {
        var script = Script()
        try script.broadcast(
            "a", of: "youtube:a", created: 1, title: "Star Trek", sharer: "Zoë")
        try script.broadcast(
            "b", of: "youtube:b", created: 2, title: "Starting to trek", sharer: "zoe")
        #expect(try found("star tre", script) == ["video youtube:a"])
        #expect(try found("trek ZOE", script) == ["video youtube:b", "video youtube:a"])
        #expect(try found("trek star", script) == ["video youtube:a", "video youtube:b"])
        #expect(try found("trek dog", script).isEmpty)
    }

    @Test func laterSharersAreFoundByTheirComments() throws {
        var script = Script()
        try script.broadcast("1", of: "youtube:v", created: 1, title: "Sintel", sharer: "ann")
        try script.broadcast(
            "2", of: "youtube:v", created: 2, title: "Sintel", sharer: "bob", comment: "dragons!")
        try script.comment("seen it", on: "youtube:v", author: "bobby", at: 90)
        let commented = try #require(script.events.last?.id.description)
        // The first broadcast represents the video, so its sharer's name finds the video.
        #expect(try found("ann", script) == ["video youtube:v"])
        #expect(try found("bob", script) == ["comment 2", "comment \(commented)"])
        #expect(try found("bob drag", script) == ["comment 2"])
        let hit = try #require(try queries(script.events).search("dragons").hits.first)
        #expect(hit.about == "video/youtube:v" && hit.at?.milliseconds == Script.time(2))
        #expect(hit.texts.map(\.field) == [.comment, .author])
        #expect(hit.texts.map(\.matches) == [[SearchMatch(start: 0, end: 7)], []])
    }

    @Test func videosAreFoundByTheTitlesOfAllTheirBroadcasts() throws {
        var script = Script()
        func texts(_ words: String) throws -> [[String]] {
            try queries(script.events).search(words).hits.map { hit in
                ["\(hit.kind) \(hit.id)"]
                    + hit.texts.map { text in
                        let matches = text.matches.map { "\($0.start)-\($0.end)" }
                        return "\(text.field) \(text.text) " + matches.joined(separator: ",")
                    }
            }
        }
        try script.broadcast("1", of: "youtube:v", created: 1, updated: 1, title: "First")
        try script.broadcast("2", of: "youtube:v", created: 2, updated: 2, title: "The Second")
        try script.broadcast("3", of: "youtube:v", created: 3, updated: 3, title: "The Second")
        let second = ["video youtube:v", "title First ", "otherTitle The Second 4-10"]
        #expect(try texts("second") == [second])
        #expect(try texts("first") == [["video youtube:v", "title First 0-5"]])
        // One title contains a whole word, and the other title contains the beginning of a longer
        // word.
        try script.broadcast("4", of: "youtube:v", created: 4, updated: 4, title: "Firs")
        #expect(
            try texts("firs") == [["video youtube:v", "title First 0-4", "otherTitle Firs 0-4"]])
        // A title can be found while any broadcast has it, even if another broadcast represents the
        // video.
        try script.broadcast("2", of: "youtube:v", created: 2, updated: 5, title: "Fresh")
        #expect(try texts("second") == [second])
        try script.broadcast("3", of: "youtube:v", created: 0, updated: 6, title: "Third")
        #expect(try texts("second").isEmpty)
        #expect(
            try texts("first") == [["video youtube:v", "title Third ", "otherTitle First 0-5"]])
        #expect(try texts("third") == [["video youtube:v", "title Third 0-5"]])
    }

    @Test func indexStateEqualsTheListForAVideoSharedOnce() throws {
        var script = Script()
        try script.broadcast("1", of: "youtube:v", created: 1, title: "First", sharer: "ann")
        let (list, index) = (
            VideoProjections.standard.videos, VideoProjections.standard.searchVideos
        )
        func bytes() throws -> [[UInt8]?] {
            try ([list, index] as [any Projection]).map { projection in
                try folded(projection, script.events).stateBytes(VideoKey("youtube:v").tag)
            }
        }
        #expect(try bytes()[0] == bytes()[1])
        try script.broadcast("2", of: "youtube:v", created: 2, title: "Second")
        #expect(try bytes()[0] != bytes()[1])
    }

    @Test func searchFindsShowsUsersQuestionsAndAnswerComments() throws {
        var script = Script()
        try script.add(
            "ShowObserved",
            #"{"show":7,"updated":1,"name":"Seven Worlds","network":{"id":1,"name":"BBC One"}}"#)
        try script.observe(
            UserObserved.with {
                ($0.user, $0.username, $0.firstName) = ("5", "ada", "Seven")
                $0.lastName = "Lovelace"
            })
        try script.seenQuestion("11", "Why seven?")
        try script.add("QuestionAsked", #"{"receiver":"5","text":"Seven what?"}"#, at: 4)
        let asked = try #require(script.events.last?.id.description)
        try script.seenComment(3, "because of seven", on: "12")
        #expect(
            try found("seven", script) == [
                "question \(asked)", "question 11", "show 7", "user 5", "comment whale:3",
            ])
        #expect(try found("seven", script, in: .shows) == ["show 7"])
        #expect(try found("seven", script, in: .users) == ["user 5"])
        #expect(try found("seven", script, in: .videos).isEmpty)
        #expect(
            try found("seven", script, in: .questions) == [
                "question \(asked)", "question 11", "comment whale:3",
            ])
        #expect(try found("bbc", script) == ["show 7"])
        #expect(try found("seven love", script) == ["user 5"])
    }

    @Test func submittedVideosAreFoundByTheFieldsThatListsShow() throws {
        var script = Script()
        try script.add(
            "SubmissionObserved",
            """
            {"video":"youtube:a","title":"Findme","owner":"zed@x.org",
             "createdAt":"2015-01-01T00:00:00Z"}
            """)
        try script.add("VideoSubmitted", #"{"video":"youtube:b","title":"findme, too"}"#, at: 4)
        try script.broadcast("1", of: "youtube:a", created: 9, title: "Zed")
        #expect(
            try found("findme", script) == ["submission youtube:b", "submission youtube:a"])
        #expect(try found("findme zed", script, in: .videos) == ["submission youtube:a"])
        #expect(try found("zed", script) == ["video youtube:a", "submission youtube:a"])
        #expect(try found("findme", script, in: .shows).isEmpty)
        let hit = try #require(try queries(script.events).search("zed find").hits.first)
        #expect(hit.texts.map(\.field) == [.title, .owner])
        #expect(
            hit.texts.map(\.matches) == [
                [SearchMatch(start: 0, end: 4)], [SearchMatch(start: 0, end: 3)],
            ])
        #expect(hit.at?.description == "2015-01-01T00:00:00.000Z" && hit.about == nil)
        // Once a remote reports the video, the reported title is used.
        try script.add("SubmissionObserved", #"{"video":"youtube:b","title":"Elsewhere"}"#)
        #expect(try found("findme", script) == ["submission youtube:a"])
        #expect(try found("elsew", script) == ["submission youtube:b"])
    }

    @Test func textWithoutSpacesIsFoundByAnyPart() throws {
        var script = Script()
        try script.broadcast("1", of: "youtube:1", created: 1, title: "東京タワーと富士山")
        try script.broadcast("2", of: "youtube:2", created: 2, title: "京都と東の山")
        for (text, videos) in [
            ("東京", ["1"]), ("タワー", ["1"]), ("山", ["2", "1"]), ("京", ["2", "1"]),
            ("東の山", ["2"]), ("富士 東京", ["1"]), ("東山", []), ("ﾀﾜｰ", ["1"]),
        ] {
            #expect(try found(text, script) == videos.map { "video youtube:\($0)" }, "\(text)")
        }
    }

    @Test func invalidSearchesAreRefused() throws {
        let queries = try queries([])
        func code(_ text: String, limit: Int = 5, cursor: String? = nil) -> ErrorCode? {
            #expect(throws: ModelError.self) {
                try queries.search(text, limit: limit, cursor: cursor)
            }?.code
        }
        #expect(code(" ?! ") == .usage)
        #expect(code(String(repeating: "a", count: 1_025)) == .tooLarge)
        #expect(code((0..<17).map { "w\($0)" }.joined(separator: " ")) == .tooLarge)
        #expect(code("a", limit: 0) == .usage)
        #expect(code("a", cursor: PageCursor.text(.videos, [1, 2, 3])) == .usage)
    }

    @Test func cursorsAreOnlyValidForTheirOwnSearch() throws {
        var script = Script()
        for number in 1...3 {
            try script.broadcast(
                "\(number)", of: "youtube:\(number)", created: Double(number), title: "alpha beta")
        }
        let queries = try queries(script.events)
        let next = try #require(try queries.search("alph", in: .videos, limit: 1).next)
        #expect(try queries.search("ALPH!", in: .videos, limit: 5, cursor: next).hits.count == 2)
        func check(_ text: String, _ scope: SearchScope?) {
            let error = #expect(throws: ModelError.self) {
                try queries.search(text, in: scope, limit: 1, cursor: next)
            }
            #expect(error?.code == .usage, "\(text)")
        }
        check("beta", .videos)
        check("alpha", .videos)
        check("alph", nil)
        check("alph", .questions)
    }

    // MARK: - Comparison with a scan

    private static let texts = [
        "the", "then", "theatre", "THÉ", "cat", "cats", "catalogue", "a", "of", "off", "東京", "東",
        "タワー", "Война", "воин", "ไทย", "straße", "strasse", "한국", "한국어", "x", "1080p", "🎬",
    ]

    /// Returns events about searchable objects of all kinds, some of which change.
    private static func script(_ generator: inout SeededGenerator) throws -> Script {
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
        func text() -> String {
            (0..<number(5) + 1).map { _ in texts[number(texts.count)] }
                .joined(separator: ["-", " ", ", "][number(3)])
        }
        func maybe(_ text: String) -> String? { number(3) == 0 ? nil : text }
        var script = Script()
        for _ in 0..<60 {
            let origin = UInt64(number(3) + 1)
            switch number(9) {
            case 8:
                if number(3) == 0 {
                    try script.add(
                        "VideoSubmitted",
                        #"{"video":"youtube:v\#(number(4))","title":"\#(text())"}"#,
                        at: Double(number(9)), origin: origin)
                } else {
                    var observation = SubmissionObserved()
                    observation.video = "youtube:v\(number(4))"
                    if let title = maybe(text()) { observation.title = title }
                    if let owner = maybe(text()) { observation.owner = owner }
                    if number(2) == 0 {
                        observation.createdAt = .init(milliseconds: Script.time(Double(number(9))))
                    }
                    try script.observe(observation, at: Double(number(99)), origin: origin)
                }
            case 0, 1, 2:
                try script.broadcast(
                    "b\(number(12))", of: "youtube:v\(number(8))",
                    created: number(4) == 0 ? nil : Double(number(9)),
                    updated: Double(number(99)), title: maybe(text()), sharer: maybe(text()),
                    comment: maybe(text()), origin: origin)
            case 3:
                try script.comment(
                    text(), on: "youtube:v\(number(8))", author: maybe(text()),
                    at: Double(number(9)), origin: origin)
            case 4:
                try script.seenComment(
                    number(5) + 1, text(), on: "a\(number(3))",
                    video: number(2) == 0 ? "youtube:v\(number(8))" : nil, author: maybe(text()),
                    created: number(2) == 0 ? Double(number(9)) : nil, at: Double(number(99)),
                    origin: origin)
            case 5:
                let show = ShowObserved.with {
                    ($0.show, $0.updated) = (Int64(number(4) + 1), Int64(number(9)))
                    $0.name = text()
                    if number(2) == 0 { $0.network = .with { ($0.id, $0.name) = (1, text()) } }
                    if number(2) == 0 { $0.premiered = "201\(number(9))-01-01" }
                }
                try script.observe(show, origin: origin)
            case 6:
                let user = UserObserved.with {
                    ($0.user, $0.username, $0.firstName) = ("\(number(4))", text(), text())
                }
                try script.observe(user, at: Double(number(99)), origin: origin)
            default:
                if number(2) == 0 {
                    try script.seenQuestion(
                        "\(number(5))", text(), at: Double(number(99)), origin: origin)
                } else {
                    try script.add(
                        "QuestionAsked", #"{"receiver":"\#(number(3))","text":"\#(text())"}"#,
                        at: Double(number(9)), origin: origin)
                }
            }
        }
        return script
    }

    /// Returns the best rank at which all words occur, found by checking every field.
    private func scannedRank(of thing: SearchThing, _ text: String) -> SearchRank? {
        func words(_ text: String) -> [(letters: String, isUnspaced: Bool)] {
            let text = SearchText(text)
            return text.words.map { word in
                (String(decoding: text.bytes[word.range], as: UTF8.self), word.isUnspaced)
            }
        }
        let wanted = words(text)
        for weight in Set(SearchField.allCases.map(\.weight)).sorted() {
            let held = thing.texts.filter { $0.isSearched && $0.field.weight <= weight }
                .flatMap { words($0.text) }
            for isLonger in [false, true] {
                let isThere = wanted.enumerated().allSatisfy { index, word in
                    let isLast = index == wanted.count - 1
                    return held.contains {
                        guard $0.isUnspaced == word.isUnspaced else { return false }
                        if word.isUnspaced {
                            return $0.letters.unicodeScalars.contains(word.letters.unicodeScalars)
                        }
                        return Array($0.letters.utf8) == Array(word.letters.utf8)
                            || isLonger && isLast && $0.letters.utf8.starts(with: word.letters.utf8)
                    }
                }
                if isThere {
                    return weight < thing.weightMin
                        ? nil : SearchRank(weight: weight, isLonger: isLonger)
                }
            }
        }
        return nil
    }

    /// Returns everything that the search should find, sorted by rank; scans every state and item
    /// instead of using the index.
    private func scanned(
        _ text: String, _ reader: FoldedReader, _ keys: Set<Tag>
    ) throws -> [String] {
        let projections = VideoProjections.standard
        var all: [(rank: SearchRank, place: [UInt8], source: Int, thing: SearchThing)] = []
        func look<Base>(
            _ index: SearchIndex<Base>, _ sources: [SearchHit.Kind: Int],
            owner: (Tag) throws -> [UInt8]? = { _ in nil }
        ) throws {
            for key in keys where key.kind == index.tagKind {
                guard let state = try reader.state(of: index, key: key) else { continue }
                var things = index.things(state, key)
                for item in try reader.items(
                    of: index, key: key, prefix: RowKey(), after: nil, limit: .max)
                {
                    guard var thing = try index.thingOfItem?(item, key) else { continue }
                    if let broadcast = thing.broadcast, try owner(key) == broadcast {
                        thing.weightMin = SearchField.comment.weight
                    }
                    things.append(thing)
                }
                for thing in things {
                    guard let rank = scannedRank(of: thing, text), let source = sources[thing.kind]
                    else {
                        continue
                    }
                    all.append((rank, thing.place.bytes, source, thing))
                }
            }
        }
        try look(projections.searchVideos, [.video: 0, .comment: 1]) {
            try reader.state(of: projections.searchVideos, key: $0)?.video.winner?.id
        }
        try look(projections.searchSubmissions, [.submission: 7])
        try look(projections.searchShows, [.show: 2])
        try look(projections.searchUsers, [.user: 3, .question: 4])
        try look(projections.searchQuestions, [.question: 5])
        try look(projections.searchAnswers, [.comment: 6])
        all.sort { left, right in
            if left.rank != right.rank { return left.rank < right.rank }
            if left.place != right.place {
                return left.place.lexicographicallyPrecedes(right.place)
            }
            return left.source < right.source
        }
        return all.map { "\($0.thing.kind) \($0.thing.id) \($0.thing.about?.text ?? "")" }
    }

    @Test(arguments: 0..<Soak.count(3, soak: 12))
    func indexKnowsExactlyTheTitlesOfTheBroadcasts(_ round: Int) throws {
        var generator = SeededGenerator(seed: runSeed &+ UInt64(round))
        let script = try Self.script(&generator)
        let index = VideoProjections.standard.searchVideos
        let reader = try FoldedReader(script.events.shuffled(using: &generator), [index])
        for key in Set(script.events.flatMap(\.proposal.tags)) {
            guard let state = try reader.state(of: index, key: key) else { continue }
            let broadcasts = try reader.items(
                of: index, key: key, prefix: RowKey(BroadcastItems.byTime), after: nil, limit: .max)
            var titles: [[UInt8]: UInt64] = [:]
            for item in broadcasts
            where BroadcastItems.place(name: item.key) != state.video.winner {
                let title = try BroadcastRecord(decoding: item.value).title
                if let title { titles[title, default: 0] += 1 }
            }
            let known = state.otherTitles.map { ($0.text, $0.count) }
            #expect(
                Dictionary(known, uniquingKeysWith: +) == titles && known.count == titles.count,
                "\(key): TAPEDECK_SEED=\(runSeed) \(round)")
        }
    }

    @Test(arguments: 0..<Soak.count(2, soak: 12))
    func indexFindsTheSameAsAScan(_ round: Int) throws {
        var generator = SeededGenerator(seed: runSeed &+ UInt64(round))
        let script = try Self.script(&generator)
        let events = script.events.shuffled(using: &generator)
        let keys = Set(events.flatMap(\.proposal.tags))
        let reader = try FoldedReader(events, VideoProjections.standard.searched())
        let queries = VideoQueries(reader)
        for _ in 0..<Soak.count(20, soak: 40) {
            let words = (0..<Int.random(in: 1...2, using: &generator)).map { _ in
                let word = Self.texts.randomElement(using: &generator) ?? ""
                return String(word.prefix(Int.random(in: 1...6, using: &generator)))
            }
            let text = words.joined(separator: " ")
            guard !SearchText(text).words.isEmpty else { continue }
            let expected = try scanned(text, reader, keys)
            let limit = Int.random(in: 1...7, using: &generator)
            var (found, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try queries.search(text, limit: limit, cursor: cursor)
                #expect(page.hits.count == limit || page.next == nil)
                found += page.hits.map { "\($0.kind) \($0.id) \($0.about ?? "")" }
                cursor = page.next
            } while cursor != nil
            #expect(
                found == expected, "\(text), pages of \(limit): TAPEDECK_SEED=\(runSeed) \(round)")
        }
    }
}
