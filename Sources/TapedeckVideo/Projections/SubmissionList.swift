internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The videos submitted by users, without duplicates, sorted by number of views and by age.
///
/// Items: the user's own submissions, as described in `OwnIntents`. A video that a remote shows is
/// listed for everyone, no matter who submitted it. Until a remote shows a video, only the user
/// sees it, as described in the user's latest submission. The popular list is sorted by the
/// remote's view count. Views that the remote has not counted yet do not affect the order, so all
/// devices show the same order.
public struct SubmissionList: Projection {
    /// Creates the projection.
    public init() {}

    /// `submissions`.
    public var name: String { "submissions" }
    /// 1.
    public var version: Int { 1 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Submissions, observations of submitted videos, and the outcomes of submissions.
    public var eventTypes: [EventType] {
        [VideoSubmitted.eventType, SubmissionObserved.eventType, IntentOutcome.eventType]
    }
    /// Events can be folded in any order, because observations are merged field by field, and
    /// intents do not affect each other.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        A video is merged from its observations on remotes, and newer ones override older ones; \
        until there is an observation, the user's last submission represents the video.
        """
    }
    /// Three tables: videos by number of views, videos by age, and the user's own submissions that
    /// no remote shows.
    public var tables: [String] { ["popular", "new", "waiting"] }

    /// The known facts about a submitted video.
    public struct State: ProjectionState, Equatable {
        /// The observations of the video on remotes.
        var observations = ObservationStack<SubmissionObserved>()
        /// The user's last submission that was not dropped.
        var own: OwnIntent?
        /// The last outcome of the user's last submission.
        var outcome: IntentOutcome?

        /// Creates the initial state.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            observations = try ObservationStack(decoding: &bytes)
            own = try bytes.optional { (reader) throws(ModelError) in
                try OwnIntent(decoding: try reader.bytes())
            }
            outcome = try bytes.optional { (reader) throws(ModelError) in
                try IntentOutcome(decoding: try reader.bytes())
            }
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            observations.encode(into: &bytes)
            bytes.add(own) { $0.add($1.encoded) }
            bytes.add(outcome) { $0.add($1.encoded) }
        }
    }

    /// Folds a submission, an observation or an outcome.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: _ = try key.addIntent(event)
        case 1:
            let observation = try event.decode(SubmissionObserved.self).normalized()
            key.state.observations.add(observation, payload: event.payload, order: event.order)
            return
        default: _ = try key.addOutcome(event)
        }
        (key.state.own, key.state.outcome) = try key.lastWaitingIntent ?? (nil, nil)
    }

    /// Adds rows for a video that a remote lists, or a row for the user's own submission if no
    /// remote lists the video.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        var value = StateWriter()
        state.encode(into: &value)
        guard let shown = state.observations.merged else {
            guard let own = state.own else { return }
            rows.add(
                table: Table.waiting, key: RowKey().descending(own.at).text(key.name),
                value: value.bytes)
            return
        }
        let created = shown.hasCreatedAt ? shown.createdAt.milliseconds : 0
        rows.add(
            table: Table.popular,
            key: RowKey().descending(shown.views).descending(created).text(key.name),
            value: value.bytes)
        rows.add(
            table: Table.new, key: RowKey().descending(created).text(key.name), value: value.bytes)
    }

    enum Table {
        static let popular = 0
        static let new = 1
        static let waiting = 2
    }
}

extension SubmissionObserved: PartialObservation {
    static let observationFields: [ObservationField<SubmissionObserved>] = [
        ObservationField(\.video),
        ObservationField(\.hasURL, \.url),
        ObservationField(\.hasTitle, \.title),
        ObservationField(\.hasThumbnail, \.thumbnail),
        ObservationField(\.hasOwner, \.owner),
        ObservationField(\.hasCreatedAt, \.createdAt),
        ObservationField(\.hasViews, \.views),
        ObservationField(\.hasChannel, \.channel),
        ObservationField(\.hasPostedAs, \.postedAs),
    ]
}
