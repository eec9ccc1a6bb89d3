import TapedeckModel
import TapedeckProjections
import TapedeckVideo
import Testing

@Suite struct VideoListTests {
    private func list(
        _ script: Script, winner: WinnerRule = .oldest
    ) throws -> [VideoEntry] {
        let projections = VideoProjections(winner: winner)
        try checkOrderDoesNotMatter(projections.videos, script.events)
        return try queries(script.events, projections).videos().videos
    }

    @Test func broadcastsOfAVideoShareOneRow() throws {
        var script = Script()
        try script.broadcast("b1", of: "youtube:one", created: 1, title: "One", sharer: "ann")
        try script.broadcast("b2", of: "youtube:one", created: 2, title: "1", sharer: "bob")
        try script.broadcast("b3", of: "vimeo:1", created: 3, title: "Other", sharer: "cid")
        let videos = try list(script)
        #expect(videos.map(\.key) == ["vimeo:1", "youtube:one"])
        #expect(videos.map(\.broadcasts) == [1, 2])
    }

    @Test func winningBroadcastProvidesTitleAndSharer() throws {
        var script = Script()
        try script.broadcast("b2", created: 2, title: "Two", sharer: "bob")
        try script.broadcast("b1", created: 1, title: "One", sharer: "ann")
        try script.broadcast("b3", created: 3, title: "Three", sharer: "cid")
        let oldest = try #require(try list(script).first)
        #expect(oldest.title == "One" && oldest.sharer == "ann")
        let newest = try #require(try list(script, winner: .newest).first)
        #expect(newest.title == "Three" && newest.sharer == "cid")
    }

    @Test func simultaneousBroadcastsAreOrderedByID() throws {
        var script = Script()
        for id in ["b", "a", "c"] { try script.broadcast(id, created: 1, title: id) }
        #expect(try list(script).first?.title == "a")
        #expect(try list(script, winner: .newest).first?.title == "c")
    }

    @Test func resharingMovesARowToTheTop() throws {
        var script = Script()
        try script.broadcast("b1", of: "youtube:one", created: 1, title: "One")
        try script.broadcast("b2", of: "youtube:two", created: 2, title: "Two")
        #expect(try list(script).map(\.title) == ["Two", "One"])
        try script.broadcast("b3", of: "youtube:one", created: 3, title: "Again")
        #expect(try list(script).map(\.title) == ["One", "Two"])
        #expect(try list(script).first?.newestAt?.milliseconds == Script.time(3))
    }

    /// A remote may store the sharer's text as a message in a conversation.
    @Test func sharersTextIsCountedOnce() throws {
        var script = Script()
        // An earlier version recorded this broadcast with a copy of the text, but without the
        // message's id.
        try script.broadcast("b1", created: 1, updated: 1, title: "One", comment: "look")
        try script.seenComment(1, "look", video: "youtube:one", author: "ann", created: 1)
        #expect(try list(script).first?.commentCount == 2)
        try script.broadcast("b1", updated: 2, message: "whale:1")
        let video = try #require(try list(script).first)
        #expect(video.commentCount == 1 && video.comments.map(\.id) == ["whale:1"])
        try script.broadcast("b1", updated: 3, removed: true)
        try script.broadcast("b2", created: 2, title: "Two")
        #expect(try list(script).first?.comments.map(\.text) == ["look", "Two"])
    }

    /// Hidden broadcasts do not shorten pages of comments.
    @Test func pagesOfCommentsAreFull() throws {
        var script = Script()
        for number in 1...9 {
            try script.broadcast(
                "b\(number)", created: Double(number), title: "T\(number)",
                message: number > 6 ? nil : "whale:\(number)")
        }
        try script.seenComment(1, "look", video: "youtube:one", created: 20)
        let queries = try queries(script.events)
        let first = try queries.comments(video: "youtube:one", limit: 2)
        #expect(first.comments.map(\.id) == ["b7", "b8"])
        let second = try queries.comments(video: "youtube:one", limit: 2, cursor: first.next)
        #expect(second.comments.map(\.id) == ["b9", "whale:1"] && second.next == nil)
    }

