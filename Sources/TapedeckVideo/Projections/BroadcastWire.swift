internal import TapedeckModel

/// The locations of the fields in a `BroadcastReceived` payload, which are not copied.
///
/// Several projections fold millions of `BroadcastReceived` payloads, and fully decoding them would
/// take most of the time.
struct BroadcastWire {
    /// The bytes of the broadcast's id; never empty.
    private(set) var broadcast: WireField
    private(set) var title: WireField?
    private(set) var sharer: WireField?
    private(set) var origin: WireField?
    private(set) var comment: WireField?
    /// The creation time in Unix milliseconds.
    private(set) var createdAt: Int64?
    private(set) var liked: Bool?
    private(set) var watchLater: Bool?
    private(set) var watched: Bool?
    private(set) var sharerImage: WireField?
    private(set) var shortLink: WireField?
    /// The id of the comment that contains the sharer's text.
    private(set) var message: WireField?
    /// Whether the remote no longer has the broadcast.
    private(set) var isRemoved = false

    /// Finds the fields; throws `.invalidPayload` if the bytes are not a valid message.
    init(_ payload: RawSpan) throws(ModelError) {
        var id: WireField?
        var fields = WireFields(payload)
        while let field = fields.next() {
            // The field numbers are defined in schema/tapedeck/video/v1/videos.proto.
            switch field.number {
            case 1: id = field
            case 3: title = field
            case 4: sharer = field
            case 5: origin = field
            case 6: comment = field
            case 7: createdAt = fields.milliseconds(field).clamped(to: Timestamps.recorded)
            case 9: liked = field.bool
            case 10: watchLater = field.bool
            case 11: watched = field.bool
            case 12: sharerImage = field
            case 13: shortLink = field
            case 15: message = field
            case 16: isRemoved = field.bool == true
            default: break
            }
        }
        guard let id, (1...FieldLimits.idBytesMax).contains(id.count), !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload is not a BroadcastReceived")
        }
        broadcast = id
    }
}

extension RawSpan {
    /// Returns `prefix` followed by the bytes of a length-delimited field.
    func bytes(_ field: WireField, after prefix: [UInt8] = []) -> [UInt8] {
        var copy: [UInt8] = []
        copy.reserveCapacity(prefix.count + field.count)
        copy.append(contentsOf: prefix)
        append(field, to: &copy)
        return copy
    }

    /// Appends the bytes of a length-delimited field.
    func append(_ field: WireField, to bytes: inout [UInt8]) {
        withUnsafeBytes {
            bytes.append(
                contentsOf: UnsafeRawBufferPointer(
                    rebasing: $0[field.start..<field.start + field.count]))
        }
    }
}
