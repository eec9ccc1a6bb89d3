internal import TapedeckModel
internal import TapedeckProjections

/// A toggle on that a remote has taken over: which broadcast holds it, and as of which version.
struct DeliveredMark: Equatable {
    /// What tells of it; `schema/tapedeck/remote/v1/remote.proto` has its payload.
    static let eventType: EventType = "OutcomeRecorded"
    static let prefix: [UInt8] = [UInt8(ascii: "k")]

    let broadcast: [UInt8]
    let version: UInt64

    static func name(of intent: [UInt8]) -> RowKey { RowKey(prefix + intent) }

    /// What a remote has confirmed of a toggle, or nil.
    static func of(
        _ toggle: EventID, _ key: borrowing KeyedState<WatchLater.State>
    ) throws -> DeliveredMark? {
        guard let bytes = key.item(name(of: Array(toggle.description.utf8))) else { return nil }
        return try StateReader.read(bytes) { (reader) throws(ModelError) in
            DeliveredMark(broadcast: try reader.bytes(), version: try reader.uint64())
        }
    }

    /// Reads an outcome; nil where it is not a confirmation that names a broadcast.
    static func read(_ payload: RawSpan) throws(ModelError) -> (intent: [UInt8], Self)? {
        var (intent, broadcast): (WireField?, WireField?)
        var (kind, version): (UInt64, UInt64) = (0, 0)
        var fields = WireFields(payload)
        while let field = fields.next() {
            // Numbers as in schema/tapedeck/remote/v1/remote.proto.
            switch field.number {
            case 2: intent = field
            case 4: kind = field.uint64
            case 5: broadcast = field
            case 10: version = field.uint64
            default: break
            }
        }
        guard !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload is not an OutcomeRecorded")
        }
        guard kind == confirmed, version > 0, let intent, let broadcast else { return nil }
        return (
            payload.bytes(intent),
            DeliveredMark(broadcast: payload.bytes(broadcast), version: version)
        )
    }

    /// `KIND_CONFIRMED`.
    private static let confirmed: UInt64 = 2

    /// Whether the remote has said in a later version that the mark is gone.
    func isTakenBack(_ key: borrowing KeyedState<WatchLater.State>) throws -> Bool {
        guard let bytes = key.item(RowKey(Marks.broadcast + broadcast)),
            let fall = try ObservedRun(decoding: bytes).fall
        else { return false }
        return fall.observedVersion > version
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        writer.add(broadcast)
        writer.add(version)
        return writer.bytes
    }
}

/// A broadcast that a remote tells as marked to be seen later, and since when.
package struct ToldMark: Hashable, Sendable {
    package var broadcast: String
    /// The version in which the telling began, in Unix milliseconds.
    package var time: Int64
}
