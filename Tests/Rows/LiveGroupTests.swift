import Tapedeck
import TapedeckModel
import TapedeckProjections
import TapedeckTesting
import Testing

/// A list that is followed is the list that a query gives, whatever happened to it in between.
@Suite struct LiveGroupTests {
    private static let hour: UInt64 = 3_600_000

    /// Something that concerns a group of videos: what is shared, listed, handed in, liked, marked, played
    /// and checked, often long after it happened.
    private static func anything(_ random: inout SeededGenerator) throws -> ProposedEvent {
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
        let video = "youtube:v\(number(7))"
        let at = ManualClock.defaultMilliseconds - UInt64(number(300)) * hour
        func happened(_ event: some Event) throws -> ProposedEvent {
            try ProposedEvent(event, atMilliseconds: at)
        }
        func observed(_ sighting: some Observation) throws -> ProposedEvent {
            try ProposedEvent(sighting: sighting, observedAt: Int64(at))
        }
        switch number(11) {
        case 0, 1:
            return try observed(
                BroadcastReceived.with {
                    ($0.broadcast, $0.video) = ("b\(number(9))", video)
                    $0.title = "t\(number(9))"
                    $0.createdAt = .init(milliseconds: Int64(at))
                    if number(2) == 0 { $0.liked = number(2) == 0 }
                    if number(2) == 0 { $0.watchLater = number(2) == 0 }
                })
        case 2:
            return try happened(LikeToggled.with { ($0.video, $0.isOn) = (video, number(2) == 0) })
        case 3:
            return try happened(
                WatchLaterToggled.with { ($0.video, $0.isOn) = (video, number(3) > 0) })
        case 4:
            return try happened(
                PlaybackProgressed.with {
                    ($0.video, $0.viewing) = (video, "w\(number(9))")
                    ($0.positionSeconds, $0.durationSeconds) = (Double(number(100)), 100)
                })
        case 5:
            return try happened(
                PlayabilityChecked.with {
                    $0.video = video
                    $0.outcome = ["playable", "unplayable", "failed"][number(3)]
                    if $0.outcome != "playable" { $0.reason = "live" }
                })
        case 6:
            return try observed(
                FrameObserved.with {
                    ($0.frame, $0.video) = ("f\(number(5))", video)
                    $0.firstUnplayableAt = .init(milliseconds: Int64(at))
                    $0.lastUnplayableAt = .init(milliseconds: Int64(at))
                })
        case 7:
            return try observed(
                VideoListed.with {
                    ($0.list, $0.entry, $0.video) = ("stream", "e\(number(9))", video)
                    $0.listedAt = .init(milliseconds: Int64(at))
                    $0.removed = number(4) == 0
                })
        case 8:
            return try observed(
                SubmissionObserved.with {
                    ($0.video, $0.views, $0.owner) = (video, UInt64(number(9)), "u\(number(2))")
                    $0.createdAt = .init(milliseconds: Int64(at))
                })
        case 9:
            return try observed(
                AccountObserved.with {
                    ($0.account, $0.system) = ("u\(number(2))", BirdTube.system)
                    $0.nickname = "n\(number(9))"
                })
        default:
            return try happened(
                VideoOpened.with {
                    ($0.video, $0.viewer, $0.viewing) = (video, "me", "o\(number(99))")
                })
        }
    }

    @Test func everyGroupIsWhatAQueryGives() throws {
        var random = SeededGenerator.fromEnvironment()
        let note = "\(random)"
        let place = try TemporaryStore("live")
        let store = try place.open()
        let groups = VideoGroup.named.flatMap { group in [3, 50].map { (group, limit: $0) } }
        var followed = groups.map { group, limit in
            FollowedList<GroupEntry>("\(group), \(limit)", store, .group(group, limit: limit)) {
                let page = try $0.videos(in: group, at: $1, limit: limit)
                return (page.videos, page.next != nil)
            }
        }
        var inProgress = FollowedList<PlaybackEntry>(
            "in progress", store, .inProgress(limit: 4)
        ) { queries, _ in
            let page = try queries.inProgress(limit: 4)
            return (page.videos, page.next != nil)
        }
        var submissions = FollowedList<SubmissionEntry>(
            "submissions", store, .submissions(limit: 4)
        ) { queries, _ in
            let page = try queries.submissions(limit: 4)
            return (page.videos, page.next != nil)
        }
        for round in 0..<120 {
            let count = 1 + Int.random(in: 0..<6, using: &random)
            try store.log.appendBlocking(try (0..<count).map { _ in try Self.anything(&random) })
            // A remote's word that a video cannot be played ceases to hold.
            place.clock.advance(by: .seconds(Int.random(in: 0..<90_000, using: &random)))
            for index in followed.indices {
                try followed[index].check(store, "round \(round), \(note)")
            }
            try inProgress.check(store, "round \(round), \(note)")
            try submissions.check(store, "round \(round), \(note)")
        }
    }

    @Test(.timeLimit(.minutes(10))) func aQueueIsFollowedThroughTheStore() async throws {
        let place = try TemporaryStore("live-queue")
        let store = try place.open()
        var updates = store.live(try .queue(limit: 3)).makeAsyncIterator()
        var queue: [QueuePageEntry] = []
        try #require(try await updates.next()).apply(to: &queue)
        let videos = try ["a", "b", "c", "d"].map { try VideoKey("youtube:\($0)") }
        let edits: [EditQueue.Edit] =
            videos.map { .append($0) } + [
                .remove(videos[1]), .playNext(videos[1], after: nil), .remove(videos[0]),
            ]
        for edit in edits {
            try await store.decide { try EditQueue(edit).decide(VideoQueries($0)) }
            try #require(try await updates.next()).apply(to: &queue)
            let page = try await store.query { try VideoQueries($0).queue(limit: 3) }
            #expect(queue == page.videos)
        }
        #expect(queue.map(\.video) == ["youtube:b", "youtube:c", "youtube:d"])
    }
}
