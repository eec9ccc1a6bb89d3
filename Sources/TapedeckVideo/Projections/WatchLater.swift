public import TapedeckModel
public import TapedeckProjections

/// The rule for removing viewed videos from the watch-later list.
public enum WatchLaterRule: String, Sendable {
    /// A viewing removes the video when it reaches 75 % of the duration, regardless of when it
    /// began.
    case crossing
    /// As in the 2012 app, a viewing removes the video when the viewing passes 75 %, but only if
    /// the video was on the list when the viewing began. If the video is added to the list only
    /// during the viewing, the viewing does not remove it. If the video was on the list when the
    /// viewing began, the viewing removes it even if it was taken off the list and added again in
    /// the meantime.
    case rule2012 = "2012"
}

/// The videos that the user wants to watch later, and the time at which each was added.
///
/// The video is on the list while it has a **mark**. A toggle sets a mark, with the toggle's stamp
/// as its time. A remote sets a mark by showing one of the video's broadcasts as marked.
/// Consecutive observations of a marked broadcast form a **run**; the time of the remote's mark is
/// the version of the first observation in the run. A **clear** is either a toggle-off or a
/// **crossing**: a viewing's first report at or after 75 % of a known duration. A clear removes all
/// earlier marks; if a remote withdraws the mark of a broadcast, only that mark is removed. A
/// viewing crosses 75 % only once: a mark set after the crossing remains until another viewing
/// crosses 75 %.
///
/// Because a clear removes all earlier marks, only the latest clear and the marks after it count.
/// The order in which events arrive therefore does not affect the items or the state:
///
/// | item | value |
/// |---|---|
/// | `m` order | the event id of a toggle that set the mark after the latest clear |
/// | `p` time id | empty: a run that began after the latest clear |
/// | `t` time id | empty: a current run that was not started by a toggle from this store |
/// | `x` id | empty: a current run that was started by a toggle from this store |
/// | `b` id | the `ObservedBroadcast`; the first of these items is in the state |
/// | `v` viewing | the order of the viewing's first crossing |
/// | `k` event id | `DeliveredMark`s: the broadcasts that carry a toggle's mark on a remote |
/// | `d` id | the versions at which toggles were confirmed on the broadcast |
///
/// Once a remote has confirmed a toggle that set a mark, the remote controls the mark: if the
/// remote withdraws the mark in a later version, the mark is removed here, too. If a run begins at
/// the version at which the toggle was confirmed, the run shows the toggle's own mark and does not
/// set a second one. The mark keeps the time of the toggle, no matter how long the remote took to
/// confirm the toggle.
///
/// Table 2 contains the list in timeline order: the video with the most recently created broadcast
/// on the remote comes first. Table 1 contains the videos that are not on the list, but that a
/// remote still shows as marked. Such a mark was cleared by a viewing, or by a toggle-off that was
/// delivered to the remote before the toggle-on that set the mark. `WatchLaterUnset` reads table 1
/// to remove these marks on the remote.
///
/// In two cases, a fold requests a refold to restore marks that were removed. First, the latest
/// clear is a crossing, and a late report shows that the viewing crossed 75 % earlier. Second, an
/// observation without the mark arrives late and splits a run.
///
/// With `.rule2012`, the result depends on whether the video was on the list during a viewing, so
/// events are folded in canonical order. With this rule, runs that have ended are ignored.
public struct WatchLater: Projection {
    /// The rule for removing viewed videos.
    public let rule: WatchLaterRule

    /// Creates the projection.
    public init(rule: WatchLaterRule = .crossing) { self.rule = rule }

    /// The crossing point of a viewing, as a fraction of the duration.
    public static let crossingFraction = 0.75

    /// Whether a position is before, at or beyond the crossing point of a viewing.
    enum Reach: Comparable { case before, at, beyond }

