public import TapedeckModel
public import TapedeckProjections

/// Whether videos can be played, according to checks and remotes.
///
/// The result of the last conclusive check is the verdict. A failed check says nothing about the
/// video, so it does not replace the verdict. The next conclusive check removes the failure. The
/// times reported by remotes (`RemoteUnplayability`) are stored unchanged, because their meaning
/// depends on the time of the query.
///
/// Each field is the newest value, or the earliest or latest of several times, so the order of
/// arrival does not matter. Rows of tables 0 and 2 are sorted by the time at which the state
/// begins, and rows of table 1 by the time at which it ends. The videos that are in a state at any
/// given time are therefore a range of that state's table.
public struct Playability: Projection {
    /// Creates the projection.
    public init() {}

    /// `playability`.
    public var name: String { "playability" }
    /// 1.
    public var version: Int { 1 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Checks, and sightings of frames on remotes.
    public var eventTypes: [EventType] { [PlayabilityChecked.eventType, FrameObserved.eventType] }
    /// Any order.
    public var law: FoldLaw { .any }
    /// The rule in one sentence.
    public var ruleText: String? {
        """
        The last conclusive check is the verdict, and a failed check is kept only if it came \
        later; the first and the last time reported by remotes are kept.
        """
    }
    /// Three tables: the videos by state.
    public var tables: [String] { ["playable", "unplayable", "failed"] }

    /// True: queries ask whether a video has been checked at all.
    public var statesAreFollowed: Bool { true }

    static let playable = 0
    static let unplayable = 1
    static let failed = 2

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

        /// Creates the initial state.
        public init() {}

        var remote: RemoteUnplayability? {
            RemoteUnplayability(firstAt: firstUnplayableAt, lastAt: lastUnplayableAt)
        }

        /// Reads a state's bytes.
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
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(verdict) { $1.encode(into: &$0) }
            bytes.add(failure) { $1.encode(into: &$0) }
            bytes.add(firstUnplayableAt)
            bytes.add(lastUnplayableAt)
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

    /// Folds a check, or a sighting of a frame.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: try foldCheck(event, &key.state)
        default: try foldFrame(event, &key.state)
        }
    }

    /// Adds a row to each table that lists the video now or at some other time.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        var value = StateWriter()
        state.encode(into: &value)
        let remote = state.remote
        let from = remote.map { $0.endsAt ?? .max } ?? 0
        func add(_ table: Int, _ time: Int64) {
            rows.add(
                table: table, key: RowKey().ascending(time).text(key.name), value: value.bytes)
        }
        if let verdict = state.verdict {
            add(
                verdict.isPlayable ? Playability.playable : Playability.unplayable,
                verdict.isPlayable ? from : .max)
            if !verdict.isPlayable { return }
        } else if let failure = state.failure {
            add(Playability.failed, max(from, failure.nextTryAt ?? .max))
        }
        if remote != nil { add(Playability.unplayable, from) }
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
