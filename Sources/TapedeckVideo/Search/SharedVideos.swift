public import TapedeckModel
public import TapedeckProjections

/// The videos that were shared, as `VideoList` has them, with the titles of all their broadcasts.
///
/// Items are those of `VideoList`. What a list shows is the winner's, and a video is searched by any title that
/// somebody has shared it under. A video that was shared once costs nothing more; of others the state grows by
/// each title that differs, so a fold costs what these take.
public struct SharedVideos: Projection {
    let list: VideoList

    init(_ list: VideoList) { self.list = list }

    /// `videos`.
    public var name: String { list.name }
    /// That of the list.
    public var version: Int { list.version }
    /// The winner's rule.
    public var parameters: String { list.parameters }
    /// `video`.
    public var tagKind: String { list.tagKind }
    /// Those of the list.
    public var eventTypes: [EventType] { list.eventTypes }
    /// Any: what the titles are follows from the broadcasts.
    public var law: FoldLaw { list.law }
    /// That of the list, and that all titles count.
    public var ruleText: String? {
        list.ruleText.map { "\($0) A video is found by the titles of all its broadcasts." }
    }

    /// What is known of a video.
    public struct State: ProjectionState, Equatable {
        var video = VideoList.State()
        /// The titles of the broadcasts but the winner, each once, in the order of their bytes.
        private(set) var otherTitles: [Title] = []

        struct Title: Equatable {
            let text: [UInt8]
            /// How many broadcasts have it.
            var count: UInt64
        }

        /// Nothing was shared.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        private init(reading bytes: inout StateReader) throws(ModelError) {
            video = try VideoList.State(reading: &bytes)
            guard !bytes.isAtEnd else { return }
            otherTitles = try bytes.array { (reader) throws(ModelError) in
                Title(text: try reader.bytes(), count: try reader.uint64())
            }
        }

        /// Writes the state's bytes; nothing for titles where there are none.
        public func encode(into bytes: inout StateWriter) {
            video.encode(into: &bytes)
            guard !otherTitles.isEmpty else { return }
            bytes.add(otherTitles) { writer, title in
                writer.add(title.text)
                writer.add(title.count)
            }
        }

        /// Counts a title once more; none where it is empty.
        fileprivate mutating func add(_ title: [UInt8]?) {
            guard let title, !title.isEmpty else { return }
            let index = index(of: title)
            if index < otherTitles.count, otherTitles[index].text == title {
                otherTitles[index].count += 1
            } else {
                otherTitles.insert(Title(text: title, count: 1), at: index)
            }
        }

        /// Counts a title once less.
        fileprivate mutating func remove(_ title: [UInt8]?) throws(ModelError) {
            guard let title, !title.isEmpty else { return }
            let index = index(of: title)
            guard index < otherTitles.count, otherTitles[index].text == title else {
                throw ModelError(.damaged, "a video's title is missing")
            }
            otherTitles[index].count -= 1
            if otherTitles[index].count == 0 { otherTitles.remove(at: index) }
        }

        /// Where a title stands, or is to stand.
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

    /// Folds as the list does, and notes what titles there are.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
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

    /// The title of a broadcast; nil where it has none or is not known.
    private func title(
        of broadcast: [UInt8], in key: borrowing KeyedState<State>
    ) throws(ModelError) -> [UInt8]? {
        guard let pointer = key.item(RowKey(BroadcastItems.byID + broadcast)) else { return nil }
        let place = BroadcastPlace(time: try BroadcastPlace.time(pointer), id: broadcast)
        guard let bytes = key.item(BroadcastItems.name(place)) else {
            throw ModelError(.damaged, "a broadcast's item is missing")
        }
        return try BroadcastRecord(decoding: bytes).title
    }
}