    /// Compares a position with the crossing point of a duration; returns `.before` if either is
    /// unknown.
    ///
    /// The comparison uses whole microseconds, because in binary floating-point arithmetic, 48.3 is
    /// less than 75 % of 64.4.
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
    /// The version is 15, or 16 with the 2012 rule.
    public var version: Int { rule == .rule2012 ? 16 : 15 }
    /// The rule.
    public var parameters: String { "rule=\(rule.rawValue)" }
    /// `video`.
    public var tagKind: String { "video" }
    /// Toggles, playback reports, observations of broadcasts, and confirmations.
    public var eventTypes: [EventType] {
        [
            WatchLaterToggled.eventType, PlaybackProgressed.eventType, BroadcastReceived.eventType,
            IntentOutcome.eventType,
        ]
    }
    /// Any order for the `crossing` rule, canonical order for the 2012 rule.
    public var law: FoldLaw { rule == .crossing ? .any : .canonical }
    /// True, because compaction removes superseded playback reports.
    public var foldsCompacted: Bool { true }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        let crossing =
            rule == .crossing
            ? "a viewing that reaches 75 % removes the video"
            : "a viewing that began with the video on the list removes the video on passing 75 %"
        return """
            The user's toggles and the marks on remotes put the video on the list; a toggle \
            off removes all earlier marks, and \(crossing).
            """
    }
    /// Three tables: the list by time of the mark, the videos whose marks a remote has to remove,
    /// and the list by latest share.
    public var tables: [String] { ["oldest-mark-first", "to-tell", "shared-last-first"] }

    enum Table {
        static let sharedLast = 2
    }

    /// A summary of a video's marks and its latest clear.
    public struct State: ProjectionState, Equatable {
        /// The order of the latest clear.
        var clear = FoldOrder.start
        /// The time of the earliest remaining mark, in Unix milliseconds.
        var since: Int64?
        /// The event of the latest clear: a toggle-off, or the report with which a viewing reached
        /// the crossing point.
        var clearedBy: EventID?
        var isCrossing = false
        /// The time of the earliest mark that was set on a remote and is still shown there, in Unix
        /// milliseconds.
        var earliestTold: Int64?
        /// Whether a remote shows a mark that this store delivered.
        var isOwnTold = false
        /// The time of the latest share that the remote has, in Unix milliseconds; nil if unknown.
        var sharedAt: Int64?
        /// The first broadcast, which only folds need.
        var firstBroadcast: FirstItem?

        /// Creates the state of a video that is not on the list.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws {
            clear = try bytes.foldOrder(usually: .start)
            since = try bytes.optionalInt64()
            clearedBy = try bytes.optionalEventID()
            isCrossing = try bytes.bool()
            earliestTold = try bytes.optionalInt64()
            isOwnTold = try bytes.bool()
            sharedAt = try bytes.optionalInt64()
            firstBroadcast = try FirstItem.last(of: &bytes)
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(clear, usually: .start)
            bytes.add(since)
            bytes.add(clearedBy)
            bytes.add(isCrossing)
            bytes.add(earliestTold)
            bytes.add(isOwnTold)
            bytes.add(sharedAt)
            bytes.add(firstBroadcast) { $1.encode(into: &$0) }
        }
    }

    /// Folds a toggle, a playback report, an observation of a broadcast or a confirmation.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        // A viewing neither reads nor changes broadcasts.
        if event.typeIndex == 1 { return try foldProgress(event, into: &key) }
        let items = try FirstItemStore.of(&key, Marks.broadcast, key.state.firstBroadcast)
        switch event.typeIndex {
        case 0: try foldToggle(event, into: &key)
        case 2: try foldBroadcast(event, into: &key)
        default: try foldConfirmation(event, into: &key)
        }
        items.keep(in: &key.state.firstBroadcast)
    }

    /// Adds two rows for a video on the list, and another row if a remote has to remove the mark.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        if let since = state.since {
            rows.add(table: 0, key: RowKey().ascending(since).text(key.name))
            rows.add(
                table: Table.sharedLast,
                key: RowKey().descending(state.sharedAt ?? 0).text(key.name))
        }
        // A toggle-off is delivered separately. This condition finds the marks that a remote still
        // shows after the toggle-off was delivered.
        let isTold =
            state.isOwnTold
            || state.isCrossing
                && state.earliestTold.map { Marks.instant($0) < state.clear } ?? false
        if let event = state.clearedBy, isTold, state.since == nil {
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
            // The field numbers are defined in schema/tapedeck/video/v1/videos.proto.
            if field.number == 2 { isOn = field.bool }
        }
        guard !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload is not a WatchLaterToggled")
        }
        if isOn {
            guard key.state.clear < event.order else { return }
            let id = event.id.textBytes
            guard try !DeliveredMark.isTakenBack(id, key) else { return }
            key.setItem(Marks.name(event.order), id)
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
        // Most reports are before the crossing point and need no item.
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
            // The viewing crossed 75 % earlier than previously known. If the later crossing is the
            // latest clear, marks set between the two crossings may have to be restored.
            guard held != key.state.clear else {
                key.requestRefold()
                return
            }
        }
        key.setItem(viewing, order.item)
        Marks.clear(before: order, by: event, isCrossing: true, &key)
    }

    /// Relies on canonical order: the first report of a viewing determines whether the viewing can
    /// remove the video.
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
        let name = RowKey(event.payload.bytes(wire.broadcast, after: Marks.broadcast))
        let before = try key.item(name).map { bytes throws(ModelError) in
            try ObservedBroadcast(decoding: bytes)
        }
        var broadcast = before ?? ObservedBroadcast(wire, order: event.order)
        broadcast.add(wire, order: event.order)
        // A broadcast that the remote no longer has is not marked there.
        if let isMarked = wire.isRemoved ? false : wire.watchLater {
            let time = event.fact.map { Int64(clamping: $0.version) } ?? wire.createdAt ?? 0
            guard broadcast.run.add(isMarked, at: event.order, time: time) else {
                key.requestRefold()
                return
            }
        }
        guard broadcast != before else { return }
        key.setItem(name, broadcast.encoded)
        try Marks.reshare(from: before?.sharedAt, to: broadcast.sharedAt, &key)
        let (run, old) = (broadcast.run, before?.run)
        if run.fall != old?.fall {
            try Marks.takeBack(&key)
            Marks.refresh(&key)
        }
        guard run.begin?.time != old?.begin?.time else { return }
        let id = event.payload.bytes(wire.broadcast)
        try Marks.retell(id, from: old?.begin?.time, to: run.begin?.time, &key)
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

/// The state of a viewing under the 2012 rule.
private enum Viewing2012 {
    /// The video was not on the list when the viewing began.
    static let idle: [UInt8] = [0]
    /// The video was on the list, and the viewing has not removed it yet.
    static let armed: [UInt8] = [1]
    /// The viewing removed the video; it does so only once.
    static let fired: [UInt8] = [2]
}
