internal import TapedeckModel
internal import TapedeckProjections

/// Whether a remote has an object, according to the newest observation of the object.
struct Presence: Equatable {
    private(set) var order: FoldOrder
    private(set) var isRemoved: Bool

    init(order: FoldOrder, isRemoved: Bool) {
        self.order = order
        self.isRemoved = isRemoved
    }

    /// Adds an observation, which is ignored unless it is the newest one.
    mutating func add(isRemoved: Bool, at order: FoldOrder) {
        if self.order < order { self = Presence(order: order, isRemoved: isRemoved) }
    }

    init(decoding bytes: [UInt8]) throws(ModelError) {
        self = try StateReader.read(bytes) { (reader) throws(ModelError) in
            try Presence(reading: &reader)
        }
    }

    init(reading reader: inout StateReader) throws(ModelError) {
        order = try reader.foldOrder()
        isRemoved = try reader.bool()
    }

    func encode(into writer: inout StateWriter) {
        writer.add(order)
        writer.add(isRemoved)
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        encode(into: &writer)
        return writer.bytes
    }
}
