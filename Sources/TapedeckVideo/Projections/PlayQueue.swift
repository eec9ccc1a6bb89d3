public import TapedeckModel
public import TapedeckProjections

/// What is to be played, one video behind the other.
///
/// A video stands in a queue once. Events fold in canonical order, each as what it says of the queue as it
/// then is, so that devices that change a queue at the same time end with the same one: a video that is
/// appended twice stays where it is; one that is to be played next moves behind the video that its event
/// names, or to the front where that is not in the queue.
///
/// | item | value |
/// |---|---|
/// | `e` video | `QueueEntry`: its neighbours, and its place |
///
/// Places are numbers with room between them; a video that moves in between two takes the middle. Where
/// there is none, all are given anew, which happens once in `log2(gap)` moves to one place at the most. Table
/// 0 holds the entries of all queues by place, and is made of the items, so that an event costs what it
/// changes.
public struct PlayQueue: Projection {
    /// Makes the projection.
    public init() {}

    /// The queue of an account that has no more than one.
    public static let defaultName = "default"
    /// The most videos in a queue; what goes beyond is refused where it is decided.
    public static let videosMax = 10_000

    /// `queue`.
    public var name: String { "queue" }
    /// 1.
    public var version: Int { 1 }
    /// `queue`.
    public var tagKind: String { "queue" }
    /// What changes a queue.
    public var eventTypes: [EventType] {
        [
            VideoQueued.eventType, VideoQueuedNext.eventType, VideoUnqueued.eventType,
            QueueCleared.eventType,
        ]
    }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        The changes are made one after the other, in the order in which they happened; a \
        video stands in the queue once.
        """
    }
    /// One: the entries.
    public var tables: [String] { ["by-place"] }
    /// Yes.
    public var itemsYieldRows: Bool { true }

    /// The tag of a queue; an empty name stands for the default.
    public static func tag(_ name: String) throws(ModelError) -> Tag {
        try Tag("queue", name.isEmpty ? defaultName : name)
    }

    /// The ends of a queue.
    public struct State: ProjectionState, Equatable {
        /// The first video's key, and the last one's; nil where the queue is empty.
        var head: String?
        var tail: String?
        var count: UInt64 = 0

        /// An empty queue.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws {
            head = try bytes.optionalString()
            tail = try bytes.optionalString()
            count = try bytes.uint64()
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(head)
            bytes.add(tail)
            bytes.add(count)
        }
    }

    /// Folds a change.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let at = Int64(event.stamp.milliseconds)
        switch event.typeIndex {
        case 0:
            let video = try event.decode(VideoQueued.self).normalized().video
            guard key.item(QueueEntry.name(video)) == nil else { return }
            try QueueEntry.link(video, behind: key.state.tail, at: at, &key)
        case 1:
            let said = try event.decode(VideoQueuedNext.self).normalized()
            try QueueEntry.unlink(said.video, &key)
            let after =
                said.hasAfter && key.item(QueueEntry.name(said.after)) != nil ? said.after : nil
            try QueueEntry.link(said.video, behind: after, at: at, &key)
        case 2: try QueueEntry.unlink(try event.decode(VideoUnqueued.self).normalized().video, &key)
        default:
            while let item = key.firstItem(prefix: RowKey(QueueEntry.prefix)) {
                key.removeItem(RowKey(item.name))
            }
            key.state = State()
        }
    }

    /// A row for an entry.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        let entry = try QueueEntry(decoding: item.value)
        let video = Array(item.key.dropFirst(QueueEntry.prefix.count)).utf8Text
        rows.add(
            table: 0, key: RowKey().text(key.name).ascending(entry.place).text(video),
            value: item.value)
    }
}
