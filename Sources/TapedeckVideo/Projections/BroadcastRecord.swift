internal import TapedeckModel
internal import TapedeckProjections

/// The known facts about a broadcast: its observations, merged field by field.
///
/// **Invariants**
///
/// 1. A field has the value from the newest observation that contains the field.
/// 2. The newest observation decides whether the broadcast was removed.
/// 3. `fromNewest` contains the fields of the newest observation. The values of all other fields
///    come from older observations.
///
/// An observation older than the newest one therefore never changes the fields in `fromNewest`, but
/// sets the fields that no observation has contained yet. Each remaining field already has a value
/// from an observation that is also older than the newest one. If the two values differ, it is
/// unknown which of these two observations is newer, so `merge` returns false and the key is
/// refolded.
struct BroadcastRecord: Equatable {
    /// The order of the newest observation.
    private(set) var order: FoldOrder
    /// Whether the remote no longer has the broadcast.
    private(set) var isRemoved: Bool
    private var fromNewest: Fields
    private(set) var createdAt: Int64?
    private(set) var title: [UInt8]?
    private(set) var sharer: [UInt8]?
    private(set) var origin: [UInt8]?
    private(set) var comment: [UInt8]?
    private(set) var liked: Bool?
    private(set) var watched: Bool?
    private(set) var sharerImage: [UInt8]?
    private(set) var shortLink: [UInt8]?
    /// The id of the comment that contains the sharer's text.
    private(set) var message: [UInt8]?

    private struct Fields: OptionSet {
        let rawValue: UInt64
        static let createdAt = Fields(rawValue: 1)
        static let title = Fields(rawValue: 2)
        static let sharer = Fields(rawValue: 4)
        static let origin = Fields(rawValue: 8)
        static let comment = Fields(rawValue: 16)
        static let liked = Fields(rawValue: 32)
        static let watched = Fields(rawValue: 64)
        static let sharerImage = Fields(rawValue: 128)
        static let shortLink = Fields(rawValue: 256)
        static let message = Fields(rawValue: 512)
    }

    /// Merges another observation; returns false if the result depends on an unknown order.
    mutating func merge(_ wire: BroadcastWire, _ payload: RawSpan, order: FoldOrder) -> Bool {
        if order == self.order { return true }
        let isNewer = self.order < order
        if isNewer {
            self.order = order
            isRemoved = wire.isRemoved
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
        merge(.sharerImage, text(wire.sharerImage), into: &sharerImage, &fromNewest)
        merge(.shortLink, text(wire.shortLink), into: &shortLink, &fromNewest)
        merge(.message, text(wire.message), into: &message, &fromNewest)
        return isDecided
    }

    /// Whether the account's owner likes the broadcast and the remote still has it.
    var isLiked: Bool { !isRemoved && liked == true }

    /// Whether the account's owner has watched the broadcast and the remote still has it.
    var isWatched: Bool { !isRemoved && watched == true }

    /// Whether the sharer's text is a separate comment and the remote still has the broadcast.
    var isToldByMessage: Bool { !isRemoved && message != nil }

    /// The sharer's comment, or the title if there is no comment.
    var text: [UInt8]? { comment.flatMap { $0.isEmpty ? nil : $0 } ?? title }

    // MARK: - Bytes

    /// Returns the bytes of a record with a single observation.
    ///
    /// Nearly every observation is the first one of its broadcast, so the observation's strings are
    /// copied directly from the payload, without intermediate arrays.
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
        if wire.sharerImage != nil { fields.insert(.sharerImage) }
        if wire.shortLink != nil { fields.insert(.shortLink) }
        if wire.message != nil { fields.insert(.message) }
        var writer = StateWriter()
        writer.bytes.reserveCapacity(FoldOrder.encodedCount + 32 + payload.byteCount)
        writer.add(order)
        writer.add(wire.isRemoved)
        writer.add(fields.rawValue)
        writer.add(wire.createdAt)
        func add(_ field: WireField?) {
            writer.add(field != nil)
            guard let field else { return }
            writer.add(UInt64(field.count))
            payload.append(field, to: &writer.bytes)
        }
        add(wire.title)
        add(wire.sharer)
        add(wire.origin)
        add(wire.comment)
        add(wire.sharerImage)
        add(wire.shortLink)
        add(wire.message)
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
        isRemoved = try reader.bool()
        fromNewest = Fields(rawValue: try reader.uint64())
        createdAt = try reader.optionalInt64()
        title = try reader.optionalBytes()
        sharer = try reader.optionalBytes()
        origin = try reader.optionalBytes()
        comment = try reader.optionalBytes()
        sharerImage = try reader.optionalBytes()
        shortLink = try reader.optionalBytes()
        message = try reader.optionalBytes()
        liked = try reader.optionalBool()
        watched = try reader.optionalBool()
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        writer.bytes.reserveCapacity(
            64 + (title?.count ?? 0) + (sharer?.count ?? 0) + (comment?.count ?? 0))
        writer.add(order)
        writer.add(isRemoved)
        writer.add(fromNewest.rawValue)
        writer.add(createdAt)
        for text in [title, sharer, origin, comment, sharerImage, shortLink, message] {
            writer.add(text)
        }
        for flag in [liked, watched] { writer.add(flag) }
        return writer.bytes
    }
}
