import TapedeckModel
import TapedeckVideo
import Testing

@Suite struct PagingTests {
    private func script(_ count: Int) throws -> Script {
        var script = Script()
        for index in 0..<count {
            let video = "youtube:v\(index % 7)x\(index / 7)"
            try script.broadcast("a\(index)", of: video, created: Double(index / 3))
            try script.broadcast("b\(index)", of: video, created: Double(index / 2))
            try script.toggle(true, video, at: Double(index / 3))
            try script.comment("c\(index)", at: Double(index / 5), origin: UInt64(index % 3 + 1))
        }
        return script
    }

    /// Returns all entries of a list, read page by page.
    private func walk<Entry>(
        _ limit: Int, _ page: (Int, String?) throws -> (entries: [Entry], next: String?)
    ) throws -> [Entry] {
        var entries: [Entry] = []
        var cursor: String?
        repeat {
            let found = try page(limit, cursor)
            #expect(found.entries.count <= limit && !found.entries.isEmpty)
            entries += found.entries
            cursor = found.next
        } while cursor != nil
        return entries
    }

    @Test(arguments: [1, 2, 7, 40, 41, 500])
    func pagesHaveNoGapsOrRepeats(_ limit: Int) throws {
        let queries = try queries(script(40).events)
        #expect(
            try walk(limit) { (limit, cursor) in
                let page = try queries.videos(limit: limit, cursor: cursor)
                return (page.videos, page.next)
            } == queries.videos(limit: 500).videos)
        #expect(
            try walk(limit) { (limit, cursor) in
                let page = try queries.duplicates(limit: limit, cursor: cursor)
                return (page.videos, page.next)
            } == queries.duplicates(limit: 500).videos)
        #expect(
            try walk(limit) { (limit, cursor) in
                let page = try queries.watchLater(limit: limit, cursor: cursor)
                return (page.videos, page.next)
            } == queries.watchLater(limit: 500).videos)
        #expect(
            try walk(limit) { (limit, cursor) in
                let page = try queries.comments(video: "youtube:one", limit: limit, cursor: cursor)
                return (page.comments, page.next)
            } == queries.comments(video: "youtube:one", limit: 500).comments)
    }

    @Test func postedAndBroadcastCommentsShareOnePagedList() throws {
        var script = Script()
        for second in 0..<30 {
            if second % 2 == 0 {
                try script.broadcast(
                    "b\(second)", created: Double(second / 4), comment: "\(second)")
            } else {
                try script.comment("\(second)", at: Double(second / 4))
            }
        }
        let queries = try queries(script.events)
        let all = try walk(4) { (limit, cursor) in
            let page = try queries.comments(video: "youtube:one", limit: limit, cursor: cursor)
            return (page.comments, page.next)
        }
        #expect(Set(all.map(\.id)).count == 30)
        #expect(all.map { $0.at ?? UTCTime(milliseconds: 0) }.isSorted)
    }

    @Test func foreignAndInvalidCursorsAreRefused() throws {
        let queries = try queries(script(5).events)
        let next = try #require(try queries.videos(limit: 1).next)
        var cursors = ["", "x", "====", String(repeating: "A", count: 2_000), "é", next + "A"]
        cursors.append(String(next.dropLast()))
        cursors.append(try #require(try queries.watchLater(limit: 1).next))
        for cursor in cursors {
            let error = #expect(throws: ModelError.self, "\(cursor)") {
                try queries.videos(limit: 1, cursor: cursor)
            }
            #expect(error?.code == .usage)
        }
    }

    @Test(arguments: [0, -1, 501, .max])
    func limitsOutOfRangeAreRefused(_ limit: Int) throws {
        let queries = try queries([])
        let error = #expect(throws: ModelError.self) { try queries.videos(limit: limit) }
        #expect(error?.code == .usage)
        #expect(throws: ModelError.self) {
            try queries.comments(video: "youtube:one", limit: limit)
        }
    }
}

extension Array where Element: Comparable {
    fileprivate var isSorted: Bool { zip(self, dropFirst()).allSatisfy { $0 <= $1 } }
}
