import TapedeckModel
import TapedeckProjections
import Testing

/// The contents of a projection after events have arrived in some order, folded by the rules of the
/// runner.
///
/// Under `FoldLaw.canonical`, a late event triggers a refold of its key. Under `.any`, events are
/// folded as they arrive. If a fold requests a refold, the key is refolded in canonical order,
/// and no fold may request another refold while that happens.
final class FoldedProjection<P: Projection>: FoldedViews {
    private struct Key {
        var state = P.State()
        var items = MemoryItems()
        var events: [RecordedEvent] = []
        var last = FoldOrder.start
    }

    let projection: P
    private var keys: [Tag: Key] = [:]
    /// The number of times that keys were refolded.
    private(set) var refolds = 0

    init(_ projection: P, _ events: [RecordedEvent]) throws {
        self.projection = projection
        for event in events { try add(event) }
    }

    var name: String { projection.name }

    private func add(_ event: RecordedEvent) throws {
        guard projection.eventTypes.contains(event.proposal.type) else { return }
        for tag in event.proposal.tags where tag.kind == projection.tagKind {
            var key = keys[tag] ?? Key()
            defer { keys[tag] = key }
            key.events.append(event)
            switch projection.law {
            case .any:
                if try fold(event, tag, &key) { try refold(tag, &key) }
            case .canonical:
                if key.events.count > 1, event.order <= key.last {
                    try refold(tag, &key)
                } else {
                    _ = try fold(event, tag, &key)
                }
            }
        }
    }

    private func refold(_ tag: Tag, _ key: inout Key) throws {
        refolds += 1
        var folded = Key(events: key.events)
        for event in key.events.sorted(by: { $0.order < $1.order })
        where event.order != folded.last {
            #expect(
                try !fold(event, tag, &folded), "\(name) asks for a refold in canonical order")
        }
        key = folded
    }

    private func fold(_ event: RecordedEvent, _ tag: Tag, _ key: inout Key) throws -> Bool {
        var keyed = KeyedState<P.State>(key: tag, state: key.state, items: key.items)
        let index = try #require(projection.eventTypes.firstIndex(of: event.proposal.type))
        try event.proposal.payload.withUnsafeBytes { payload in
            let view = FoldEvent(
                id: event.id, stamp: event.stamp, typeIndex: index, schemaVersion: 1,
                fact: event.proposal.fact, order: event.order, payload: payload.bytes)
            try projection.fold(view, into: &keyed)
        }
        // Encodes and decodes the state, as a store does.
        key.state = try decode(encode(keyed.state))
        key.last = event.order
        return keyed.wantsRefold
    }

    private func encode(_ state: P.State) -> [UInt8] {
        var writer = StateWriter()
        state.encode(into: &writer)
        return writer.bytes
    }

    private func decode(_ bytes: [UInt8]) throws -> P.State {
        try bytes.withUnsafeBytes { buffer in
            var reader = StateReader(buffer)
            let state = try P.State(decoding: &reader)
            #expect(reader.isAtEnd, "\(name) does not decode all the bytes it encoded")
            return state
        }
    }

    // MARK: - FoldedViews

    func stateBytes(_ key: Tag) -> [UInt8]? { keys[key].map { encode($0.state) } }

    func items(_ key: Tag) -> [Row] {
        var rows: [Row] = []
        let add = { (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) in
            rows.append(Row(key: Array(name), value: Array(value)))
        }
        keys[key]?.items.forEach(add)
        return rows
    }

    func rows(_ table: Int) -> [Row] {
        var rows: [Row] = []
        for (tag, key) in keys {
            var sink = RowSink()
            projection.rows(of: key.state, key: tag, into: &sink)
            if projection.itemsYieldRows {
                #expect(throws: Never.self) {
                    for item in items(tag) {
                        try projection.rows(ofItem: item, key: tag, into: &sink)
                    }
                }
            }
            for entry in sink.entries where entry.table == table {
                let middle = entry.keyStart + entry.keyCount
                rows.append(
                    Row(
                        key: Array(sink.bytes[entry.keyStart..<middle]),
                        value: Array(sink.bytes[middle..<middle + entry.valueCount])))
            }
        }
        rows.sort { $0.key.lexicographicallyPrecedes($1.key) }
        #expect(Set(rows.map(\.key)).count == rows.count, "\(name): two rows have the same key")
        return rows
    }

    /// The states, items and rows that a digest covers.
    var snapshot: ProjectionSnapshot {
        ProjectionSnapshot(
            states: keys.mapValues { encode($0.state) },
            items: keys.keys.reduce(into: [:]) { $0[$1] = items($1) },
            rows: projection.tables.indices.map(rows))
    }
}

/// The bytes of a projection.
struct ProjectionSnapshot: Equatable {
    var states: [Tag: [UInt8]]
    var items: [Tag: [Row]]
    var rows: [[Row]]
}

/// A type-erased `FoldedProjection`.
protocol FoldedViews: AnyObject {
    var name: String { get }
    var snapshot: ProjectionSnapshot { get }
    func stateBytes(_ key: Tag) -> [UInt8]?
    func items(_ key: Tag) -> [Row]
    func rows(_ table: Int) -> [Row]
}

/// Folds events into any projection.
func folded(_ projection: any Projection, _ events: [RecordedEvent]) throws -> any FoldedViews {
    func fold(_ projection: some Projection) throws -> any FoldedViews {
        try FoldedProjection(projection, events)
    }
    return try fold(projection)
}
