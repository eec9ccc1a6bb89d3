internal import TapedeckModel

/// A place in a log's history: a position, and what the log held up to there.
struct SubscriptionMark: Hashable {
    var position: UInt64
    /// Of the record at the position.
    var checksum: UInt32
    var history: HistoryMark

    static let start = SubscriptionMark(position: 0, checksum: 0, history: .start)

    static let encodedCount = 32
}

/// Up to where a subscription's events are acknowledged, and where it was before.
///
/// A log that was put back to an earlier state holds other events behind some position that nobody knows.
/// So places that were passed are kept, ever fewer the longer ago: one goes once the next older is at most
/// `ratioMax` times as far away as the next newer. So the newest that the log still holds, which is where
/// delivery begins again, is never more than that many times as far away as it had to be.
struct SubscriptionMarks: Hashable {
    /// Two of any three neighbours differ by more than `ratioMax`: enough for 2^46 events.
    static let countMax = 48
    static let ratioMax: UInt64 = 4

    /// The newest first.
    private(set) var all: [SubscriptionMark] = []

    var newest: SubscriptionMark { all.first ?? .start }

    /// Adds a place that lies behind all others.
    mutating func add(_ mark: SubscriptionMark) {
        guard mark.position > newest.position || all.isEmpty else { return }
        var kept = [mark]
        for (index, former) in all.enumerated() {
            if let older = all.dropFirst(index + 1).first, let newer = kept.last,
                mark.position - older.position
                    <= SubscriptionMarks.ratioMax * (mark.position - newer.position)
            {
                continue
            }
            kept.append(former)
        }
        // The oldest stays, whatever else has to go.
        if kept.count > SubscriptionMarks.countMax {
            kept.removeSubrange((SubscriptionMarks.countMax - 1)..<(kept.count - 1))
        }
        all = kept
    }

    /// Drops the places behind the first that fits; says whether the newest did.
    mutating func goBack(to fits: (SubscriptionMark) throws -> Bool) rethrows -> Bool {
        guard let index = try all.firstIndex(where: fits) else {
            all = [.start]
            return false
        }
        all.removeFirst(index)
        return index == 0
    }

    init(_ marks: [SubscriptionMark] = []) { all = marks }
}

/// How far a subscription is, and the right to deliver it.
typealias SubscriptionFile = SlotFile<SubscriptionMarks>

// MARK: - Bytes

/// `schema/storage/v1.md` has the map of a slot.
extension SubscriptionMarks: SlotContent {
    static let slotCount = 2_048
    static let format: UInt32 = 1

    static func isBusy(_ name: String) -> LogError {
        LogError(
            .busy, "somebody is subscribed as \(name) already",
            hint: "let it end, or use another name")
    }

    static func isDamaged(_ path: String) -> LogError {
        LogError(
            .damaged, "\(path) is damaged: it does not say how far its subscription is",
            hint: "remove the subscription; it then begins anew")
    }

    init?(decoding body: inout ByteReader) {
        guard let count = body.littleEndian(UInt32.self), count <= SubscriptionMarks.countMax else {
            return nil
        }
        var marks: [SubscriptionMark] = []
        for _ in 0..<count {
            guard let position = body.littleEndian(UInt64.self),
                let checksum = body.littleEndian(UInt32.self), let history = HistoryMark(&body)
            else { return nil }
            marks.append(
                SubscriptionMark(position: position, checksum: checksum, history: history))
        }
        self.init(marks)
    }

    func encode(into body: inout [UInt8]) {
        body.appendLittleEndian(UInt32(all.count))
        for mark in all {
            body.appendLittleEndian(mark.position)
            body.appendLittleEndian(mark.checksum)
            mark.history.append(to: &body)
        }
    }
}
