public import TapedeckModel
public import TapedeckProjections

/// The videos on the lists that remotes keep: streams, channel dashboards and rolls.
///
/// An entry has the content of its newest observation, and on each list, a video has the position
/// of its newest entry. Items:
///
/// | name | value |
/// |---|---|
/// | `e` list entry | `Entry`: the newest observation |
/// | `t` list time entry | empty; the item exists while the entry is on the list |
/// | `g` list | the time of the newest `t` entry on a list that contains the video |
///
/// Table 0 contains the entries of each list, newest first. The rows of table 0 come from the
/// items, so an observation changes at most one row, regardless of the number of lists that contain
/// the video.
public struct VideoLists: Projection {
    /// Creates the projection.
    public init() {}

    /// `lists`.
    public var name: String { "lists" }
    /// 1.
    public var version: Int { 1 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Observations of list entries.
    public var eventTypes: [EventType] { [VideoListed.eventType] }
    /// Events can be folded in any order, because the fold order determines the newest observation
    /// of an entry.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        Each entry has the content of its newest observation; on each list, a video has the \
        position of its newest entry.
        """
    }
    /// One table, which contains the entries of all lists.
    public var tables: [String] { ["newest-first"] }
    /// True, because the rows of table 0 come from the items.
    public var itemsYieldRows: Bool { true }

    /// The number of lists that contain a video.
    public struct State: ProjectionState, Equatable {
        var lists: UInt64 = 0

        /// Creates the state of a video that is not on any list.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { lists = try bytes.uint64() }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) { bytes.add(lists) }
    }

    /// The newest observation of an entry.
    struct Entry: Equatable {
        var order: FoldOrder
        /// The time at which the video was added to the list, in Unix milliseconds; 0 if the remote
        /// does not report it.
        var time: Int64
        var isRemoved: Bool

        init(order: FoldOrder, time: Int64, isRemoved: Bool) {
            self.order = order
            self.time = time
            self.isRemoved = isRemoved
        }

        init(decoding bytes: [UInt8]) throws(ModelError) {
            self = try StateReader.read(bytes) { (reader) throws(ModelError) in
                Entry(
                    order: try reader.foldOrder(), time: try reader.int64(),
                    isRemoved: try reader.bool())
            }
        }

        var encoded: [UInt8] {
            var writer = StateWriter()
            writer.add(order)
            writer.add(time)
            writer.add(isRemoved)
            return writer.bytes
        }
    }

    private static let list: [UInt8] = [UInt8(ascii: "g")]

    private static func name(_ letter: Character, _ list: String) -> RowKey {
        RowKey().text(String(letter) + list)
    }

    /// Returns the prefix of the names of the `t` items for a list.
    static func shown(on list: String) -> [UInt8] { name("t", list).bytes }

    /// Folds an observation.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let said = try event.decode(VideoListed.self)
        let entry = Entry(
            order: event.order, time: said.hasListedAt ? said.listedAt.milliseconds : 0,
            isRemoved: said.removed)
        let name = VideoLists.name("e", said.list).text(said.entry)
        func place(_ entry: Entry) -> RowKey {
            VideoLists.name("t", said.list).ascending(entry.time).text(said.entry)
        }
        if let before = try key.item(name).map({ try Entry(decoding: $0) }) {
            guard before.order < entry.order else { return }
            if !before.isRemoved { key.removeItem(place(before)) }
        }
        key.setItem(name, entry.encoded)
        if !entry.isRemoved { key.setItem(place(entry), []) }
        let standing = VideoLists.name("t", said.list)
        let skipped = standing.bytes.count
        let newest = key.lastItem(prefix: standing).map { Array($0.name[skipped...].prefix(8)) }
        let list = RowKey(VideoLists.list + Array(said.list.utf8))
        let held = key.item(list)
        guard held != newest else { return }
        if let newest {
            key.setItem(list, newest)
            if held == nil { key.state.lists += 1 }
        } else {
            key.removeItem(list)
            key.state.lists -= 1
        }
    }

    /// Adds a row for each list that contains the video.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        guard item.key.starts(with: VideoLists.list) else { return }
        let time = item.value.bigEndianWord
        let list = Array(item.key.dropFirst(VideoLists.list.count)).utf8Text
        rows.add(table: 0, key: RowKey().text(list).descending(time).text(key.name))
    }
}
