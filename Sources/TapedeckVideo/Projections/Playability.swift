public import TapedeckModel
public import TapedeckProjections

/// Whether videos can be played, according to checks and remotes, and which videos to check next.
///
/// The result of the last conclusive check is the verdict. A failed check says nothing about the
/// video, so it does not replace the verdict. The next conclusive check removes the recorded
/// failure. The times reported by remotes (`RemoteUnplayability`) are stored unchanged, because
/// their meaning depends on the time of the query.
///
/// Each field is the newest value, or the earliest or latest of several times, so the order in
/// which events arrive does not matter. Rows of tables 0, 2, 3 and 4 are sorted by the time at
/// which the state begins, and rows of table 1 by the time at which the state ends. The videos that
/// are in a state at any given time are therefore a range of that state's table. Tables 3 and 4
/// together list the videos to check, and no video is in both of these tables. Unchecked videos
/// come first, because their state begins at 0 unless a remote has reported them as unplayable.
///
/// Items: for each broadcast (`b` broadcast) and each entry of a remote's list (`l` list entry), a
/// `Presence`; the first of these items is in the state. A video is listed while a remote has at
/// least one broadcast or list entry for it.
public struct Playability: Projection {
    /// Creates the projection.
    public init() {}

    /// `playability`.
    public var name: String { "playability" }
    /// 3.
    public var version: Int { 3 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Checks, and observations of frames, broadcasts and list entries on remotes.
    public var eventTypes: [EventType] {
        [
            PlayabilityChecked.eventType, FrameObserved.eventType, BroadcastReceived.eventType,
            VideoListed.eventType,
        ]
    }
    /// Events can be folded in any order, because each field is the newest value, or the earliest
    /// or latest of several times.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        The result of the last conclusive check counts, and a failed check is kept only if it came \
        later. The first and the last time at which remotes report the video as unplayable are \
        kept. A video is listed while a remote has a broadcast or a list entry for it.
        """
    }
    /// Five tables: the videos by state, and the checked videos by the time of their next check.
    public var tables: [String] {
        ["playable", "unplayable", "failed", "unchecked-newest-first", "next-check"]
    }

    /// True, because queries ask whether a video has been checked at all.
    public var statesAreFollowed: Bool { true }

    static let playable = 0
    static let unplayable = 1
    static let failed = 2
    /// The listed videos that have not been checked.
    static let unchecked = 3
    /// The checked videos that are to be checked again.
    static let planned = 4

    /// Returns the number of bytes before the video in the keys of a table's rows.
    static func prefixCount(of table: Int) -> Int { table == unchecked ? 16 : 8 }

    /// The known facts about a video.
    public struct State: ProjectionState, Equatable {
        var verdict: Verdict?
        /// The last failed check, if it came after the verdict.
        var failure: FailedAttempt?
        /// The time at which users first reported to a remote that the video cannot be played, in
        /// Unix milliseconds.
        var firstUnplayableAt: Int64?
        /// The time at which users last reported to a remote that the video cannot be played, in
        /// Unix milliseconds.
        var lastUnplayableAt: Int64?
        /// The number of broadcasts and list entries that remotes have.
        var listings: UInt64 = 0
        /// The time of the latest broadcast or list entry, even if it has been removed, in Unix
        /// milliseconds.
        var listedAt: Int64?
        /// The first broadcast or list entry, which only folds need.
        var firstListing: FirstItem?

        /// Creates the initial state.
        public init() {}

        var remote: RemoteUnplayability? {
            RemoteUnplayability(firstAt: firstUnplayableAt, lastAt: lastUnplayableAt)
        }

        /// The time at which a remote's report expires, in Unix milliseconds; `Int64.max` if it
        /// does not expire, and 0 if there is no report.
        var reportedUntil: Int64 { remote.map { $0.endsAt ?? .max } ?? 0 }

        /// Whether a check has been recorded, conclusive or not.
        var isChecked: Bool { verdict != nil || failure != nil }

        /// Returns the time at which to check the video next, in Unix milliseconds: 0 if the video
        /// has not been checked, and nil if it need not be checked.
        ///
        /// A failed check is repeated after its delay. While the video is listed, a provider's
        /// finding is checked again once it is old. A finding that follows from the video's key is
        /// final. While a remote's report is valid, the video is not checked, unless a check has
        /// already found it unplayable.
        func nextCheckAt(of video: VideoKey) -> Int64? {
            var at: Int64 = 0
            if let failure {
                guard let next = failure.nextTryAt else { return nil }
                at = next
            } else if let verdict {
                guard listings > 0, ProviderRule.standard.judge(video) == .ask else { return nil }
                at = verdict.at + PlayabilityCheck.findingMilliseconds
            }
            if verdict?.isPlayable ?? true { at = max(at, reportedUntil) }
            return at == .max ? nil : at
        }

        /// The state as stored in rows.
        ///
        /// It records whether the video is listed, but not how often or when, so that further
        /// broadcasts of a checked video do not change any rows.
        fileprivate var shown: State {
            var shown = self
            (shown.listings, shown.listedAt) = (min(listings, 1), nil)
            shown.firstListing = nil
            return shown
        }

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            verdict = try bytes.optional { (reader) throws(ModelError) in
                try Verdict(reading: &reader)
            }
            failure = try bytes.optional { (reader) throws(ModelError) in
                try FailedAttempt(reading: &reader)
            }
            firstUnplayableAt = try bytes.optionalInt64()
            lastUnplayableAt = try bytes.optionalInt64()
            listings = try bytes.uint64()
            listedAt = try bytes.optionalInt64()
            firstListing = try FirstItem.last(of: &bytes)
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(verdict) { $1.encode(into: &$0) }
            bytes.add(failure) { $1.encode(into: &$0) }
            bytes.add(firstUnplayableAt)
            bytes.add(lastUnplayableAt)
            bytes.add(listings)
            bytes.add(listedAt)
            bytes.add(firstListing) { $1.encode(into: &$0) }
        }
    }

    /// The result of the last conclusive check.
    struct Verdict: Equatable {
        var order: FoldOrder
        /// The time in Unix milliseconds.
        var at: Int64
        /// The reason why the video cannot be played; nil if it can be played.
        var reason: String?

        var isPlayable: Bool { reason == nil }

        init(_ event: borrowing FoldEvent, reason: String?) {
            order = event.order
            at = Int64(event.stamp.milliseconds)
            self.reason = reason
        }

        init(reading bytes: inout StateReader) throws(ModelError) {
            order = try bytes.foldOrder()
            at = try bytes.int64()
            reason = try bytes.optionalString()
        }

        func encode(into bytes: inout StateWriter) {
            bytes.add(order)
            bytes.add(at)
            bytes.add(reason)
        }
    }

    /// Folds a check, or an observation of a frame, a broadcast or a list entry.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: try foldCheck(event, &key.state)
        case 1: try foldFrame(event, &key.state)
        case 2:
            let wire = try BroadcastWire(event.payload)
            try foldListing(
                event, RowKey(event.payload.bytes(wire.broadcast, after: [UInt8(ascii: "b")])),
                isRemoved: wire.isRemoved, at: wire.createdAt, into: &key)
        default:
            let said = try event.decode(VideoListed.self)
            try foldListing(
                event, RowKey().text("l" + said.list).text(said.entry), isRemoved: said.removed,
                at: said.hasListedAt ? said.listedAt.milliseconds : nil, into: &key)
        }
    }

    /// Adds a row to each table in which the video appears at some time.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        var value = StateWriter()
        state.shown.encode(into: &value)
        let reportedUntil = state.reportedUntil
        func add(_ table: Int, _ time: Int64) {
            rows.add(
                table: table, key: RowKey().ascending(time).text(key.name), value: value.bytes)
        }
        if let verdict = state.verdict {
            add(
                verdict.isPlayable ? Playability.playable : Playability.unplayable,
                verdict.isPlayable ? reportedUntil : .max)
        } else if let failure = state.failure {
            add(Playability.failed, max(reportedUntil, failure.nextTryAt ?? .max))
        }
        if state.remote != nil, state.verdict?.isPlayable ?? true {
            add(Playability.unplayable, reportedUntil)
        }
        guard let next = state.nextCheckAt(of: VideoKey(tag: key)) else { return }
        if state.isChecked {
            add(Playability.planned, next)
        } else if state.listings > 0 {
            rows.add(
                table: Playability.unchecked,
                key: RowKey().ascending(next).descending(state.listedAt ?? 0).text(key.name),
                value: value.bytes)
        }
    }

    private func foldListing(
        _ event: borrowing FoldEvent, _ name: RowKey, isRemoved: Bool, at time: Int64?,
        into key: inout KeyedState<State>
    ) throws(ModelError) {
        if let time { key.state.listedAt = max(time, key.state.listedAt ?? time) }
        let items = try FirstItemStore.of(&key, [], key.state.firstListing)
        let known = try items.get(name.bytes).map { (bytes) throws(ModelError) in
            try Presence(decoding: bytes)
        }
        let wasListed = known.map { !$0.isRemoved } ?? false
        var presence = known ?? Presence(order: event.order, isRemoved: isRemoved)
        presence.add(isRemoved: isRemoved, at: event.order)
        guard presence != known else { return }
        items.set(name.bytes, presence.encoded)
        items.keep(in: &key.state.firstListing)
        if wasListed, presence.isRemoved { key.state.listings -= 1 }
        if !wasListed, !presence.isRemoved { key.state.listings += 1 }
    }

    private func foldCheck(_ event: borrowing FoldEvent, _ state: inout State) throws {
        let check = try event.decode(PlayabilityChecked.self).normalized()
        if check.outcome == PlayabilityOutcome.failed.rawValue {
            let isNew =
                state.verdict.map { $0.order < event.order } ?? true
                && state.failure.map { $0.order < event.order } ?? true
            guard isNew else { return }
            state.failure = FailedAttempt(
                event, reason: check.reason, attempt: check.attempt,
                retryAfterSeconds: check.hasRetryAfterSeconds ? check.retryAfterSeconds : nil)
            return
        }
        guard state.verdict.map({ $0.order < event.order }) ?? true else { return }
        state.verdict = Verdict(event, reason: check.hasReason ? check.reason : nil)
        if let failure = state.failure, failure.order < event.order { state.failure = nil }
    }

    private func foldFrame(_ event: borrowing FoldEvent, _ state: inout State) throws {
        var (first, last): (Int64?, Int64?)
        var fields = WireFields(event.payload)
        while let field = fields.next() {
            // The field numbers are defined in schema/tapedeck/video/v1/videos.proto.
            switch field.number {
            case 9: first = fields.milliseconds(field).clamped(to: Timestamps.recorded)
            case 10: last = fields.milliseconds(field).clamped(to: Timestamps.recorded)
            default: break
            }
        }
        guard !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload is not a FrameObserved")
        }
        state.firstUnplayableAt = [state.firstUnplayableAt, first].compactMap { $0 }.min()
        state.lastUnplayableAt = [state.lastUnplayableAt, last].compactMap { $0 }.max()
    }
}
