internal import TapedeckModel
internal import TapedeckProjections

/// The outcome of an intent, such as its confirmation or refusal by a remote.
///
/// `IntentOutcome` omits the `OutcomeRecorded` fields that lists do not show. The outbox reads the
/// omitted fields.
struct IntentOutcome: Equatable {
    /// The type of the events that report outcomes; their payload is defined in
    /// `schema/tapedeck/remote/v1/remote.proto`.
    static let eventType: EventType = "OutcomeRecorded"

    /// The numbers of `OutcomeRecorded.Kind`.
    enum Kind: UInt64 {
        case dispatched = 1
        case confirmed = 2
        case refused = 3
        case unknown = 4
        case unsent = 5
        case retried = 6
        case dropped = 7
    }

    var order: FoldOrder
    var kind: Kind
    /// The reason for the outcome, as a code.
    var code: String
    /// The reason for the outcome, as a message.
    var message: String

    /// The outcome if it is a refusal; otherwise nil.
    var refusal: IntentOutcome? { kind == .refused ? self : nil }

    /// Reads an outcome from `BirdTube`; returns nil if its kind is not shown in lists, or if it
    /// comes from another system.
    ///
    /// Intents of other types may have the same tags, but their outcomes are not needed.
    static func read(
        _ payload: RawSpan, order: FoldOrder
    ) throws(ModelError) -> (intent: [UInt8], IntentOutcome)? {
        guard let told = try read(payload, order: order, of: BirdTube.system) else { return nil }
        switch told.1.kind {
        case .confirmed, .refused, .retried, .dropped: return told
        case .dispatched, .unknown, .unsent: return nil
        }
    }

    /// Reads an outcome; returns nil if its kind is unknown, or if it comes from another system.
    ///
    /// - Parameter system: The system whose outcomes are read; nil for all systems.
    static func read(
        _ payload: RawSpan, order: FoldOrder, of system: String?
    ) throws(ModelError) -> (intent: [UInt8], IntentOutcome)? {
        var (intent, code, message): (WireField?, WireField?, WireField?)
        var isOfSystem = system == nil
        var kind: UInt64 = 0
        var fields = WireFields(payload)
        while let field = fields.next() {
            // The field numbers are defined in schema/tapedeck/remote/v1/remote.proto.
            switch field.number {
            case 1:
                if let system { isOfSystem = payload.bytes(field) == Array(system.utf8) }
            case 2: intent = field
            case 4: kind = field.uint64
            case 6: code = field
            case 7: message = field
            default: break
            }
        }
        guard !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload is not an OutcomeRecorded")
        }
        guard isOfSystem, let kind = Kind(rawValue: kind), let intent else { return nil }
        func text(_ field: WireField?) -> String { field.map { payload.bytes($0).utf8Text } ?? "" }
        return (
            payload.bytes(intent),
            IntentOutcome(order: order, kind: kind, code: text(code), message: text(message))
        )
    }

    private init(order: FoldOrder, kind: Kind, code: String, message: String) {
        self.order = order
        self.kind = kind
        self.code = code
        self.message = message
    }

    init(decoding bytes: [UInt8]) throws(ModelError) {
        self = try StateReader.read(bytes) { (reader) throws(ModelError) in
            let order = try reader.foldOrder()
            guard let kind = Kind(rawValue: try reader.uint64()) else {
                throw ModelError(.damaged, "an outcome has an unknown kind")
            }
            return IntentOutcome(
                order: order, kind: kind, code: try reader.string(), message: try reader.string())
        }
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        writer.add(order)
        writer.add(kind.rawValue)
        writer.add(code)
        writer.add(message)
        return writer.bytes
    }
}
