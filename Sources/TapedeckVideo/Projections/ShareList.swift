public import TapedeckModel
public import TapedeckProjections

/// The user's shares of videos, and their recipients.
///
/// Items: `s` order → `Share`. Table 0 contains the shares, latest first. The rows of table 0 come
/// from the items.
public struct ShareList: Projection {
    /// Creates the projection.
    public init() {}

    /// `shares`.
    public var name: String { "shares" }
    /// 1.
    public var version: Int { 1 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Shares of videos.
    public var eventTypes: [EventType] { [VideoShared.eventType] }
    /// Events can be folded in any order, because shares are independent of each other.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        "Every share is listed once; the latest comes first."
    }
    /// One table: the list.
    public var tables: [String] { ["last-first"] }
    /// True, because the rows of table 0 come from the items.
    public var itemsYieldRows: Bool { true }

    /// The number of times a video was shared.
    public struct State: ProjectionState, Equatable {
        var count: UInt64 = 0

        /// Creates the state of a video that has never been shared.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { count = try bytes.uint64() }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) { bytes.add(count) }
    }

    private static let prefix: [UInt8] = [UInt8(ascii: "s")]

    /// A share, as stored in items and rows.
    struct Share {
        var event: String
        /// The time in Unix milliseconds.
        var at: Int64
        var payload: [UInt8]

        init(event: String, at: Int64, payload: [UInt8]) {
            (self.event, self.at, self.payload) = (event, at, payload)
        }

        init(decoding bytes: [UInt8]) throws(ModelError) {
            self = try StateReader.read(bytes) { (reader) throws(ModelError) in
                Share(
                    event: try reader.string(), at: try reader.int64(),
                    payload: try reader.bytes())
            }
        }

        var encoded: [UInt8] {
            var writer = StateWriter()
            writer.add(event)
            writer.add(at)
            writer.add(payload)
            return writer.bytes
        }
    }

    /// Folds a share.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let name = RowKey(ShareList.prefix + event.order.item)
        guard key.item(name) == nil else { return }
        let share = Share(
            event: event.id.description, at: Int64(event.stamp.milliseconds),
            payload: event.payload.withUnsafeBytes { Array($0) })
        key.setItem(name, share.encoded)
        key.state.count += 1
    }

    /// Adds a row for each share.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        let share = try Share(decoding: item.value)
        rows.add(
            table: 0,
            key: RowKey().descending(share.at).raw(item.key.dropFirst(ShareList.prefix.count)),
            value: item.value)
    }
}
