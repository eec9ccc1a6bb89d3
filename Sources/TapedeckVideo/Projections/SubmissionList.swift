internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The videos that users have handed in, each once, by how often they were opened and by their age.
///
/// Items: the user's own submissions as `OwnIntents` says. A video that a remote shows is registered, whoever
/// handed it in; until then it is the user's own alone, and the submission made last stands for it. Popular is
/// by the views that the remote counts: what is not counted yet moves no row, so that all see one order.
public struct SubmissionList: Projection {
    /// Makes the projection.
    public init() {}

    /// `submissions`.
    public var name: String { "submissions" }
    /// 1.
    public var version: Int { 1 }
    /// `video`.
    public var tagKind: String { "video" }
    /// What is handed in, what a remote shows of it, and what became of it.
    public var eventTypes: [EventType] {
        [VideoSubmitted.eventType, SubmissionObserved.eventType, IntentOutcome.eventType]
    }
    /// Any: sightings merge field by field, and intents wait by themselves.
    public var law: FoldLaw { .any }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        What a remote shows of the video counts, newer over older; until one does, the \
        user's last submission stands for it.
        """
    }
    /// Three: those opened most first, the newest first, and the user's own that no remote shows.
    public var tables: [String] { ["popular", "new", "waiting"] }

    /// What is known of a video that was handed in.
    public struct State: ProjectionState, Equatable {
        /// All that remotes have shown.
        var sightings = SightingStack<SubmissionObserved>()
        /// The user's own submission that was made last and is not dropped.
        var own: OwnIntent?
        /// What was said of it.
        var outcome: IntentOutcome?

        /// Nothing.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            sightings = try SightingStack(decoding: &bytes)
            own = try bytes.optional { (reader) throws(ModelError) in
                try OwnIntent(decoding: try reader.bytes())
            }
            outcome = try bytes.optional { (reader) throws(ModelError) in
                try IntentOutcome(decoding: try reader.bytes())
            }
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            sightings.encode(into: &bytes)
            bytes.add(own) { $0.add($1.encoded) }
            bytes.add(outcome) { $0.add($1.encoded) }
        }
    }

    /// Folds a submission, a sighting or an outcome.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: _ = try key.addIntent(event)
        case 1:
            let sighting = try event.decode(SubmissionObserved.self).normalized()
            key.state.sightings.add(sighting, payload: event.payload, order: event.order)
            return
        default: _ = try key.addOutcome(event)
        }
        (key.state.own, key.state.outcome) = try key.lastWaitingIntent ?? (nil, nil)
    }

    /// Rows for a video that a remote lists, else one for the user's own submission.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        var value = StateWriter()
        state.encode(into: &value)
        guard let shown = state.sightings.merged else {
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

extension SubmissionObserved: PartialSighting {
    static let sightingFields: [SightingField<SubmissionObserved>] = [
        SightingField(\.video),
        SightingField(\.hasURL, \.url),
        SightingField(\.hasTitle, \.title),
        SightingField(\.hasThumbnail, \.thumbnail),
        SightingField(\.hasOwner, \.owner),
        SightingField(\.hasCreatedAt, \.createdAt),
        SightingField(\.hasViews, \.views),
        SightingField(\.hasChannel, \.channel),
        SightingField(\.hasPostedAs, \.postedAs),
    ]
}
