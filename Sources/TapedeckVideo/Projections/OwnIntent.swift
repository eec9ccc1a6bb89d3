internal import TapedeckModel
internal import TapedeckProjections

/// A recorded intent of the user.
struct OwnIntent: Equatable {
    var event: EventID
    var order: FoldOrder
    /// The time in Unix milliseconds.
    var at: Int64
    var payload: [UInt8]

    init(event: EventID, order: FoldOrder, at: Int64, payload: [UInt8]) {
        self.event = event
        self.order = order
        self.at = at
        self.payload = payload
    }

    init(decoding bytes: [UInt8]) throws(ModelError) {
        self = try StateReader.read(bytes) { (reader) throws(ModelError) in
            OwnIntent(
                event: try reader.eventID(), order: try reader.foldOrder(), at: try reader.int64(),
                payload: try reader.bytes())
        }
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        writer.add(event)
        writer.add(order)
        writer.add(at)
        writer.add(payload)
        return writer.bytes
    }
}
