public import TapedeckModel
public import TapedeckProjections

/// When a viewing takes a video off the list.
public enum WatchLaterRule: String, Sendable {
    /// At 75 % of the duration or beyond, whenever the viewing began.
    case crossing
    /// As in the app of 2012: beyond 75 %, and only in a viewing that began while the video was on
    /// the list. A mark set during playback does not count; one taken away and set again does.
    case rule2012 = "2012"
}

/// The videos that the user wants to see later, and since when.
///
/// A **mark** is set by a toggle, at its stamp, or by a remote that tells of the mark on one of the
/// video's broadcasts, at the version in which the current run of such tellings began. A **clear**
/// is a toggle off, or the crossing of a viewing: its first report at or beyond 75 % of a duration
/// that is known. A clear takes away all marks before it; a remote that withdraws the mark of a
/// broadcast takes away that broadcast's only. A viewing crosses once: a mark set behind its
/// crossing holds until another viewing crosses. The video is on the list while any mark is left.
///
/// Since a clear takes all earlier marks, the latest clear decides, and marks before it can be
/// forgotten. So any order of arrival gives the same items and the same state:
///
/// | item | value |
/// |---|---|
/// | `m` order | nothing: a toggle on behind the latest clear |
/// | `p` time id | nothing: a run of tellings that began behind the latest clear |
/// | `t` time id | nothing: a run of tellings that goes on and was not begun from here |
/// | `x` id | nothing: one that a toggle has begun, delivered from here |
/// | `b` id | `ObservedRun` of a broadcast |
/// | `v` viewing | where the viewing crossed first |
/// | `k` event id | `DeliveredMark`s: which broadcasts hold a toggle on for a remote |
/// | `d` id | the versions as of which the broadcast has held toggles |
///
/// A toggle that a remote has confirmed is the remote's own from then on: when the remote takes the mark
/// back in a later version, the toggle's mark goes with it. A run that begins with the version of such a
/// confirmation is that toggle and no mark of its own: it counts as of the toggle's stamp, however long the
/// remote took to say so.
///
/// Table 2 holds the list in the order of the timeline, the one shared last first, by the latest time that a
/// broadcast was told to be of. Table 1 holds the videos of which a remote has to be told: a viewing took the mark away, or a toggle off
/// did that was delivered before the toggle on, and some broadcast is still told as marked.
/// `WatchLaterUnset` reads its rows.
///
/// The two cases in which an earlier clear must come back ask for a refold: an earlier crossing of
/// the viewing whose crossing is the latest clear, and a withdrawal in the midst of a run.
///
/// `.rule2012` looks at the list in the middle of a viewing, so it folds in canonical order; the
/// runs of tellings that ended do not count in it.
public struct WatchLater: Projection {
    /// When a viewing takes a video off the list.
    public let rule: WatchLaterRule

    /// Makes the projection.
    public init(rule: WatchLaterRule = .crossing) { self.rule = rule }

    /// The part of the duration at which a viewing crosses.
    public static let crossingFraction = 0.75

    /// Where a position lies, seen from the mark at which a viewing crosses.
    enum Reach: Comparable { case before, at, beyond }

    /// Where a position lies in a duration; before the mark where either is not known.
    ///
    /// It counts in whole microseconds, since in binary fractions 48.3 is less than 75 % of 64.4.
    static func reach(of position: Double, in duration: Double) -> Reach {
        let range = 0...FieldLimits.secondsMax
        guard range.contains(duration), position > 0 else { return .before }
        func microseconds(_ seconds: Double) -> Double { (seconds * 1e6).rounded() }
        let whole = microseconds(duration)
        let mark = (crossingFraction * 4) * whole
        let place = 4 * microseconds(min(position, FieldLimits.secondsMax))
        guard whole > 0, place >= mark else { return .before }
        return place == mark ? .at : .beyond
    }

