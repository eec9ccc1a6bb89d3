internal import TapedeckModel

/// The fields of a `PlaybackProgressed` payload, found but not copied: players report by the million.
struct ProgressWire {
    /// The bytes of the viewing's name; never empty.
    let viewing: WireField
    /// Seconds from the start, as reported: any number, or none.
    let position: Double
    /// Seconds; 0 where it is not known.
    let duration: Double

    /// Finds the fields; throws `.invalidPayload` where the bytes are no such message.
    init(_ payload: RawSpan) throws(ModelError) {
        var viewing: WireField?
        var (position, duration) = (0.0, 0.0)
        var fields = WireFields(payload)
        while let field = fields.next() {
            // Numbers as in schema/tapedeck/video/v1/videos.proto.
            switch field.number {
            case 2: viewing = field
            case 3: position = field.double
            case 4: duration = field.double
            default: break
            }
        }
        guard let viewing, (1...FieldLimits.idBytesMax).contains(viewing.count),
            !fields.isMalformed
        else { throw ProgressWire.invalid }
        (self.viewing, self.position, self.duration) = (viewing, position, duration)
    }

    /// Finds the fields of a report whose seconds are numbers.
    init(finite payload: RawSpan) throws(ModelError) {
        try self.init(payload)
        guard position.isFinite, duration.isFinite else { throw ProgressWire.invalid }
    }

    private static let invalid = ModelError(
        .invalidPayload, "a payload is not a PlaybackProgressed")
}
