internal import TapedeckModel
internal import TapedeckProjections

/// What is known of one broadcast: its sightings merged field by field.
///
/// **Invariants**
///
/// 1. A field holds the value of the newest sighting that has the field.
/// 2. `fromNewest` names the fields that the newest sighting has; the others, where they have a
///    value, come from some older one.
///
/// A sighting older than the newest therefore decides nothing about the fields in `fromNewest`, and
/// fills a field that no sighting had. Only where a field's value comes from an older sighting is
/// it not known which of the two is newer: then the merge says so and the key is folded again.
struct BroadcastRecord: Equatable {
    /// The newest sighting.
    private(set) var order: FoldOrder
    private var fromNewest: Fields
    private(set) var createdAt: Int64?
    private(set) var title: [UInt8]?
    private(set) var sharer: [UInt8]?
    private(set) var origin: [UInt8]?
    private(set) var comment: [UInt8]?
    private(set) var liked: Bool?
    private(set) var watched: Bool?

    private struct Fields: OptionSet {
        let rawValue: UInt64
        static let createdAt = Fields(rawValue: 1)
        static let title = Fields(rawValue: 2)
        static let sharer = Fields(rawValue: 4)
        static let origin = Fields(rawValue: 8)
        static let comment = Fields(rawValue: 16)
        static let liked = Fields(rawValue: 32)
        static let watched = Fields(rawValue: 64)
    }

    /// Merges another sighting; false where the outcome depends on an order that is not known.
    mutating func merge(_ wire: BroadcastWire, _ payload: RawSpan, order: FoldOrder) -> Bool {
        if order == self.order { return true }
        let isNewer = self.order < order
        if isNewer {
            self.order = order
            fromNewest = []
        }
        return take(wire, payload, isNewer: isNewer)
    }

    private mutating func take(
        _ wire: BroadcastWire, _ payload: RawSpan, isNewer: Bool
    ) -> Bool {
        var isDecided = true
        func merge<Value: Equatable>(
            _ field: Fields, _ value: Value?, into held: inout Value?, _ fields: inout Fields
        ) {
            guard let value else { return }
            if isNewer {
                held = value
                fields.insert(field)
            } else if held == nil {
                held = value
            } else if !fields.contains(field), held != value {
                isDecided = false
            }
        }
        func text(_ field: WireField?) -> [UInt8]? { field.map { payload.bytes($0) } }
        merge(.createdAt, wire.createdAt, into: &createdAt, &fromNewest)
        merge(.title, text(wire.title), into: &title, &fromNewest)
        merge(.sharer, text(wire.sharer), into: &sharer, &fromNewest)
        merge(.origin, text(wire.origin), into: &origin, &fromNewest)
        merge(.comment, text(wire.comment), into: &comment, &fromNewest)
        merge(.liked, wire.liked, into: &liked, &fromNewest)
        merge(.watched, wire.watched, into: &watched, &fromNewest)
        return isDecided
    }

    /// What the sharer said, or the title where nothing was said.
    var text: [UInt8]? { comment.flatMap { $0.isEmpty ? nil : $0 } ?? title }

    // MARK: - Bytes

    /// The bytes of the record after a first sighting.
    ///
    /// Nearly every sighting is the first of its broadcast, so its texts go from the payload into
    /// the bytes without an array of their own each.
    static func encoded(
        first wire: BroadcastWire, _ payload: RawSpan, order: FoldOrder
    ) -> [UInt8] {
        var fields: Fields = []
        if wire.createdAt != nil { fields.insert(.createdAt) }
        if wire.title != nil { fields.insert(.title) }
        if wire.sharer != nil { fields.insert(.sharer) }
        if wire.origin != nil { fields.insert(.origin) }
        if wire.comment != nil { fields.insert(.comment) }
        if wire.liked != nil { fields.insert(.liked) }
        if wire.watched != nil { fields.insert(.watched) }
        var writer = StateWriter()
        writer.bytes.reserveCapacity(FoldOrder.encodedCount + 32 + payload.byteCount)
        writer.add(order)
        writer.add(fields.rawValue)
        writer.add(wire.createdAt)
        payload.withUnsafeBytes { bytes in
            func add(_ field: WireField?) {
                writer.add(field != nil)
                guard let field else { return }
                writer.bytes.appendPrefixed(bytes[field.start..<field.start + field.count])
            }
            add(wire.title)
            add(wire.sharer)
            add(wire.origin)
            add(wire.comment)
        }
        writer.add(wire.liked)
        writer.add(wire.watched)
        return writer.bytes
    }

    init(decoding bytes: [UInt8]) throws(ModelError) {
        self = try StateReader.read(bytes) { (reader) throws(ModelError) in
            try BroadcastRecord(decoding: &reader)
        }
    }

    private init(decoding reader: inout StateReader) throws(ModelError) {
        order = try reader.foldOrder()
        fromNewest = Fields(rawValue: try reader.uint64())
        createdAt = try reader.optionalInt64()
        title = try reader.optionalBytes()
        sharer = try reader.optionalBytes()
        origin = try reader.optionalBytes()
        comment = try reader.optionalBytes()
        liked = try reader.optionalBool()
        watched = try reader.optionalBool()
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        writer.bytes.reserveCapacity(
            64 + (title?.count ?? 0) + (sharer?.count ?? 0) + (comment?.count ?? 0))
        writer.add(order)
        writer.add(fromNewest.rawValue)
        writer.add(createdAt)
        for text in [title, sharer, origin, comment] { writer.add(text) }
        for flag in [liked, watched] { writer.add(flag) }
        return writer.bytes
    }
}
