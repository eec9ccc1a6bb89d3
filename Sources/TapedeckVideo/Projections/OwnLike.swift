internal import TapedeckModel
internal import TapedeckProjections

/// The user's last like or unlike of a video.
struct OwnLike: Equatable {
    var order: FoldOrder
    /// The id of the toggle's event, as text.
    var event: [UInt8]
    var isOn: Bool
    /// The time of the toggle, in Unix milliseconds.
    var at: Int64
    /// The time at which a remote first confirmed the toggle, in Unix milliseconds.
    var confirmedAt: Int64?

    init(order: FoldOrder, event: [UInt8], isOn: Bool, at: Int64, confirmedAt: Int64?) {
        self.order = order
        self.event = event
        self.isOn = isOn
        self.at = at
        self.confirmedAt = confirmedAt
    }

    init(reading bytes: inout StateReader) throws(ModelError) {
        order = try bytes.foldOrder()
        event = try bytes.bytes()
        isOn = try bytes.bool()
        at = try bytes.int64()
        confirmedAt = try bytes.optionalInt64()
    }

    func encode(into bytes: inout StateWriter) {
        bytes.add(order)
        bytes.add(event)
        bytes.add(isOn)
        bytes.add(at)
        bytes.add(confirmedAt)
    }
}
