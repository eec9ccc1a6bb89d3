import Tapedeck
import TapedeckModel
import TapedeckTesting

/// A store for scenarios about groups of videos.
struct GroupStage {
    let place: TemporaryStore
    let store: TapedeckStore

    init(_ name: String) throws {
        place = try TemporaryStore(name)
        store = try place.open()
    }

    var now: UTCTime { UTCTime(milliseconds: Int64(place.clock.milliseconds)) }

    func wait(_ seconds: Int) { place.clock.advance(by: .seconds(seconds)) }

    /// Records a broadcast of a video, the given number of seconds after the start of 2012.
    func share(
        _ broadcast: String, _ video: String, at seconds: Int64, liked: Bool? = nil,
        watchLater: Bool? = nil, seenAt: UTCTime? = nil
    ) async throws {
        var said = BroadcastReceived()
        (said.broadcast, said.video) = (broadcast, "youtube:\(video)")
        said.title = "title of \(broadcast)"
        said.createdAt = .init(seconds: 1_325_376_000 + seconds)
        if let liked { said.liked = liked }
        if let watchLater { said.watchLater = watchLater }
        try await store.log.append([
            try ProposedEvent(observation: said, observedAt: seenAt?.milliseconds)
        ])
    }

    func list(
        _ entry: String, _ video: String, on list: String, at seconds: Int64,
        removed: Bool? = nil, seenAt: UTCTime? = nil
    ) async throws {
        var said = VideoListed()
        (said.list, said.entry, said.video) = (list, entry, "youtube:\(video)")
        said.listedAt = .init(seconds: 1_325_376_000 + seconds)
        if let removed { said.removed = removed }
        try await store.log.append([
            try ProposedEvent(observation: said, observedAt: seenAt?.milliseconds)
        ])
    }

    @discardableResult
    func like(_ video: String, _ isOn: Bool = true) async throws -> EventID {
        var said = LikeToggled()
        (said.video, said.isOn) = ("youtube:\(video)", isOn)
        return try await store.append([said]).firstID
    }

    /// Records that the remote no longer has a broadcast.
    func remove(_ broadcast: String, _ video: String) async throws {
        var said = BroadcastReceived()
        (said.broadcast, said.video, said.removed) = (broadcast, "youtube:\(video)", true)
        try await store.log.append([
            try ProposedEvent(observation: said, observedAt: now.milliseconds)
        ])
    }

    func page(
        _ group: String, from index: Int = 0, newest: Int? = nil, playable: Bool = false,
        limit: Int = 50, cursor: String? = nil
    ) async throws -> GroupPage {
        guard let group = VideoGroup(group) else { throw UnknownGroup(name: group) }
        let now = now
        return try await store.query {
            try VideoQueries($0).videos(
                in: group, at: now, from: index, newest: newest, playableOnly: playable,
                limit: limit, cursor: cursor)
        }
    }

    /// Returns the ids of a group's videos, in the group's order.
    func ids(
        _ group: String, from index: Int = 0, newest: Int? = nil, playable: Bool = false
    ) async throws -> [String] {
        try await page(group, from: index, newest: newest, playable: playable).ids
    }

    struct UnknownGroup: Error { var name: String }
}

extension GroupPage {
    /// The ids of the videos.
    var ids: [String] { videos.map { String($0.key.dropFirst("youtube:".count)) } }
}
