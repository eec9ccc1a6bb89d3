public import TapedeckModel
public import TapedeckProjections

/// Whether videos can be played, as far as it was checked and as remotes tell.
///
/// The last check that found something out is the verdict. A check that failed tells nothing of the
/// video: it takes away no verdict, and counts only while no verdict stands behind it. What remotes tell
/// (`RemoteUnplayability`) is kept as the times that they give, since what these mean depends on the time
/// of the query.
///
/// All of it is the newest of something, or the first or last of times, so any order of arrival gives the
/// same state. In tables 0 and 2 a row stands under the moment from which it is so, in table 1 under the
/// moment until which; so "now" is a range of each.
public struct Playability: Projection {
    /// Makes the projection.
    public init() {}

    /// `playability`.
    public var name: String { "playability" }
    /// 1.
    public var version: Int { 1 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Checks, and what a remote tells with a frame.
    public var eventTypes: [EventType] { [PlayabilityChecked.eventType, FrameObserved.eventType] }
    /// Any.
    public var law: FoldLaw { .any }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        The last check that found something out counts, a failed one only where it came \
        behind that; of what remotes tell the first and the last time are kept.
        """
    }
    /// Three: the videos by state.
    public var tables: [String] { ["playable", "unplayable", "failed"] }

    /// Yes: a video is checked, or it is not.
    public var statesAreFollowed: Bool { true }

    static let playable = 0
    static let unplayable = 1
    static let failed = 2

    /// What is known of a video.
    public struct State: ProjectionState, Equatable {
        var verdict: Verdict?
        /// The last failed check, if it came behind the verdict.
        var failure: FailedAttempt?
        /// When remotes were first told that it cannot be played, in Unix milliseconds.
        var firstUnplayableAt: Int64?
        /// When they were last told so, in Unix milliseconds.
        var lastUnplayableAt: Int64?

        /// Nothing.
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

    /// What the last check that found something out has found.
    struct Verdict: Equatable {
        var order: FoldOrder
        /// Unix milliseconds.
        var at: Int64
        /// Why it cannot be played; nil where it can.
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

    /// A row for each list that the video is in, now or at some time.
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
            let isNews =
                state.verdict.map { $0.order < event.order } ?? true
                && state.failure.map { $0.order < event.order } ?? true
            guard isNews else { return }
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
            // Numbers as in schema/tapedeck/video/v1/videos.proto.
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