    /// `watch-later`.
    public var name: String { "watch-later" }
    /// 5; of the rule of 2012, 6.
    public var version: Int { rule == .rule2012 ? 6 : 5 }
    /// The rule.
    public var parameters: String { "rule=\(rule.rawValue)" }
    /// `video`.
    public var tagKind: String { "video" }
    /// Toggles, playback, what remotes tell, and what they confirm.
    public var eventTypes: [EventType] {
        [
            WatchLaterToggled.eventType, PlaybackProgressed.eventType, BroadcastReceived.eventType,
            IntentOutcome.eventType,
        ]
    }
    /// Any for the crossing, canonical for the rule of 2012.
    public var law: FoldLaw { rule == .crossing ? .any : .canonical }
    /// Yes.
    public var foldsCompacted: Bool { true }
    /// The rule in a sentence.
    public var ruleText: String? {
        let crossing =
            rule == .crossing
            ? "a viewing that reaches 75 % takes the video off"
            : "a viewing that began while the video was on the list and passes 75 % takes it off"
        return """
            The user's toggles and the marks that remotes tell of put the video on the list; a toggle \
            off takes all marks before it away, and \(crossing).
            """
    }
    /// The list, what remotes have to be told, and the list by what was shared last.
    public var tables: [String] { ["oldest-mark-first", "to-tell", "shared-last-first"] }

    enum Table {
        static let sharedLast = 2
    }

    /// Whether and since when a video is on the list.
    public struct State: ProjectionState, Equatable {
        /// The latest clear.
        var clear = FoldOrder.start
        /// The earliest mark that is left, in Unix milliseconds.
        var since: Int64?
        /// The latest clear's event: a toggle off, or the report that crossed.
        var clearedBy: EventID?
        var isCrossing = false
        /// The earliest mark that a remote tells and that was set there, in Unix milliseconds.
        var earliestTold: Int64?
        /// Whether a remote tells a mark that it was given from here.
        var isOwnTold = false
        /// When it was shared last, in Unix milliseconds; nil where nothing tells.
        var sharedAt: Int64?

