internal import TapedeckModel
internal import TapedeckProjections

/// The facts about a broadcast that affect its video's marks and position on the watch-later list.
///
/// The newest observation decides whether the remote has the broadcast, and the newest observation
/// with a creation time decides the time of the share, so the order of arrival does not matter.
struct ObservedBroadcast: Equatable {
    var run = ObservedRun()
    private var presence: Presence
    private var share: Share?

    /// The time of a share in Unix milliseconds, and the order of the observation that reports it.
    private struct Share: Equatable {
        var order: FoldOrder
        var time: Int64
    }

    /// Creates a broadcast that has been seen once.
    init(_ wire: BroadcastWire, order: FoldOrder) {
        presence = Presence(order: order, isRemoved: wire.isRemoved)
        share = wire.createdAt.map { Share(order: order, time: $0) }
    }

    /// The time of the share in Unix milliseconds; nil if the remote does not have the broadcast,
    /// or if the time is unknown.
    var sharedAt: Int64? { presence.isRemoved ? nil : share?.time }

    /// Adds an observation to everything except the run.
    mutating func add(_ wire: BroadcastWire, order: FoldOrder) {
        presence.add(isRemoved: wire.isRemoved, at: order)
        if let time = wire.createdAt, share.map({ $0.order < order }) ?? true {
            share = Share(order: order, time: time)
        }
    }

    init(decoding bytes: [UInt8]) throws(ModelError) {
        self = try StateReader.read(bytes) { (reader) throws(ModelError) in
            try ObservedBroadcast(reading: &reader)
        }
    }

    private init(reading reader: inout StateReader) throws(ModelError) {
        presence = try Presence(reading: &reader)
        let newest = presence.order
        run = try ObservedRun(reading: &reader, newest: newest)
        share = try reader.optional { (reader) throws(ModelError) in
            Share(order: try reader.foldOrder(usually: newest), time: try reader.int64())
        }
    }

    var encoded: [UInt8] {
        var writer = StateWriter()
        presence.encode(into: &writer)
        run.encode(into: &writer, newest: presence.order)
        writer.add(share) { writer, share in
            writer.add(share.order, usually: presence.order)
            writer.add(share.time)
        }
        return writer.bytes
    }
}

/// The current run of observations that show a broadcast as marked.
///
/// In the order of the observations, `fall` is the last observation without a mark, `begin` is the
/// first observation with a mark after `fall`, and `end` is the last observation with a mark. The
/// order of arrival does not affect these three values, unless an observation without a mark
/// arrives late and belongs between `begin` and `end`; the run must then be recomputed.
struct ObservedRun: Equatable {
    private(set) var fall: FoldOrder?
    private(set) var begin: Beginning?
    private(set) var end: FoldOrder?

    /// The order of the first observation in a run, and the observation's version in Unix
    /// milliseconds.
    struct Beginning: Equatable {
        var order: FoldOrder
        var time: Int64
    }

    init() {}

    /// Adds an observation; returns false if the run must be recomputed.
    mutating func add(_ isMarked: Bool, at order: FoldOrder, time: Int64) -> Bool {
        if let fall, order <= fall { return true }
        guard isMarked else {
            if let end, let begin, order < end {
                if begin.order < order { return false }
                fall = order
                return true
            }
            (fall, begin, end) = (order, nil, nil)
            return true
        }
        if begin.map({ order < $0.order }) ?? true {
            begin = Beginning(order: order, time: time)
        }
        end = max(order, end ?? order)
        return true
    }

    /// Reads a run that was written with the same order of the newest observation.
    init(reading reader: inout StateReader, newest: FoldOrder) throws(ModelError) {
        fall = try reader.optional { (reader) throws(ModelError) in
            try reader.foldOrder(usually: newest)
        }
        begin = try reader.optional { (reader) throws(ModelError) in
            Beginning(order: try reader.foldOrder(usually: newest), time: try reader.int64())
        }
        end = try reader.optional { (reader) throws(ModelError) in
            try reader.foldOrder(usually: newest)
        }
    }

    /// Writes the run.
    ///
    /// Most broadcasts are observed once, so each order of a run is usually the newest one.
    func encode(into writer: inout StateWriter, newest: FoldOrder) {
        writer.add(fall) { $0.add($1, usually: newest) }
        writer.add(begin) { writer, begin in
            writer.add(begin.order, usually: newest)
            writer.add(begin.time)
        }
        writer.add(end) { $0.add($1, usually: newest) }
    }
}
