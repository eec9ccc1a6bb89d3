public import TapedeckModel
public import TapedeckProjections

/// The videos that were shared more than once, and by which broadcasts.
///
/// Items: `BroadcastItems`; what is known of a broadcast is nothing but its place. Table 0 holds
/// the videos with more than one broadcast, by their keys.
public struct DuplicateIndex: Projection {
    /// Which broadcast stands for all.
    public let winner: WinnerRule

    /// Makes the projection.
    public init(winner: WinnerRule = .oldest) { self.winner = winner }

    /// `duplicates`.
    public var name: String { "duplicates" }
    /// 1.
    public var version: Int { 1 }
    /// The winner's rule.
    public var parameters: String { "winner=\(winner.rawValue)" }
    /// `video`.
    public var tagKind: String { "video" }
    /// What is shared.
    public var eventTypes: [EventType] { [BroadcastReceived.eventType] }
    /// Any: the newest sighting that tells a time is kept with its order.
    public var law: FoldLaw { .any }
    /// One: the index.
    public var tables: [String] { ["by-key"] }

    /// How often a video was shared.
    public struct State: ProjectionState, Equatable {
        var broadcasts: UInt64 = 0
        var winner: BroadcastPlace?

        /// Never.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            broadcasts = try bytes.uint64()
            winner = try bytes.optional { (reader) throws(ModelError) in
                BroadcastPlace(time: try reader.int64(), id: try reader.bytes())
            }
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(broadcasts)
            bytes.add(winner) { writer, place in
                writer.add(place.time)
                writer.add(place.id)
            }
        }
    }

    /// Folds a sighting of a broadcast.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let wire = try BroadcastWire(event.payload)
        let id = event.payload.bytes(wire.broadcast)
        let name = BroadcastItems.name(id: id)
        let place = BroadcastPlace(time: wire.createdAt ?? 0, id: id)
        guard let bytes = key.item(name) else {
            key.state.broadcasts += 1
            let order = wire.createdAt == nil ? nil : event.order
            key.setItem(name, Timing(order: order, place).encoded)
            key.setItem(BroadcastItems.name(place), [])
            if key.state.winner.map({ winner.prefers(place, to: $0) }) ?? true {
                key.state.winner = place
            }
            return
        }
        // A sighting without a time moves nothing, so only those with one compete.
        let held = try Timing(decoding: bytes)
        guard wire.createdAt != nil, held.order.map({ $0 < event.order }) ?? true else { return }
        key.setItem(name, Timing(order: event.order, place).encoded)
        guard held.time != place.time else { return }
        key.removeItem(BroadcastItems.name(BroadcastPlace(time: held.time, id: id)))
        key.setItem(BroadcastItems.name(place), [])
        let list = RowKey(BroadcastItems.byTime)
        let found = winner == .oldest ? key.firstItem(prefix: list) : key.lastItem(prefix: list)
        key.state.winner = found.flatMap { BroadcastItems.place(name: $0.name) }
    }

    /// One row for a video that was shared more than once.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard state.broadcasts > 1 else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(table: 0, key: RowKey().text(key.name), value: value.bytes)
    }
}

/// When a broadcast was shared, and which sighting says so.
private struct Timing {
    /// The newest sighting that tells a time; nil where none does.
    let order: FoldOrder?
    let time: Int64

    init(order: FoldOrder?, _ place: BroadcastPlace) {
        self.order = order
        time = place.time
    }

    init(decoding bytes: [UInt8]) throws(ModelError) {
        (order, time) = try StateReader.read(bytes) { (reader) throws(ModelError) in
            let order = try reader.optional { (reader) throws(ModelError) in
                try reader.foldOrder()
            }
            return (order, try reader.int64())
        }
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        writer.add(order) { $0.add($1) }
        writer.add(time)
        return writer.bytes
    }
}
