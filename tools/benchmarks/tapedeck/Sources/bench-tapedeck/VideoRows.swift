import Tapedeck

/// A broadcast of the suite, as bytes.
///
/// The other databases in the benchmark store these fields in columns; here they are in the
/// payload, and each fold decodes them again.
enum Broadcast {
    static let type: EventType = "BroadcastReceived"

    static func payload(_ event: Event) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(280)
        func number(_ field: UInt8, _ value: UInt64) {
            bytes.append(field << 3)
            append(value)
        }
        func append(_ value: UInt64) {
            var rest = value
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(truncatingIfNeeded: rest))
        }
        func text(_ field: UInt8, _ value: some Collection<UInt8>) {
            bytes.append(field << 3 | 2)
            append(UInt64(value.count))
            bytes.append(contentsOf: value)
        }
        number(1, UInt64(event.createdAt))
        number(2, UInt64(event.origin))
        number(3, UInt64(event.sequence))
        text(4, event.title.utf8)
        text(5, event.sharer.utf8)
        text(6, event.payload)
        return bytes
    }
}

extension Event {
    /// The payload of 200 bytes: a number, padded with `p`.
    var payload: [UInt8] {
        var bytes = [UInt8](repeating: UInt8(ascii: "p"), count: Workload.payloadSize)
        for index in 0..<8 { bytes[index] = UInt8(truncatingIfNeeded: firstWord >> (8 * index)) }
        return bytes
    }
}

/// The video list that the peers also maintain: a row per video, and its position in the list.
struct VideoRows: Projection {
    struct State: ProjectionState {
        var count: UInt64 = 0
        var oldest = (createdAt: Int64.max, origin: UInt64.max, sequence: UInt64.max)
        var newest = Int64.min
        var title: [UInt8] = []
        var sharer: [UInt8] = []

        init() {}

        init(decoding bytes: inout StateReader) throws {
            count = try bytes.uint64()
            oldest = (try bytes.int64(), try bytes.uint64(), try bytes.uint64())
            newest = try bytes.int64()
            title = try bytes.bytes()
            sharer = try bytes.bytes()
        }

        func encode(into bytes: inout StateWriter) {
            bytes.add(count)
            bytes.add(oldest.createdAt)
            bytes.add(oldest.origin)
            bytes.add(oldest.sequence)
            bytes.add(newest)
            bytes.add(title)
            bytes.add(sharer)
        }
    }

    let name = "video-rows"
    let version = 1
    let tagKind = "video"
    let eventTypes = [Broadcast.type]
    let law = FoldLaw.any
    let tables = ["byNewest"]

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        var place = (createdAt: Int64(0), origin: UInt64(0), sequence: UInt64(0))
        var title: WireField?
        var sharer: WireField?
        var fields = WireFields(event.payload)
        while let field = fields.next() {
            switch field.number {
            case 1: place.createdAt = field.int64
            case 2: place.origin = field.uint64
            case 3: place.sequence = field.uint64
            case 4: title = field
            case 5: sharer = field
            default: break
            }
        }
        key.state.count += 1
        key.state.newest = max(key.state.newest, place.createdAt)
        if place < key.state.oldest {
            key.state.oldest = place
            if let title { key.state.title = fields.copy(title) }
            if let sharer { key.state.sharer = fields.copy(sharer) }
        }
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {
        rows.add(table: 0, key: RowKey().descending(state.newest).text(key.text))
    }
}
