internal import TapedeckModel

/// The locations of the fields in a `PlaybackProgressed` payload.
///
/// The fields are not copied, because there can be millions of reports.
struct ProgressWire {
    /// The bytes of the viewing's name; never empty.
    let viewing: WireField
    /// The position in seconds, as reported: any `Double`, including NaN and infinity.
    let position: Double
    /// The duration in seconds; 0 if unknown.
    let duration: Double
    /// The number of seconds played in the current run, as reported: any `Double`; nil if unknown.
    let played: Double?

    /// Finds the fields; throws `.invalidPayload` if the bytes are not a valid message.
    init(_ payload: RawSpan) throws(ModelError) {
        var viewing: WireField?
        var (position, duration) = (0.0, 0.0)
        var played: Double?
        var fields = WireFields(payload)
        while let field = fields.next() {
            // The field numbers are defined in schema/tapedeck/video/v1/videos.proto.
            switch field.number {
            case 2: viewing = field
            case 3: position = field.double
            case 4: duration = field.double
            case 5: played = field.double
            default: break
            }
        }
        guard let viewing, (1...FieldLimits.idBytesMax).contains(viewing.count),
            !fields.isMalformed
        else { throw ProgressWire.invalid }
        (self.viewing, self.position, self.duration) = (viewing, position, duration)
        self.played = played
    }

    /// Finds the fields; throws `.invalidPayload` if the message is invalid or contains a number
    /// that is not finite.
    init(finite payload: RawSpan) throws(ModelError) {
        try self.init(payload)
        guard position.isFinite, duration.isFinite, played?.isFinite ?? true else {
            throw ProgressWire.invalid
        }
    }

    private static let invalid = ModelError(
        .invalidPayload, "a payload is not a PlaybackProgressed")
}
