internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// How often videos were opened: what a remote counts, and openings of the user that are not in it yet.
///
/// A viewer counts once in a **window**: the opening that begins it counts, those within `window` of it do
/// not, and the first behind it begins the next one. A viewing counts by its first report alone, whatever
/// device reports it and however late. An opening that counts is the user's own until a remote was read
/// behind its being told; one that was refused or dropped counts no more. One of which nobody knows whether
/// the remote took it passes for taken: a count that is too low by one is better than one that goes up
/// twice. So it is where a device has told of another report of the same window, before it heard of the one
/// that counts. What a remote shows without a time says nothing about what is in it. Table 0 holds one row
/// a video, with its state.
///
/// | item | value |
/// |---|---|
/// | `w` viewer | the opening that began the viewer's last window: a `Report` |
/// | `v` viewing | its first report, and the opening that counts for it: a `Report` |
/// | `a` event-id | an opening that counts: its `Standing` |
/// | `b` event-id | of a report that does not count, the opening that counts for it |
/// | `c` time event-id | nothing: one that was told then and is in no count yet |
/// | `o` event-id | the last `IntentOutcome` of an intent of the system that has this video |
/// | `t` event-id 0 time event-id | nothing: for the first, the second was told then |
///
/// A report asks for a refold where it comes before the beginning of its viewer's last window, or before
/// another report of its viewing.
public struct ViewCounts: Projection {
    /// How long a viewer counts once, in milliseconds.
    private let windowMilliseconds: Int64

    /// How long a viewer counts once where nothing is said: 24 hours.
    public static let windowDefault = Duration.seconds(86_400)

    /// Makes the projection.
    ///
    /// - Parameter window: how long a viewer counts once; a fraction of a millisecond is left out.
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
    /// Openings, what a remote counts, and what became of the former.
    public var eventTypes: [EventType] {
        [VideoOpened.eventType, SubmissionObserved.eventType, IntentOutcome.eventType]
    }
    /// Any: reports that come out of their order ask for a refold where that makes a difference.
    public var law: FoldLaw { .any }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        A viewer counts once in a window, by the opening that begins it; the remote's \
        newest count takes in the openings that it has confirmed.
        """
    }
    /// One: the videos that were opened.
    public var tables: [String] { ["by-video"] }

    /// How often a video was opened.
    public struct State: ProjectionState, Equatable {
        /// The newest sighting that tells a count.
        private(set) var sighting: FoldOrder?
        /// What it tells.
        public private(set) var observed: UInt64 = 0
        /// Openings of the user that count and are not in what it tells.
        public fileprivate(set) var uncounted: UInt64 = 0

        /// Never.
        public init() {}

        /// Whether a remote tells a count.
        public var isObserved: Bool { sighting != nil }

        /// Up to when openings that were confirmed are in the count, in Unix milliseconds.
        var countedUntil: UInt64 { sighting?.observedVersion ?? 0 }

        /// Takes a sighting; false where a newer one was taken.
        fileprivate mutating func take(_ views: UInt64, _ order: FoldOrder) -> Bool {
            guard sighting.map({ $0 < order }) ?? true else { return false }
            (sighting, observed) = (order, views)
            return true
        }

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws {
            sighting = try bytes.optional { (reader) throws(ModelError) in
                try reader.foldOrder()
            }
            observed = try bytes.uint64()
            uncounted = try bytes.uint64()
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(sighting) { $0.add($1) }
            bytes.add(observed)
            bytes.add(uncounted)
        }
    }

    /// Folds an opening, a sighting or an outcome.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: try foldOpening(event, into: &key)
        case 1:
            let sighting = try event.decode(SubmissionObserved.self)
            guard sighting.hasViews, key.state.take(sighting.views, event.order) else { return }
            try key.coverConfirmed()
        default:
            try foldOutcome(event, into: &key)
        }
    }

    private func foldOutcome(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        // That nobody knows what came of a request adds nothing to its having been sent.
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

    /// One row where there is a count, so that who shows it hears of it.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        // Outcomes of other intents have this key, too.
        guard state != State() else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(table: 0, key: RowKey().text(key.name), value: value.bytes)
    }

    private func foldOpening(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        let opening = try event.decode(VideoOpened.self).normalized()
        let (order, id) = (event.order, Array(event.id.description.utf8))
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

    /// Takes a report that does not count by itself.
    fileprivate mutating func add(_ id: [UInt8], to counting: [UInt8]) throws(ModelError) {
        setItem(ViewItems.other(id), counting)
        try tell(id, from: nil, to: try viewOutcome(of: id), for: counting)
    }

    /// Notes whether a remote was told of a report in the place of the one that counts.
    fileprivate mutating func tell(
        _ id: [UInt8], from old: IntentOutcome?, to new: IntentOutcome?, for counting: [UInt8]
    ) throws(ModelError) {
        guard old?.toldAt != new?.toldAt else { return }
        if let at = old?.toldAt { removeItem(ViewItems.told(counting, at, id)) }
        if let at = new?.toldAt { setItem(ViewItems.told(counting, at, id), []) }
        try judge(counting)
    }

    /// Says anew how an opening that counts stands, by what is known of it.
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

    /// Openings that were told before the newest sighting are in it.
    fileprivate mutating func coverConfirmed() throws(ModelError) {
        while let first = firstItem(prefix: RowKey(ViewItems.confirmed)),
            ViewItems.time(first.name) <= state.countedUntil
        {
            try judge(Array(first.name.dropFirst(9)))
        }
    }
}

extension IntentOutcome {
    /// When a remote was told, or may have been, in Unix milliseconds.
    fileprivate var toldAt: UInt64? {
        kind == .dispatched || kind == .confirmed ? order.activityMilliseconds : nil
    }
}
