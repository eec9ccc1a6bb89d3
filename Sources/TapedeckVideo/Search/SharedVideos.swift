public import TapedeckModel
public import TapedeckProjections

/// The videos that were shared or that are on a remote's list, with the titles of all their
/// broadcasts.
///
/// The state contains the items of both `VideoList` and `VideoLists`. The item names begin with
/// different letters, so they do not collide. Lists show the title of the winning broadcast, but a
/// search finds a video by the title of any broadcast. A video that was shared only once needs no
/// more space than in `VideoList`. For a video that was shared more than once, the state contains
/// each distinct title, so folding costs more.
public struct SharedVideos: Projection {
    let list: VideoList
    private let entries = VideoLists()

    init(_ list: VideoList) { self.list = list }

    /// `videos`.
    public var name: String { list.name }
    /// The version of the list of shared videos.
    public var version: Int { list.version }
    /// The winner rule.
    public var parameters: String { list.parameters }
    /// `video`.
    public var tagKind: String { list.tagKind }
    /// The event types of the list of shared videos, followed by those of the remotes' lists.
    public var eventTypes: [EventType] { list.eventTypes + entries.eventTypes }
    /// The law of `VideoList`, which also applies here because the titles depend only on the
    /// broadcasts.
    public var law: FoldLaw { list.law }
    /// The rule of `VideoList`, followed by a sentence about titles.
    public var ruleText: String? {
        list.ruleText.map {
            """
            \($0) A video is found by the titles of all its broadcasts; a video without broadcasts \
            is found while a remote's list contains it.
            """
        }
    }

    /// The known facts about a video.
    public struct State: ProjectionState, Equatable {
        var video = VideoList.State()
        /// The remotes' lists that contain the video.
        fileprivate var entries = VideoLists.State()
        /// The distinct titles of the broadcasts other than the winner, sorted by their bytes.
        private(set) var otherTitles: [Title] = []

        struct Title: Equatable {
            let text: [UInt8]
            /// The number of broadcasts that have the title.
            var count: UInt64
        }

        /// Whether a search finds the video.
        var isFound: Bool { video.broadcasts > 0 || entries.lists > 0 }

        /// Creates the state of a video that has not been shared.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        private init(reading bytes: inout StateReader) throws(ModelError) {
            video = try VideoList.State(reading: &bytes)
            guard !bytes.isAtEnd else { return }
            entries.lists = try bytes.uint64()
            otherTitles = try bytes.array { (reader) throws(ModelError) in
                Title(text: try reader.bytes(), count: try reader.uint64())
            }
        }

        /// Encodes the state.
        ///
        /// If there are no other titles and no remote's list contains the video, the result equals
        /// the encoded state of `VideoList`.
        public func encode(into bytes: inout StateWriter) {
            video.encode(into: &bytes)
            guard !otherTitles.isEmpty || entries.lists > 0 else { return }
            bytes.add(entries.lists)
            bytes.add(otherTitles) { writer, title in
                writer.add(title.text)
                writer.add(title.count)
            }
        }

        /// Increments the count of a title; ignores empty titles.
        fileprivate mutating func add(_ title: [UInt8]?) {
            guard let title, !title.isEmpty else { return }
            let index = index(of: title)
            if index < otherTitles.count, otherTitles[index].text == title {
                otherTitles[index].count += 1
            } else {
                otherTitles.insert(Title(text: title, count: 1), at: index)
            }
        }

        /// Decrements the count of a title.
        fileprivate mutating func remove(_ title: [UInt8]?) throws(ModelError) {
            guard let title, !title.isEmpty else { return }
            let index = index(of: title)
            guard index < otherTitles.count, otherTitles[index].text == title else {
                throw ModelError(.damaged, "the state of a video lacks the title to remove")
            }
            otherTitles[index].count -= 1
            if otherTitles[index].count == 0 { otherTitles.remove(at: index) }
        }

        /// Returns the index of a title, or the index at which to insert it.
        private func index(of title: [UInt8]) -> Int {
            var range = otherTitles.indices
            while !range.isEmpty {
                let middle = range.lowerBound + range.count / 2
                if otherTitles[middle].text.lexicographicallyPrecedes(title) {
                    range = middle + 1..<range.upperBound
                } else {
                    range = range.lowerBound..<middle
                }
            }
            return range.lowerBound
        }
    }

    /// Folds an event as `VideoList` or `VideoLists` does.
    ///
    /// An event of `VideoList` also updates the titles.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        guard event.typeIndex < list.eventTypes.count else {
            var inner = KeyedState(key: key.key, state: key.state.entries, items: key.items)
            try entries.fold(event, into: &inner)
            key.state.entries = inner.state
            return
        }
        // The first broadcast is the winner.
        let isFirst = key.state.video.broadcasts == 0
        guard !isFirst, eventTypes[event.typeIndex] == BroadcastReceived.eventType else {
            return try foldList(event, into: &key)
        }
        let wire = try BroadcastWire(event.payload)
        let id = event.payload.bytes(wire.broadcast)
        let (before, winnerBefore) = (try title(of: id, in: key), key.state.video.title)
        try foldList(event, into: &key)
        let (after, winnerAfter) = (try title(of: id, in: key), key.state.video.title)
        guard before != after || winnerBefore != winnerAfter else { return }
        key.state.add(winnerBefore)
        key.state.add(after)
        try key.state.remove(before)
        try key.state.remove(winnerAfter)
    }

    private func foldList(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        var inner = KeyedState(key: key.key, state: key.state.video, items: key.items)
        try list.fold(event, into: &inner)
        key.state.video = inner.state
        if inner.wantsRefold { key.requestRefold() }
    }

    /// Returns the title of a broadcast; nil if the broadcast has no title, was removed or is
    /// unknown.
    private func title(
        of broadcast: [UInt8], in key: borrowing KeyedState<State>
    ) throws(ModelError) -> [UInt8]? {
        guard let pointer = key.item(RowKey(BroadcastItems.byID + broadcast)) else { return nil }
        let place = BroadcastPlace(time: try BroadcastPlace.time(pointer), id: broadcast)
        guard let bytes = key.item(BroadcastItems.name(place)) else { return nil }
        return try BroadcastRecord(decoding: bytes).title
    }
}
