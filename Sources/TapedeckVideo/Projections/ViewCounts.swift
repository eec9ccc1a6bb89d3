internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The number of times that each video was opened: a remote's count, plus the user's openings that
/// the count does not include yet.
///
/// A viewer is counted once per **window**, by the opening that starts the window. Further openings
/// are not counted until the window has passed. The first opening after that starts the next
/// window. Only the first report of a viewing is used, no matter which device reports it or how
/// late.
///
/// An opening that starts a window is added to the remote's count. Once the remote's count has been
/// read after the opening was sent, the count includes the opening, and the opening is no longer
/// added. A refused or dropped opening is never added. If the outcome of a request is unknown, the
/// opening is treated as accepted, because missing an opening is better than counting it twice. A
/// device that has not received the opening yet may send a report of its own in the same window.
/// The opening is then treated as accepted, too. If a remote's count has no time, it is unknown
/// which openings the count includes. Table 0 contains one row per video, with its state.
///
/// | item | value | |---|---| | `w` viewer | the opening that started the viewer's last window: a
/// `Report` | | `v` viewing | the viewing's first report and the opening counted for it: a `Report`
/// | | `a` event-id | an opening that started a window: its `Standing` | | `b` event-id | for a
/// report that started no window: the opening that is counted instead | | `c` time event-id |
/// empty; the item exists while no count includes the opening, which was sent at this time | | `o`
/// event-id | the last `IntentOutcome` of an intent for BirdTube | | `t` event-id 0 time event-id |
/// empty; the item exists if the report with the second id was sent at this time instead of the
/// opening with the first id |
///
/// A report requests a refold if it is earlier than the start of its viewer's last window, or
/// earlier than a known report of the same viewing.
public struct ViewCounts: Projection {
    /// The time, in milliseconds, during which a viewer is counted only once.
    private let windowMilliseconds: Int64

    /// The default window: 24 hours.
    public static let windowDefault = Duration.seconds(86_400)

    /// Creates the projection.
    ///
    /// - Parameter window: The time during which a viewer is counted only once, truncated to
    ///   milliseconds.
    public init(window: Duration = windowDefault) {
        let (seconds, attoseconds) = window.components
        windowMilliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }

