internal import SwiftProtobuf
internal import TapedeckModel
internal import TapedeckProjections

/// An observation that may omit fields and can be merged with other observations of the same object
/// in any order.
protocol PartialObservation: MergeableObservation, SwiftProtobuf.Message, Equatable {
    /// The numbers of the fields that `cleared` can name.
    static var clearable: [String: Int] { get }
}

extension PartialObservation {
    /// By default, no field can be null.
    static var clearable: [String: Int] { [:] }
    /// By default, no field was null.
    var cleared: [String] { [] }
}

/// The known state of a remote object, merged from its observations in any order of arrival.
///
/// Each field comes from the newest observation that contains it. Only observations that contribute
/// a field are kept, usually just the newest one, since most remotes send all fields every time. A
/// late observation therefore needs no refold, and the size depends on the known fields, not on the
/// number of observations.
struct ObservationStack<Message: PartialObservation>: Equatable, Sendable {
    private struct Entry: Equatable {
        var order: FoldOrder
        /// The fields that the observation sets or clears: one bit per field number.
        var said: UInt64
        var message: Message
    }

    /// The observations, newest first.
    private var entries: [Entry] = []

    init() {}

    /// Adds an observation; returns false if newer observations contain all of its fields.
    @discardableResult
    mutating func add(_ message: Message, payload: RawSpan, order: FoldOrder) -> Bool {
        let place = entries.firstIndex { $0.order <= order } ?? entries.endIndex
        if place < entries.endIndex, entries[place].order == order { return false }
        let said = ObservationStack.said(payload, message.cleared)
        let known = entries[..<place].reduce(UInt64(0)) { $0 | $1.said }
        guard said & ~known != 0 else { return false }
        entries.insert(Entry(order: order, said: said, message: message), at: place)
        var covered = known | said
        var kept = Array(entries[...place])
        for entry in entries[(place + 1)...] where entry.said & ~covered != 0 {
            covered |= entry.said
            kept.append(entry)
        }
        entries = kept
        return true
    }

    /// The merged observations; nil before the first one.
    var merged: Message? {
        guard var message = entries.last?.message else { return nil }
        for entry in entries.dropLast().reversed() { message.merge(newer: entry.message) }
        return message
    }

    private static func said(_ payload: RawSpan, _ cleared: [String]) -> UInt64 {
        var said: UInt64 = 0
        var fields = WireFields(payload)
        while let field = fields.next() { said |= 1 << UInt64(min(field.number, 63)) }
        for name in cleared { if let number = Message.clearable[name] { said |= 1 << number } }
        return said
    }

    // MARK: - Bytes

    init(decoding reader: inout StateReader) throws(ModelError) {
        entries = try reader.array { (reader) throws(ModelError) in
            Entry(
                order: try reader.foldOrder(), said: try reader.uint64(),
                message: try reader.message())
        }
    }

    func encode(into writer: inout StateWriter) {
        writer.add(entries) { writer, entry in
            writer.add(entry.order)
            writer.add(entry.said)
            writer.add(message: entry.message)
        }
    }
}