    @Test func descriptionsProvidePicturesDurationsAndMissingTitles() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, sharer: "ann", image: "ann")
        try script.description(title: "Old", thumbnail: "old", duration: 61.5, at: 1)
        try script.description(title: "New", thumbnail: "new", at: 2)
        let video = try #require(try list(script).first)
        #expect(video.title == "New" && video.durationSeconds == 61.5)
        #expect(video.thumbnailUrl == "https://img.example.org/new.jpg")
        #expect(video.sharerImageUrl == "https://img.example.org/ann.jpg")
        try script.broadcast("b1", updated: 2, title: "Shared")
        #expect(try list(script).first?.title == "Shared")
    }

    /// A pulled event may contain a payload that this program would not record.
    @Test func durationsOutOfRangeAreIgnored() throws {
        for seconds in [Double.nan, .infinity, -1, 1e300] {
            var described = VideoDescribed()
            (described.video, described.title, described.durationSeconds) = (
                "youtube:one", "One", seconds
            )
            var proposal = try ProposedEvent(
                observation: VideoDescribed.with {
                    ($0.video, $0.title) = ("youtube:one", "One")
                }, observedAt: nil)
            proposal.payload = try described.serializedBytes()
            var script = Script()
            try script.broadcast("b1", created: 1)
            script.add(proposal)
            let video = try #require(try queries(script.events).videos().videos.first)
            #expect(video.title == "One" && video.durationSeconds == nil)
        }
    }

    @Test func videoIsWatchedIfTheUserOrABroadcastReportsIt() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 1, watched: false)
        #expect(try list(script).map(\.watched) == [false])
        try script.broadcast("b1", updated: 2, watched: true)
        #expect(try list(script).map(\.watched) == [true])
        try script.broadcast("b2", created: 2)
        try script.broadcast("b1", updated: 3, removed: true)
        #expect(try list(script).map(\.watched) == [false])
        var watched = VideoWatched()
        watched.video = "youtube:one"
        try script.add(watched, at: 4)
        #expect(try list(script).map(\.watched) == [true])
    }

    @Test func removedBroadcastLeavesTheListAndReturns() throws {
        var script = Script()
        try script.broadcast(
            "b1", created: 1, updated: 1, title: "One", comment: "said", liked: true)
        try script.broadcast("b2", created: 2, title: "Two", sharer: "bob")
        #expect(try list(script).map(\.broadcasts) == [2])
        try script.broadcast("b1", updated: 2, removed: true)
        let left = try #require(try list(script).first)
        #expect(left.broadcasts == 1 && left.title == "Two")
        #expect(left.comments.map(\.text) == ["Two"])
        #expect(
            try queries(script.events).videos(
                in: .favourites, at: UTCTime(milliseconds: Script.time(100))
            ).videos.isEmpty)
        // An observation that is older than the removal has no effect.
        try script.broadcast("b1", created: 1, updated: 1, title: "Uno", liked: true)
        #expect(try list(script) == [left])
        try script.broadcast("b2", updated: 3, removed: true)
        #expect(try list(script).isEmpty)
        try script.broadcast("b1", updated: 4)
        let returned = try #require(try list(script).first)
        #expect(returned.broadcasts == 1)
        #expect(returned.newestAt?.milliseconds == Script.time(1))
        #expect(
            try queries(script.events).videos(
                in: .favourites, at: UTCTime(milliseconds: Script.time(100))
            ).videos.count == 1)
    }

    @Test func removedCommentLeavesTheListAndReturns() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, title: "One")
        try script.comment("mine", at: 5)
        let posted = try #require(script.events.last).id
        try script.seenComment(1, "mine", video: "youtube:one", postedAs: posted, at: 6)
        try script.seenComment(2, "hers", video: "youtube:one", at: 6)
        func texts() throws -> [String] {
            try #require(try list(script).first).comments.compactMap(\.text).filter { $0 != "One" }
        }
        #expect(Set(try texts()) == ["mine", "hers"])
        try script.seenComment(1, "", video: "youtube:one", removed: true, at: 7)
        try script.seenComment(2, "", video: "youtube:one", removed: true, at: 7)
        #expect(try texts().isEmpty, "a comment posted here is gone too")
        try script.seenComment(2, "hers", video: "youtube:one", at: 8)
        #expect(try texts() == ["hers"])
    }

    @Test func newerObservationReplacesOnlyTheFieldsItContains() throws {
        var script = Script()
        try script.broadcast(
            "b1", created: 1, updated: 1, title: "Old", sharer: "ann", comment: "said")
        try script.broadcast("b1", updated: 2, title: "New")
        let video = try #require(try list(script).first)
        #expect(video.broadcasts == 1)
        #expect(video.title == "New" && video.sharer == "ann")
        #expect(video.newestAt?.milliseconds == Script.time(1))
        #expect(video.comments.map(\.text) == ["said"])
    }

    @Test func lateOlderObservationOnlyFillsUnsetFields() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 9, title: "New")
        try script.broadcast("b1", created: 1, updated: 2, title: "Old", sharer: "ann")
        let video = try #require(try list(script).first)
        #expect(video.title == "New")
        #expect(video.sharer == "ann")
    }

    @Test func twoOlderObservationsOfAFieldCauseARefold() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 9)
        try script.broadcast("b1", created: 1, updated: 3, title: "Third")
        try script.broadcast("b1", created: 1, updated: 5, title: "Fifth")
        let folded = try FoldedProjection(VideoList(), script.events)
        #expect(folded.refolds == 1)
        #expect(try list(script).first?.title == "Fifth")
    }

    @Test func changedCreationTimeMovesTheBroadcast() throws {
        var script = Script()
        try script.broadcast("b1", created: 5, updated: 5, title: "One")
        try script.broadcast("b2", created: 6, updated: 6, title: "Two")
        try script.broadcast("b1", created: 7, updated: 7, title: "One")
        let video = try #require(try list(script).first)
        #expect(video.title == "Two")
        #expect(video.comments.map(\.id) == ["b2", "b1"])
        #expect(video.newestAt?.milliseconds == Script.time(7))
        #expect(try list(script, winner: .newest).first?.title == "One")
    }

    @Test func broadcastWithoutATimeComesFirst() throws {
        var script = Script()
        try script.broadcast("b1", title: "One")
        let alone = try #require(try list(script).first)
        #expect(alone.newestAt == nil)
        #expect(alone.comments.first?.at == nil)
        try script.broadcast("b2", created: 6, title: "Two")
        let video = try #require(try list(script).first)
        #expect(video.comments.map(\.id) == ["b1", "b2"])
        #expect(video.newestAt?.milliseconds == Script.time(6))
    }

    @Test func likedBroadcastsAreCounted() throws {
        func liked(_ script: Script) throws -> [UInt64] {
            let state = try FoldedReader(script.events).state(
                of: VideoList(), key: Tag(unchecked: "video/youtube:one"))
            return [try #require(state).likedForTests]
        }
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 1, liked: true)
        try script.broadcast("b2", created: 2, updated: 1, liked: false)
        #expect(try liked(script) == [1])
        try script.broadcast("b1", updated: 2, liked: false)
        #expect(try liked(script) == [0])
    }

    @Test func commentsAreListedOldestFirst() throws {
        var script = Script()
        try script.broadcast("b2", created: 20, title: "T2", sharer: "bob", comment: "nice")
        try script.broadcast("b1", created: 10, title: "T1", sharer: "ann", comment: "")
        try script.comment("posted", author: "me", at: 15)
        try script.comment("first", at: 5)
        let video = try #require(try list(script).first)
        #expect(video.comments.map(\.text) == ["first", "T1", "posted", "nice"])
        #expect(video.comments.map(\.author) == [nil, "ann", "me", "bob"])
        #expect(
            video.comments.map { $0.at?.milliseconds }
                == [5, 10, 15, 20].map { Script.time($0) })
        #expect(video.commentCount == 4)
        #expect(video.comments[2].id == script.events[2].id.description)
    }

    @Test func unsharedVideosAreNotListed() throws {
        var script = Script()
        try script.comment("alone", at: 1)
        try script.toggle(true, at: 2)
        #expect(try list(script).isEmpty)
        let comments = try queries(script.events).comments(video: "youtube:one").comments
        #expect(comments.map(\.text) == ["alone"])
    }

    @Test func listShowsWatchLaterMarks() throws {
        var script = Script()
        try script.broadcast("b1", of: "youtube:one", created: 1)
        try script.broadcast("b2", of: "youtube:two", created: 2)
        try script.toggle(true, "youtube:one", at: 3)
        #expect(try list(script).map(\.watchLater) == [false, true])
    }

    @Test func listContainsOnlyTheFirstComments() throws {
        var script = Script()
        for second in 0..<QueryLimits.commentsPerVideoMax + 5 {
            try script.comment("c\(second)", at: Double(second))
        }
        try script.broadcast("b1", created: 1_000)
        let video = try #require(try queries(script.events).videos().videos.first)
        #expect(video.comments.count == QueryLimits.commentsPerVideoMax)
        #expect(video.commentCount == QueryLimits.commentsPerVideoMax + 6)
    }
}

extension VideoList.State {
    /// The number of liked broadcasts, read from the state's bytes.
    fileprivate var likedForTests: UInt64 {
        var writer = StateWriter()
        encode(into: &writer)
        return writer.bytes.withUnsafeBytes { buffer in
            var reader = StateReader(buffer)
            for _ in 0..<4 { _ = try? reader.uint64() }
            return (try? reader.uint64()) ?? .max
        }
    }
}
