public import TapedeckModel
public import TapedeckProjections

/// The play queues, each an ordered list of videos.
///
/// A queue contains each video at most once. Events are folded in canonical order, so devices that
/// change a queue at the same time end up with the same queue. Appending a video that is already in
/// the queue does not move it. `VideoQueuedNext` places a video after the video named by the event,
/// or at the front if the named video is not in the queue.
///
/// | item | value |
/// |---|---|
/// | `e` video | `QueueEntry`: its neighbours and its place |
///
/// Places are numbers with gaps between them. A video that moves between two others is placed
/// halfway between them. When a gap is used up, all places are reassigned, at most once every
/// `log2(gap)` moves to the same spot. Table 0 contains the entries of all queues, sorted by place.
/// The rows of table 0 come from the items, so an event rewrites only the rows of the entries that
/// it changes.
public struct PlayQueue: Projection {
    /// Creates the projection.
    public init() {}

    /// The name that replaces an empty queue name.
    public static let defaultName = "default"
    /// The maximum number of videos in a queue; commands refuse to add more.
    public static let videosMax = 10_000

    /// `queue`.
    public var name: String { "queue" }
    /// 1.
    public var version: Int { 1 }
    /// `queue`.
    public var tagKind: String { "queue" }
    /// Changes to queues.
    public var eventTypes: [EventType] {
        [
            VideoQueued.eventType, VideoQueuedNext.eventType, VideoUnqueued.eventType,
            QueueCleared.eventType,
        ]
    }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        The changes apply one after another, in the order in which they happened; a queue \
        contains a video at most once.
        """
    }
    /// One table, which contains the entries of all queues.
    public var tables: [String] { ["by-place"] }
    /// True, because the rows of table 0 come from the items.
    public var itemsYieldRows: Bool { true }

    /// Returns the tag of a queue; an empty name means the default queue.
    public static func tag(_ name: String) throws(ModelError) -> Tag {
        try Tag("queue", name.isEmpty ? defaultName : name)
    }

    /// The first and last videos of a queue, and the number of videos.
    public struct State: ProjectionState, Equatable {
        /// The keys of the first and last videos; nil if the queue is empty.
        var head: String?
        var tail: String?
        var count: UInt64 = 0

        /// Creates an empty queue.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws {
            head = try bytes.optionalString()
            tail = try bytes.optionalString()
            count = try bytes.uint64()
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(head)
            bytes.add(tail)
            bytes.add(count)
        }
    }

    /// Folds a change to a queue.
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

    /// Adds a row for an entry.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        let entry = try QueueEntry(decoding: item.value)
        let video = Array(item.key.dropFirst(QueueEntry.prefix.count)).utf8Text
        rows.add(
            table: 0, key: RowKey().text(key.name).ascending(entry.place).text(video),
            value: item.value)
    }
}
