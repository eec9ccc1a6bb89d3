internal import TapedeckModel
internal import TapedeckProjections
internal import TapedeckVideo

/// The broadcasts in the channels of Shelby's 2012 API, used to find removed broadcasts.
///
/// Items: `b` id → the state of the broadcast. Table 0 contains the broadcasts that are still on
/// the remote, grouped by channel.
struct ChannelBroadcasts: Projection {
    var name: String { "channel-broadcasts" }
    var version: Int { 1 }
    var tagKind: String { "video" }
    var eventTypes: [EventType] { [BroadcastReceived.eventType] }
    var ruleText: String? {
        "The observations of a broadcast are merged; the newest one decides whether it was removed."
    }
    var tables: [String] { ["by-channel"] }
    /// True, because only stores that sync with this API need the projection.
    var isOnDemand: Bool { true }
    var itemsYieldRows: Bool { true }

    struct State: ProjectionState, Equatable {
        init() {}
        init(decoding bytes: inout StateReader) {}
        func encode(into bytes: inout StateWriter) {}
    }

    /// The known state of a broadcast.
    private struct Broadcast {
        var channel: String?
        /// The time at which the video was shared, in Unix milliseconds; 0 if unknown.
        var time: Int64 = 0
        var version: UInt64 = 0
        var isRemoved = false

        init() {}

        init(_ bytes: [UInt8]) throws(ModelError) {
            self = try StateReader.read(bytes) { (reader) throws(ModelError) in
                var broadcast = Broadcast()
                broadcast.channel = try reader.optionalString()
                broadcast.time = try reader.int64()
                broadcast.version = try reader.uint64()
                broadcast.isRemoved = try reader.bool()
                return broadcast
            }
        }

        var encoded: [UInt8] {
            var writer = StateWriter()
            writer.add(channel)
            writer.add(time)
            writer.add(version)
            writer.add(isRemoved)
            return writer.bytes
        }
    }

    private static let prefix: [UInt8] = [UInt8(ascii: "b")]

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let observation = try event.decode(BroadcastReceived.self)
        let name = RowKey(ChannelBroadcasts.prefix + Array(observation.broadcast.utf8))
        var broadcast = try key.item(name).map { try Broadcast($0) } ?? Broadcast()
        if observation.hasChannel { broadcast.channel = observation.channel }
        if observation.hasCreatedAt { broadcast.time = observation.createdAt.milliseconds }
        broadcast.version = event.fact?.version ?? broadcast.version
        broadcast.isRemoved = observation.removed
        key.setItem(name, broadcast.encoded)
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {}

    func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        let broadcast = try Broadcast(item.value)
        guard let channel = broadcast.channel, !broadcast.isRemoved else { return }
        let id = Array(item.key.dropFirst(ChannelBroadcasts.prefix.count)).utf8Text
        var value = StateWriter()
        for text in [id, String(key.name)] { value.add(text) }
        value.add(broadcast.time)
        value.add(broadcast.version)
        rows.add(table: 0, key: RowKey().text(channel).text(id).text(key.name), value: value.bytes)
    }

    /// A broadcast that, according to this store, is on the remote.
    struct Known {
        var broadcast: String
        var video: Tag
        /// The time at which the video was shared, in Unix milliseconds; 0 if unknown.
        var time: Int64
        var version: UInt64
    }

    /// Returns the known broadcasts in a channel.
    static func known(in channel: String, _ views: some ViewReader) throws -> [Known] {
        let front = RowKey().text(channel)
        return try views.rows(
            of: ChannelBroadcasts(), table: 0, lower: front, upper: front.end, after: nil,
            limit: .max
        ).map { row in
            try StateReader.read(row.value) { (reader) throws(ModelError) in
                Known(
                    broadcast: try reader.string(),
                    video: Tag(unchecked: "video/" + (try reader.string())),
                    time: try reader.int64(), version: try reader.uint64())
            }
        }
    }
}