    /// `view-counts`.
    public var name: String { "view-counts" }
    /// 2.
    public var version: Int { 2 }
    /// The window.
    public var parameters: String { "windowMilliseconds=\(windowMilliseconds)" }
    /// `video`.
    public var tagKind: String { "video" }
    /// The event types of openings, of counts from remotes, and of the outcomes of openings.
    public var eventTypes: [EventType] {
        [VideoOpened.eventType, SubmissionObserved.eventType, IntentOutcome.eventType]
    }
    /// Events can be folded in any order, because a report that arrives out of order requests a
    /// refold if the order matters.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        A viewer is counted once per window, by the opening that starts the window. The remote's \
        newest count includes the openings that were sent before the count was read.
        """
    }
    /// The only table, which contains the videos that were opened.
    public var tables: [String] { ["by-video"] }

    /// The view count of a video.
    public struct State: ProjectionState, Equatable {
        /// The order of the newest observation that contains a count.
        private(set) var observation: FoldOrder?
        /// The remote's count in that observation.
        public private(set) var observed: UInt64 = 0
        /// The number of the user's openings that are added to the remote's count, which does not
        /// include them yet.
        public fileprivate(set) var uncounted: UInt64 = 0

        /// Creates the state of a video that has never been opened.
        public init() {}

        /// Whether a remote has reported a count.
        public var isObserved: Bool { observation != nil }

        /// The time up to which the remote's count includes accepted openings, in Unix
        /// milliseconds.
        var countedUntil: UInt64 { observation?.observedVersion ?? 0 }

        /// Adds an observation; returns false if a newer observation has already been added.
        fileprivate mutating func take(_ views: UInt64, _ order: FoldOrder) -> Bool {
            guard observation.map({ $0 < order }) ?? true else { return false }
            (observation, observed) = (order, views)
            return true
        }

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws {
            observation = try bytes.optional { (reader) throws(ModelError) in
                try reader.foldOrder()
            }
            observed = try bytes.uint64()
            uncounted = try bytes.uint64()
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(observation) { $0.add($1) }
            bytes.add(observed)
            bytes.add(uncounted)
        }
    }

    /// Folds an opening, an observation or an outcome.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: try foldOpening(event, into: &key)
        case 1:
            let observation = try event.decode(SubmissionObserved.self)
            guard observation.hasViews, key.state.take(observation.views, event.order) else {
                return
            }
            try key.coverConfirmed()
        default:
            try foldOutcome(event, into: &key)
        }
    }

    private func foldOutcome(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        // An `unknown` outcome adds no information, because the dispatch already shows that the
        // request may have been sent.
        guard
            let (intent, outcome) = try IntentOutcome.read(
                event.payload, order: event.order, of: BirdTube.system),
            outcome.kind != .unknown
        else { return }
        let held = try key.viewOutcome(of: intent)
        if let held, held.order >= outcome.order { return }
        key.setItem(ViewItems.outcome(intent), outcome.encoded)
        if let counting = key.item(ViewItems.other(intent)) {
            try key.tell(intent, from: held, to: outcome, for: counting)
        } else if key.item(ViewItems.opening(intent)) != nil {
            try key.judge(intent)
        }
    }

    /// Adds a row unless the state is empty, so that observers are notified of changes.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        // The state is empty if the key has only outcomes of other intents.
        guard state != State() else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(table: 0, key: RowKey().text(key.name), value: value.bytes)
    }

    private func foldOpening(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        let opening = try event.decode(VideoOpened.self).normalized()
        let (order, id) = (event.order, event.id.textBytes)
        let (viewing, window) = (ViewItems.viewing(opening), ViewItems.window(opening))
        if let first = ViewItems.Report(item: key.item(viewing)) {
            guard first.order < order else { return key.requestRefold() }
            return try key.add(id, to: first.counting)
        }
        var report = ViewItems.Report(order, counting: id)
        if let begin = ViewItems.Report(item: key.item(window)) {
            guard begin.order < order else { return key.requestRefold() }
            let passed = Int64(event.stamp.milliseconds) - Int64(begin.order.activityMilliseconds)
            if passed < windowMilliseconds { report.counting = begin.counting }
        }
        key.setItem(viewing, report.item)
        guard report.counting == id else { return try key.add(id, to: report.counting) }
        key.setItem(window, report.item)
        try key.judge(id)
    }
}

extension KeyedState<ViewCounts.State> {
    fileprivate func viewOutcome(of id: [UInt8]) throws(ModelError) -> IntentOutcome? {
        try item(ViewItems.outcome(id)).map { bytes throws(ModelError) in
            try IntentOutcome(decoding: bytes)
        }
    }

    /// Adds a report that started no window; another opening is counted in its place.
    fileprivate mutating func add(_ id: [UInt8], to counting: [UInt8]) throws(ModelError) {
        setItem(ViewItems.other(id), counting)
        try tell(id, from: nil, to: try viewOutcome(of: id), for: counting)
    }

    /// Records whether, and when, a report was sent to a remote in place of the opening that
    /// started the window.
    fileprivate mutating func tell(
        _ id: [UInt8], from old: IntentOutcome?, to new: IntentOutcome?, for counting: [UInt8]
    ) throws(ModelError) {
        guard old?.toldAt != new?.toldAt else { return }
        if let at = old?.toldAt { removeItem(ViewItems.told(counting, at, id)) }
        if let at = new?.toldAt { setItem(ViewItems.told(counting, at, id), []) }
        try judge(counting)
    }

    /// Recomputes the status of an opening that started a window.
    fileprivate mutating func judge(_ id: [UInt8]) throws(ModelError) {
        let name = ViewItems.opening(id)
        let held = try item(name).map { bytes throws(ModelError) in
            try ViewItems.Standing(decoding: bytes)
        }
        let outcome = try viewOutcome(of: id)
        var standing = ViewItems.Standing.waiting
        if let kind = outcome?.kind, [.refused, .dropped].contains(kind) {
            standing = .void
        } else if let at = [
            outcome?.toldAt,
            firstItem(prefix: ViewItems.told(id)).map { ViewItems.time($0.name, of: id) },
        ].compactMap(\.self).min() {
            standing = at > state.countedUntil ? .confirmed(at) : .counted
        }
        if case .confirmed(let at) = held { removeItem(ViewItems.confirmed(at, id)) }
        if case .confirmed(let at) = standing { setItem(ViewItems.confirmed(at, id), []) }
        setItem(name, standing.encoded)
        if held?.isUncounted == true { state.uncounted -= 1 }
        if standing.isUncounted { state.uncounted += 1 }
    }

    /// Recomputes the status of the openings that were sent before the newest observation, whose
    /// count therefore includes them.
    fileprivate mutating func coverConfirmed() throws(ModelError) {
        while let first = firstItem(prefix: RowKey(ViewItems.confirmed)),
            ViewItems.time(first.name) <= state.countedUntil
        {
            try judge(Array(first.name.dropFirst(9)))
        }
    }
}

extension IntentOutcome {
    /// The time at which the opening was sent, or may have been sent, in Unix milliseconds; nil for
    /// outcomes other than dispatches and confirmations.
    fileprivate var toldAt: UInt64? {
        kind == .dispatched || kind == .confirmed ? order.activityMilliseconds : nil
    }
}
