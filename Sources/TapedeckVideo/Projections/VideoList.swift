public import TapedeckModel
public import TapedeckProjections

/// The videos that were shared: their broadcasts made into one row each, and what was said of them.
///
/// Items: `BroadcastItems`, and comments as `CommentedState` says. Table 0 holds the videos that have a
/// broadcast, the one shared last first.
public struct VideoList: Projection {
    /// Which broadcast gives a video its title and its sharer.
    public let winner: WinnerRule

    /// Makes the projection.
    public init(winner: WinnerRule = .oldest) { self.winner = winner }

    /// `videos`.
    public var name: String { "videos" }
    /// 2.
    public var version: Int { 2 }
    /// The winner's rule.
    public var parameters: String { "winner=\(winner.rawValue)" }
    /// `video`.
    public var tagKind: String { "video" }
    /// What is shared and what is said.
    public var eventTypes: [EventType] {
        [BroadcastReceived.eventType, CommentPosted.eventType, CommentObserved.eventType]
    }
    /// Any: a broadcast's newest sighting is told by its version.
    public var law: FoldLaw { .any }
    /// One: the list.
    public var tables: [String] { ["newest-first"] }

    /// What the list tells of a video.
    public struct State: CommentedState, Equatable {
        var broadcasts: UInt64 = 0
        var posted: UInt64 = 0
        var observed: UInt64 = 0
        var echoed: UInt64 = 0
        var liked: UInt64 = 0
        /// The time of the broadcast shared last; nil where no broadcast has one.
        var newestAt: Int64?
        var winner: BroadcastPlace?
        var title: [UInt8]?
        var sharer: [UInt8]?

        /// Nothing was shared.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            broadcasts = try bytes.uint64()
            posted = try bytes.uint64()
            observed = try bytes.uint64()
            echoed = try bytes.uint64()
            liked = try bytes.uint64()
            newestAt = try bytes.optionalInt64()
            winner = try bytes.optional { (reader) throws(ModelError) in
                BroadcastPlace(time: try reader.int64(), id: try reader.bytes())
            }
            title = try bytes.optionalBytes()
            sharer = try bytes.optionalBytes()
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(broadcasts)
            bytes.add(posted)
            bytes.add(observed)
            bytes.add(echoed)
            bytes.add(liked)
            bytes.add(newestAt)
            bytes.add(winner) { writer, place in
                writer.add(place.time)
                writer.add(place.id)
            }
            bytes.add(title)
            bytes.add(sharer)
        }
    }

    /// Folds a broadcast or a comment.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: try foldBroadcast(event, into: &key)
        case 1: try key.foldPosted(event)
        default: try key.foldObserved(event)
        }
    }

    /// One row for a video that was shared.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard state.broadcasts > 0 else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(
            table: 0, key: RowKey().descending(state.newestAt ?? 0).text(key.name),
            value: value.bytes)
    }

    // MARK: - Broadcasts

    private func foldBroadcast(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        let wire = try BroadcastWire(event.payload)
        let id = event.payload.bytes(wire.broadcast)
        let pointerName = BroadcastItems.name(id: id)
        guard let pointer = key.item(pointerName) else {
            let place = BroadcastPlace(time: wire.createdAt ?? 0, id: id)
            key.state.broadcasts += 1
            if wire.liked == true { key.state.liked += 1 }
            key.setItem(pointerName, place.encodedTime)
            key.setItem(
                BroadcastItems.name(place),
                BroadcastRecord.encoded(first: wire, event.payload, order: event.order))
            noteTime(wire.createdAt, &key.state)
            if key.state.winner.map({ winner.prefers(place, to: $0) }) ?? true {
                key.state.winner = place
                key.state.title = wire.title.map { event.payload.bytes($0) }
                key.state.sharer = wire.sharer.map { event.payload.bytes($0) }
            }
            return
        }
        let place = BroadcastPlace(time: try BroadcastPlace.time(pointer), id: id)
        guard let bytes = key.item(BroadcastItems.name(place)) else {
            throw ModelError(.damaged, "a broadcast's item is missing")
        }
        let before = try BroadcastRecord(decoding: bytes)
        var record = before
        guard record.merge(wire, event.payload, order: event.order) else {
            key.requestRefold()
            return
        }
        guard record != before else { return }
        let moved = BroadcastPlace(time: record.createdAt ?? 0, id: id)
        if before.liked != true, record.liked == true { key.state.liked += 1 }
        if before.liked == true, record.liked != true { key.state.liked -= 1 }
        if moved != place {
            key.removeItem(BroadcastItems.name(place))
            key.setItem(pointerName, moved.encodedTime)
        }
        key.setItem(BroadcastItems.name(moved), record.encoded)
        if moved != place {
            try reconsider(&key)
        } else {
            noteTime(record.createdAt, &key.state)
            if key.state.winner == moved { crown(moved, record, &key.state) }
        }
    }

    private func noteTime(_ time: Int64?, _ state: inout State) {
        if let time { state.newestAt = max(time, state.newestAt ?? time) }
    }

    private func crown(_ place: BroadcastPlace, _ record: BroadcastRecord, _ state: inout State) {
        state.winner = place
        state.title = record.title
        state.sharer = record.sharer
    }

    /// Finds the winner and the newest time anew, after a broadcast moved.
    private func reconsider(_ key: inout KeyedState<State>) throws(ModelError) {
        let list = RowKey(BroadcastItems.byTime)
        guard let first = key.firstItem(prefix: list), let last = key.lastItem(prefix: list) else {
            return
        }
        // A known time of exactly 1970 shares its place with the unknown ones, so the last item's
        // record tells whether there is a time at all.
        key.state.newestAt = try BroadcastRecord(decoding: last.value).createdAt
        let held = winner == .oldest ? first : last
        if let place = BroadcastItems.place(name: held.name) {
            crown(place, try BroadcastRecord(decoding: held.value), &key.state)
        }
    }
}

extension BroadcastPlace {
    var encodedTime: [UInt8] {
        var writer = StateWriter()
        writer.add(time)
        return writer.bytes
    }

    static func time(_ bytes: [UInt8]) throws(ModelError) -> Int64 {
        try StateReader.read(bytes) { (reader) throws(ModelError) in try reader.int64() }
    }
}
