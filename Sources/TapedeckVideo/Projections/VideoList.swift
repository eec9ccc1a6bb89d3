public import TapedeckModel
public import TapedeckProjections

/// The shared videos: one row per video, combined from its broadcasts, with comments and likes.
///
/// The items are the broadcasts (see `BroadcastItems`), the comments and outcomes (see
/// `CommentedState`), `k` intent → the time at which a remote confirmed the intent, and `d` → the
/// merged descriptions of the video. Table 0 contains the videos that have a broadcast, latest share first. Tables 1 and 2
/// contain the videos that the user likes, by latest share and by latest like. Table 3 is the index
/// of duplicates: the videos that have more than one broadcast, by key. Table 4 contains, by key,
/// the videos that were neither shared nor liked but are known for another reason. The value of a
/// row is the visible part of the state.
///
/// The user's last toggle determines whether a video is liked. The likes of the video's broadcasts
/// decide instead if there is no toggle, or if a remote confirmed the toggle and later reported
/// these likes.
public struct VideoList: Projection {
    /// The rule for choosing the broadcast whose title and sharer represent a video.
    public let winner: WinnerRule

    /// Creates the projection.
    public init(winner: WinnerRule = .oldest) { self.winner = winner }

    /// `videos`.
    public var name: String { "videos" }
    /// 9.
    public var version: Int { 9 }
    /// The winner rule.
    public var parameters: String { "winner=\(winner.rawValue)" }
    /// `video`.
    public var tagKind: String { "video" }
    /// Broadcasts, comments, likes, outcomes, descriptions, and viewings.
    public var eventTypes: [EventType] {
        [
            BroadcastReceived.eventType, CommentPosted.eventType, CommentObserved.eventType,
            LikeToggled.eventType, IntentOutcome.eventType, VideoDescribed.eventType,
            VideoWatched.eventType,
        ]
    }
    /// Events can be folded in any order, because versions determine the newest observation of a
    /// broadcast.
    public var law: FoldLaw { .any }
    /// Five tables: all shared videos, the liked videos in two orders, the videos that were shared
    /// more than once, and the other known videos.
    public var tables: [String] {
        [
            "newest-first", "liked-newest-first", "liked-last-first", "duplicates-by-key",
            "others-by-key",
        ]
    }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        Every broadcast that the remote has not removed is counted once, with the content of its \
        newest observations; the \(winner.rawValue) broadcast represents the video. If that \
        broadcast has no title, the title comes from the video's newest description. The user's \
        last toggle determines whether the video is liked, until a remote that has confirmed the \
        toggle reports otherwise. A comment that the user drops is not shown. A video is watched \
        if the user or a broadcast reports it as watched.
        """
    }
    /// The broadcasts and comments of a video.
    public var followedItems: [[UInt8]] { CommentItems.lists }

    enum Table {
        static let newest = 0
        static let favourites = 1
        static let likes = 2
        static let duplicates = 3
        static let others = 4
    }

    /// The known facts about a video.
    public struct State: CommentedState, Equatable {
        var broadcasts: UInt64 = 0
        var posted: UInt64 = 0
        var observed: UInt64 = 0
        var removed: UInt64 = 0
        var echoed: UInt64 = 0
        var outcomes: UInt64 = 0
        var liked: UInt64 = 0
        /// The time of the latest broadcast; nil if no broadcast has a time.
        var newestAt: Int64?
        var winner: BroadcastPlace?
        var title: [UInt8]?
        var sharer: [UInt8]?
        /// The URL of the picture of the sharer.
        var sharerImage: [UInt8]?
        /// The part of the video's descriptions that is shown in lists.
        var about = VideoAbout()
        /// The number of broadcasts that the remote reports as watched.
        var watched: UInt64 = 0
        /// Whether the user has watched the video on one of the user's devices.
        var isWatchedHere = false
        /// The number of broadcasts whose text is one of the observed comments.
        var toldByMessage: UInt64 = 0
        /// The user's last toggle.
        var ownLike: OwnLike?
        /// The time of the last observation that reports whether a broadcast is liked, in Unix
        /// milliseconds.
        var likesToldAt: Int64?

        /// The title of the broadcast that represents the video or, if it has none, of the video's
        /// description.
        var shownTitle: [UInt8]? { title.flatMap { $0.isEmpty ? nil : $0 } ?? about.title }

        /// The number of comments; the text of a broadcast is a comment.
        var comments: UInt64 { broadcasts - toldByMessage + posted + observed }

        /// Whether the user has watched the video.
        var isWatched: Bool { isWatchedHere || watched > 0 }

        /// Whether anything is known about the video besides broadcasts and likes.
        fileprivate var isKnown: Bool { isWatched || about != VideoAbout() }

        /// Whether the user likes the video.
        var isLiked: Bool { decidingLike?.isOn ?? (liked > 0) }

        /// The user's last toggle; nil unless it determines whether the video is liked.
        fileprivate var decidingLike: OwnLike? {
            guard let ownLike else { return nil }
            if let confirmed = ownLike.confirmedAt, let told = likesToldAt, told > confirmed {
                return nil
            }
            return ownLike
        }

        /// The state as stored in rows: whether the video is liked and watched, but not why, so
        /// that changes that users cannot see do not change the rows.
        fileprivate var shown: State {
            var shown = self
            shown.liked = isLiked ? 1 : 0
            (shown.watched, shown.isWatchedHere) = (isWatched ? 1 : 0, false)
            (shown.ownLike, shown.likesToldAt, shown.outcomes) = (nil, nil, 0)
            return shown
        }

        /// Whether any of the fields that most videos lack is set.
        private var hasDetails: Bool {
            removed > 0 || watched > 0 || isWatchedHere || toldByMessage > 0 || outcomes > 0
                || sharerImage != nil || about != VideoAbout()
        }

        /// Creates the state of a video that has not been shared.
        public init() {}

        /// Decodes a state.
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
            ownLike = try bytes.optional { (reader) throws(ModelError) in
                try OwnLike(reading: &reader)
            }
            likesToldAt = try bytes.optionalInt64()
            guard try bytes.bool() else { return }
            removed = try bytes.uint64()
            sharerImage = try bytes.optionalBytes()
            about = try VideoAbout(reading: &bytes)
            watched = try bytes.uint64()
            isWatchedHere = try bytes.bool()
            toldByMessage = try bytes.uint64()
            outcomes = try bytes.uint64()
        }

        /// Encodes the state.
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
            bytes.add(ownLike) { writer, like in like.encode(into: &writer) }
            bytes.add(likesToldAt)
            let hasDetails = hasDetails
            bytes.add(hasDetails)
            guard hasDetails else { return }
            bytes.add(removed)
            bytes.add(sharerImage)
            about.encode(into: &bytes)
            bytes.add(watched)
            bytes.add(isWatchedHere)
            bytes.add(toldByMessage)
            bytes.add(outcomes)
        }
    }

    /// Folds a broadcast, a comment, a like, an outcome, a description or a viewing.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: try foldBroadcast(event, into: &key)
        case 1: try key.foldPosted(event)
        case 2: try key.foldObserved(event)
        case 3: try foldLike(event, into: &key)
        case 4: try foldOutcome(event, into: &key)
        case 5: try foldDescription(event, into: &key)
        default: key.state.isWatchedHere = true
        }
    }

    /// Adds a row to each table that lists the video.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        let isLiked = state.isLiked
        guard state.broadcasts > 0 || isLiked || state.isKnown else { return }
        var value = StateWriter()
        state.shown.encode(into: &value)
        let newest = RowKey().descending(state.newestAt ?? 0).text(key.name)
        if state.broadcasts > 0 { rows.add(table: Table.newest, key: newest, value: value.bytes) }
        if state.broadcasts > 1 {
            rows.add(
                table: Table.duplicates, key: RowKey().text(key.name), value: value.bytes)
        }
        guard isLiked else {
            if state.broadcasts == 0 {
                rows.add(table: Table.others, key: RowKey().text(key.name), value: value.bytes)
            }
            return
        }
        rows.add(table: Table.favourites, key: newest, value: value.bytes)
        let likedAt = state.decidingLike?.at ?? state.newestAt ?? 0
        rows.add(
            table: Table.likes, key: RowKey().descending(likedAt).text(key.name),
            value: value.bytes)
    }

    // MARK: - Likes

    private static let confirmations: [UInt8] = [UInt8(ascii: "k")]

    private func foldLike(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        if let held = key.state.ownLike, event.order < held.order { return }
        let said = try event.decode(LikeToggled.self)
        let id = event.id.textBytes
        key.state.ownLike = OwnLike(
            order: event.order, event: id, isOn: said.isOn, at: Int64(event.stamp.milliseconds),
            confirmedAt: try key.item(RowKey(VideoList.confirmations + id)).map {
                try BroadcastPlace.time($0)
            })
    }

    private func foldOutcome(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        guard let (intent, outcome, _) = try key.foldOutcome(event), outcome.kind == .confirmed
        else { return }
        let name = RowKey(VideoList.confirmations + intent)
        let place = BroadcastPlace(time: Int64(event.stamp.milliseconds), id: [])
        if let held = key.item(name), try BroadcastPlace.time(held) <= place.time { return }
        key.setItem(name, place.encodedTime)
        if key.state.ownLike?.event == intent { key.state.ownLike?.confirmedAt = place.time }
    }

    // MARK: - Descriptions

    /// The name of the item with the merged descriptions.
    private static let description = RowKey([UInt8(ascii: "d")])

    /// Returns the merged descriptions in the items of a video; nil if there are none.
    static func description(
        of key: Tag, _ views: some ViewReader, _ projection: VideoList
    ) throws -> VideoDescribed? {
        try views.item(of: projection, key: key, name: description).flatMap {
            try StateReader.read($0) { (reader) throws(ModelError) in
                try ObservationStack<VideoDescribed>(decoding: &reader)
            }.merged
        }
    }

    private func foldDescription(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        var observations =
            try key.item(VideoList.description).map {
                try StateReader.read($0) { (reader) throws(ModelError) in
                    try ObservationStack<VideoDescribed>(decoding: &reader)
                }
            } ?? ObservationStack()
        let observation = try event.decode(VideoDescribed.self)
        guard observations.add(observation, payload: event.payload, order: event.order) else {
            return
        }
        var writer = StateWriter()
        observations.encode(into: &writer)
        key.setItem(VideoList.description, writer.bytes)
        if let merged = observations.merged { key.state.about = VideoAbout(merged) }
    }

    // MARK: - Broadcasts

    private func foldBroadcast(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        let wire = try BroadcastWire(event.payload)
        if wire.liked != nil, let time = event.fact?.observedAt {
            key.state.likesToldAt = max(time, key.state.likesToldAt ?? time)
        }
        // Most broadcasts are new and do not become the winner, so copy only the bytes that the
        // items store.
        let pointerName = RowKey(event.payload.bytes(wire.broadcast, after: BroadcastItems.byID))
        guard let pointer = key.item(pointerName) else {
            let time = wire.createdAt ?? 0
            key.setItem(pointerName, BroadcastPlace.encoded(time))
            guard !wire.isRemoved else {
                let place = BroadcastPlace(time: time, id: event.payload.bytes(wire.broadcast))
                key.setItem(
                    BroadcastItems.name(place, isRemoved: true),
                    BroadcastRecord.encoded(first: wire, event.payload, order: event.order))
                return
            }
            key.state.broadcasts += 1
            if wire.liked == true { key.state.liked += 1 }
            if wire.watched == true { key.state.watched += 1 }
            if wire.message != nil { key.state.toldByMessage += 1 }
            key.setItem(
                BroadcastItems.name(time, wire.broadcast, of: event.payload),
                BroadcastRecord.encoded(first: wire, event.payload, order: event.order))
            noteTime(wire.createdAt, &key.state)
            if let held = key.state.winner, held.time != time,
                !winner.prefers(time, to: held.time)
            {
                return
            }
            let place = BroadcastPlace(time: time, id: event.payload.bytes(wire.broadcast))
            if key.state.winner.map({ winner.prefers(place, to: $0) }) ?? true {
                key.state.winner = place
                key.state.title = wire.title.map { event.payload.bytes($0) }
                key.state.sharer = wire.sharer.map { event.payload.bytes($0) }
                key.state.sharerImage = wire.sharerImage.map { event.payload.bytes($0) }
            }
            return
        }
        let id = event.payload.bytes(wire.broadcast)
        let place = BroadcastPlace(time: try BroadcastPlace.time(pointer), id: id)
        let before = try BroadcastItems.record(place, key)
        var record = before
        guard record.merge(wire, event.payload, order: event.order) else {
            key.requestRefold()
            return
        }
        guard record != before else { return }
        let moved = BroadcastPlace(time: record.createdAt ?? 0, id: id)
        if !before.isLiked, record.isLiked { key.state.liked += 1 }
        if before.isLiked, !record.isLiked { key.state.liked -= 1 }
        if before.isRemoved, !record.isRemoved { key.state.broadcasts += 1 }
        if !before.isRemoved, record.isRemoved { key.state.broadcasts -= 1 }
        if !before.isWatched, record.isWatched { key.state.watched += 1 }
        if before.isWatched, !record.isWatched { key.state.watched -= 1 }
        if !before.isToldByMessage, record.isToldByMessage { key.state.toldByMessage += 1 }
        if before.isToldByMessage, !record.isToldByMessage { key.state.toldByMessage -= 1 }
        let isElsewhere = moved != place || before.isRemoved != record.isRemoved
        if isElsewhere {
            key.removeItem(BroadcastItems.name(place, isRemoved: before.isRemoved))
            key.setItem(pointerName, moved.encodedTime)
        }
        key.setItem(BroadcastItems.name(moved, isRemoved: record.isRemoved), record.encoded)
        if isElsewhere {
            try reconsider(&key)
        } else if !record.isRemoved {
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
        state.sharerImage = record.sharerImage
    }

    /// Recomputes the winner and the newest time after a broadcast's creation time has changed, or
    /// after a broadcast was removed or has reappeared.
    private func reconsider(_ key: inout KeyedState<State>) throws(ModelError) {
        let list = RowKey(BroadcastItems.byTime)
        guard let first = key.firstItem(prefix: list), let last = key.lastItem(prefix: list) else {
            (key.state.newestAt, key.state.winner) = (nil, nil)
            (key.state.title, key.state.sharer, key.state.sharerImage) = (nil, nil, nil)
            return
        }
        // A known time of 0 sorts like an unknown time, so read the time from the record of the
        // last item.
        key.state.newestAt = try BroadcastRecord(decoding: last.value).createdAt
        let held = winner == .oldest ? first : last
        if let place = BroadcastItems.place(name: held.name) {
            crown(place, try BroadcastRecord(decoding: held.value), &key.state)
        }
    }
}

/// The part of a video's descriptions that is shown in lists.
struct VideoAbout: Equatable {
    var title: [UInt8]?
    var thumbnail: [UInt8]?
    var durationMilliseconds: Int64?

    init() {}

    init(_ observation: VideoDescribed) {
        if observation.hasTitle { title = Array(observation.title.utf8) }
        if observation.hasThumbnailURL { thumbnail = Array(observation.thumbnailURL.utf8) }
        // Another device may have recorded a duration without checking it.
        if observation.hasDurationSeconds,
            (0...FieldLimits.secondsMax).contains(observation.durationSeconds)
        {
            durationMilliseconds = Int64((observation.durationSeconds * 1_000).rounded())
        }
    }

    /// The duration in seconds.
    var durationSeconds: Double? { durationMilliseconds.map { Double($0) / 1_000 } }

    init(reading bytes: inout StateReader) throws(ModelError) {
        title = try bytes.optionalBytes()
        thumbnail = try bytes.optionalBytes()
        durationMilliseconds = try bytes.optionalInt64()
    }

    func encode(into bytes: inout StateWriter) {
        bytes.add(title)
        bytes.add(thumbnail)
        bytes.add(durationMilliseconds)
    }
}

extension VideoDescribed: PartialObservation {
    static let observationFields: [ObservationField<VideoDescribed>] = [
        ObservationField(\.video), ObservationField(\.hasTitle, \.title),
        ObservationField(\.hasThumbnailURL, \.thumbnailURL),
        ObservationField(\.hasDescription_p, \.description_p),
        ObservationField(\.hasDurationSeconds, \.durationSeconds),
    ]
}

extension BroadcastItems {
    /// Returns the merged observations of a broadcast that has a `b` item.
    static func record(
        _ place: BroadcastPlace, _ key: borrowing KeyedState<VideoList.State>
    ) throws(ModelError) -> BroadcastRecord {
        guard
            let bytes = key.item(name(place)) ?? key.item(name(place, isRemoved: true))
        else { throw ModelError(.damaged, "a broadcast's item is missing") }
        return try BroadcastRecord(decoding: bytes)
    }
}

extension BroadcastPlace {
    var encodedTime: [UInt8] { BroadcastPlace.encoded(time) }

    static func encoded(_ time: Int64) -> [UInt8] {
        var writer = StateWriter()
        writer.add(time)
        return writer.bytes
    }

    static func time(_ bytes: [UInt8]) throws(ModelError) -> Int64 {
        try StateReader.read(bytes) { (reader) throws(ModelError) in try reader.int64() }
    }
}
