import Tapedeck
import TapedeckTesting
import TapedeckVideo
import Testing

/// SH5: The notice "2 new videos & 1 new comment" is computed from exact row changes.
struct SH5Tests {
    private let place: TemporaryStore
    private let store: TapedeckStore

    init() throws {
        place = try TemporaryStore("news")
        store = try place.open()
    }

    private func share(
        _ id: String, _ video: String, at seconds: Int64, title: String? = nil
    ) async throws {
        var payload = BroadcastReceived()
        payload.broadcast = id
        payload.video = "youtube:\(video)"
        payload.createdAt = .init(seconds: seconds)
        if let title { payload.title = title }
        try await store.append([payload])
    }

    private func news(
        since mark: LogPosition, rule: NewsRule = .everyShare, newest: Int? = nil,
        without hidden: String? = nil
    ) async throws -> News {
        let log = store.log
        return try await store.query { views in
            try VideoQueries(views).news(since: mark, in: log, rule: rule, newest: newest) {
                $0.id != hidden
            }
        }
    }

    @Test func noticeCountsVideosAndComments() async throws {
        try await share("b1", "known", at: 10)
        let mark = store.log.head
        #expect(try await news(since: mark).text == nil)
        try await share("b2", "fresh", at: 20)
        try await share("b3", "other", at: 21)
        try await share("b4", "known", at: 22)
        let found = try await news(since: mark)
        #expect(found.text == "2 new videos & 1 new comment")
        #expect(found.head == store.log.head.rawValue)
        #expect(try await news(since: store.log.head).text == nil)
    }

    @Test func onlyThe2012RuleIgnoresFurtherSharesOfNewVideos() async throws {
        try await share("b1", "fresh", at: 10)
        try await share("b2", "fresh", at: 11)
        try await share("b3", "fresh", at: 12)
        #expect(try await news(since: .start).text == "1 new video & 2 new comments")
        #expect(try await news(since: .start, rule: .of2012).text == "1 new video")
    }

    @Test func knownBroadcastsAreNotNews() async throws {
        try await share("b1", "known", at: 10)
        let mark = store.log.head
        try await share("b1", "known", at: 10, title: "renamed")
        #expect(try await news(since: mark).text == nil)
        // If a broadcast is observed a second time after the mark, it is not counted again.
        try await share("b2", "known", at: 11)
        try await share("b2", "known", at: 11, title: "renamed")
        #expect(try await news(since: mark).text == "1 new comment")
    }

    /// In Shelby's 2012–2014 API, the sharer's text is a message in a conversation.
    @Test func sharersTextIsNotSeparateNews() async throws {
        let shared = BroadcastReceived.with {
            ($0.broadcast, $0.video, $0.message) = ("b1", "youtube:fresh", "shelby:1")
        }
        func comment(_ id: Int) -> CommentObserved {
            .with {
                ($0.comment, $0.video, $0.text) = ("shelby:\(id)", "youtube:fresh", "text \(id)")
            }
        }
        try await store.append([shared])
        try await store.append([comment(1)])
        #expect(try await news(since: .start).text == "1 new video")
        try await store.append([comment(2)])
        #expect(try await news(since: .start).text == "1 new video & 1 new comment")
        // If a share is not among the newest, its text is not counted as a new comment.
        let mark = store.log.head
        try await store.append([
            BroadcastReceived.with {
                ($0.broadcast, $0.video, $0.message) = ("b0", "youtube:fresh", "shelby:3")
            }
        ])
        try await store.append([comment(3)])
        try await share("b9", "known", at: 90)
        #expect(try await news(since: mark, newest: 1).text == "1 new video")
    }

    @Test func hiddenVideosAreNotNews() async throws {
        try await share("b1", "fresh", at: 10)
        try await share("b2", "unplayable", at: 11)
        let found = try await news(since: .start, without: "unplayable")
        #expect(found.text == "1 new video")
    }

    @Test func onlyTheNewestBroadcastsCountAsNews() async throws {
        for number in 0..<5 { try await share("k\(number)", "known", at: Int64(100 + number)) }
        let mark = store.log.head
        // Three broadcasts are older than all known broadcasts, and one is newer.
        for number in 0..<3 { try await share("o\(number)", "old\(number)", at: Int64(number)) }
        try await share("n", "new", at: 200)
        #expect(try await news(since: mark, newest: 6).text == "1 new video")
        #expect(try await news(since: mark, newest: 7).text == "2 new videos")
        #expect(try await news(since: mark, newest: 100).text == "4 new videos")
        #expect(try await news(since: mark, newest: 1).text == "1 new video")
    }

    @Test func commentsByOthersAreCountedOnceAndOwnCommentsAreNot() async throws {
        try await share("b1", "known", at: 10)
        let mark = store.log.head
        var comment = CommentObserved()
        comment.comment = "shelby:1"
        comment.video = "youtube:known"
        comment.text = "nice"
        try await store.append([comment])
        comment.text = "nicer"
        try await store.append([comment])
        var own = CommentPosted()
        own.video = "youtube:known"
        own.text = "mine"
        let posted = try await store.append([own])
        comment.comment = "shelby:2"
        comment.text = "mine"
        comment.postedAs = posted.firstID.description
        try await store.append([comment])
        #expect(try await news(since: mark).text == "1 new comment")
        #expect(try await news(since: mark, rule: .of2012).text == nil)
    }

    @Test func invalidLimitsAreRefused() async throws {
        for newest in [0, -1, QueryLimits.newsCountMax + 1] {
            let error = await #expect(throws: StoreError.self) {
                try await news(since: .start, newest: newest)
            }
            #expect(error?.code == .usage)
        }
    }
}