        /// Not on the list.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws {
            clear = try bytes.foldOrder()
            since = try bytes.optionalInt64()
            clearedBy = try bytes.optionalEventID()
            isCrossing = try bytes.bool()
            earliestTold = try bytes.optionalInt64()
            isOwnTold = try bytes.bool()
            sharedAt = try bytes.optionalInt64()
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(clear)
            bytes.add(since)
            bytes.add(clearedBy)
            bytes.add(isCrossing)
            bytes.add(earliestTold)
            bytes.add(isOwnTold)
            bytes.add(sharedAt)
        }
    }

    /// Folds a toggle, a report of a player or a sighting of a broadcast.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: try foldToggle(event, into: &key)
        case 1: try foldProgress(event, into: &key)
        case 2: try foldBroadcast(event, into: &key)
        default: try foldConfirmation(event, into: &key)
        }
    }

    /// Two rows for a video on the list, and one where a remote has to be told.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        if let since = state.since {
            rows.add(table: 0, key: RowKey().ascending(since).text(key.name))
            rows.add(
                table: Table.sharedLast,
                key: RowKey().descending(state.sharedAt ?? 0).text(key.name))
        }
        // A toggle off is delivered as what it is; what it met on its way there is told behind it.
        let isTold =
            state.isOwnTold && state.since == nil
            || state.isCrossing
                && state.earliestTold.map { Marks.instant($0) < state.clear } ?? false
        if let event = state.clearedBy, isTold {
            rows.add(
                table: 1, key: RowKey().text(key.name),
                value: WatchLaterUnset(key: key, event: event).encoded)
        }
    }

    // MARK: - Toggles

    private func foldToggle(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        var isOn = false
        var fields = WireFields(event.payload)
        while let field = fields.next() {
            // Numbers as in schema/tapedeck/video/v1/videos.proto.
            if field.number == 2 { isOn = field.bool }
        }
        guard !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload is not a WatchLaterToggled")
        }
        if isOn {
            guard key.state.clear < event.order else { return }
            guard try !DeliveredMark.isTakenBack(event.id, key) else { return }
            key.setItem(Marks.name(event.order), Array(event.id.description.utf8))
            Marks.refresh(&key)
        } else {
            Marks.clear(before: event.order, by: event.id, isCrossing: false, &key)
        }
    }

    // MARK: - Playback

    private func foldProgress(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        let report = try ProgressWire(event.payload)
        let (position, duration) = (report.position, report.duration)
        let reach = WatchLater.reach(of: position, in: duration)
        // Most reports lie before the mark and cost no item.
        if rule == .crossing, reach == .before { return }
        let name = RowKey(event.payload.bytes(report.viewing, after: Marks.viewing))
        switch rule {
        case .crossing: foldCrossing(name, by: event.id, at: event.order, into: &key)
        case .rule2012:
            fold2012(
                name, isBeyond: reach == .beyond, by: event.id, at: event.order,
                &key)
        }
    }

    private func foldCrossing(
        _ viewing: RowKey, by event: EventID, at order: FoldOrder,
        into key: inout KeyedState<State>
    ) {
        if let bytes = key.item(viewing), let held = FoldOrder(item: bytes) {
            guard order < held else { return }
            // The viewing crossed earlier than was known. If its crossing was the latest clear,
            // marks that it took may be due again.
            guard held != key.state.clear else {
                key.requestRefold()
                return
            }
        }
        key.setItem(viewing, order.item)
        Marks.clear(before: order, by: event, isCrossing: true, &key)
    }

    /// Canonical order: a viewing's first report decides whether it is armed.
    private func fold2012(
        _ viewing: RowKey, isBeyond: Bool, by event: EventID, at order: FoldOrder,
        _ key: inout KeyedState<State>
    ) {
        let held = key.item(viewing)
        let isMarked = Marks.isMarked(at: order, key)
        if held == nil { key.setItem(viewing, isMarked ? Viewing2012.armed : Viewing2012.idle) }
        guard isBeyond, isMarked, held ?? Viewing2012.armed == Viewing2012.armed else { return }
        key.setItem(viewing, Viewing2012.fired)
        Marks.clear(before: order, by: event, isCrossing: true, &key)
    }

    // MARK: - Broadcasts

    private func foldBroadcast(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        let wire = try BroadcastWire(event.payload)
        if let time = wire.createdAt {
            key.state.sharedAt = max(time, key.state.sharedAt ?? time)
        }
        guard let isMarked = wire.watchLater else { return }
        let time = event.fact.map { Int64(clamping: $0.version) } ?? wire.createdAt ?? 0
        let name = RowKey(event.payload.bytes(wire.broadcast, after: Marks.broadcast))
        let before = try key.item(name).map { bytes throws(ModelError) in
            try ObservedRun(decoding: bytes)
        }
        var run = before ?? ObservedRun()
        guard run.add(isMarked, at: event.order, time: time) else {
            key.requestRefold()
            return
        }
        guard run != before else { return }
        key.setItem(name, run.encoded)
        if run.fall != before?.fall {
            try Marks.takeBack(&key)
            Marks.refresh(&key)
        }
        guard run.begin?.time != before?.begin?.time else { return }
        let id = event.payload.bytes(wire.broadcast)
        try Marks.retell(id, from: before?.begin?.time, to: run.begin?.time, &key)
    }

    // MARK: - Confirmations

    private func foldConfirmation(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws {
        guard let (intent, mark) = try DeliveredMark.read(event.payload) else { return }
        let name = DeliveredMark.name(of: intent)
        key.setItem(name, try DeliveredMark.adding(mark, to: key.item(name)))
        try DeliveredMark.note(mark, &key)
        if let time = try Marks.run(of: mark.broadcast, key)?.begin?.time {
            try Marks.retell(mark.broadcast, from: time, to: time, &key)
        }
        try Marks.takeBack(&key)
        Marks.refresh(&key)
    }
}

/// What a viewing does under the rule of 2012.
private enum Viewing2012 {
    /// The video was not on the list when it began.
    static let idle: [UInt8] = [0]
    /// It was, and the viewing has not fired.
    static let armed: [UInt8] = [1]
    /// It fired; it never does again.
    static let fired: [UInt8] = [2]
}
