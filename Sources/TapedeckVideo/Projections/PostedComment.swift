internal import TapedeckModel
internal import TapedeckProjections

/// The content of a `CommentPosted`, stored as an item of the video or answer that the comment is
/// about.
struct PostedComment {
    let author: [UInt8]?
    let text: [UInt8]
    /// The refusal by a remote; nil if the last outcome is not a refusal.
    var refusal: IntentOutcome?

    /// Reads the payload of the event.
    init(_ payload: RawSpan) throws(ModelError) {
        var author: WireField?
        var text: WireField?
        var fields = WireFields(payload)
        while let field = fields.next() {
            // The field numbers are defined in schema/tapedeck/video/v1/videos.proto.
            if field.number == 3 { text = field }
            if field.number == 4 { author = field }
        }
        guard let text, !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload is not a CommentPosted")
        }
        self.author = author.map { payload.bytes($0) }
        self.text = payload.bytes(text)
    }

    /// Returns the name of the item.
    ///
    /// Names sort like activity: by the stamp of the event, then by its origin and sequence number.
    static func itemName(_ event: borrowing FoldEvent) -> RowKey {
        var id: [UInt8] = []
        id.appendBigEndian(event.stamp.counter)
        id += NaturalID.ordered(event.id.textBytes)
        return BroadcastItems.name(
            BroadcastItems.posted,
            BroadcastPlace(time: Int64(event.stamp.milliseconds), id: id))
    }

    /// Returns the id of the event from the part of a name that follows the time.
    static func id(_ place: some Collection<UInt8>) -> [UInt8] {
        NaturalID.id(Array(place.dropFirst(MemoryLayout<UInt16>.size)))
    }

    init(decoding bytes: [UInt8]) throws(ModelError) {
        (author, text, refusal) = try StateReader.read(bytes) { (reader) throws(ModelError) in
            (
                try reader.optionalBytes(), try reader.bytes(),
                try reader.optional { (reader) throws(ModelError) in
                    try IntentOutcome(decoding: try reader.bytes())
                }
            )
        }
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        writer.add(author)
        writer.add(text)
        writer.add(refusal) { $0.add($1.encoded) }
        return writer.bytes
    }
}
