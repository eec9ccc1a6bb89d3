internal import TapedeckModel

/// A position in a log's history, with checksums of the history up to it.
struct SubscriptionMark: Hashable {
    var position: UInt64
    /// The checksum of the record at the position.
    var checksum: UInt32
    var history: HistoryMark

    static let start = SubscriptionMark(position: 0, checksum: 0, history: .start)

    static let encodedCount = 32
}

/// The acknowledged position of a subscription, with marks at earlier positions.
///
/// A log that was restored to an earlier state has different events after some unknown position.
/// Some earlier marks are therefore kept; the older the marks, the farther apart they are. A mark
/// is dropped once its two neighbours are close together: the distance of the older neighbour from
/// the newest mark is at most `ratioMax` times that of the newer neighbour. Delivery restarts at
/// the newest mark that is still valid, so it goes back at most `ratioMax` times as far as
/// necessary.
struct SubscriptionMarks: Hashable {
    /// The maximum number of marks, which is enough for 2^46 events.
    ///
    /// Among any three consecutive marks, the distance from the newest mark grows by a factor of
    /// more than `ratioMax`.
    static let countMax = 48
    static let ratioMax: UInt64 = 4

    /// The marks, newest first.
    private(set) var all: [SubscriptionMark] = []

    var newest: SubscriptionMark { all.first ?? .start }

    /// Adds a mark that is newer than all others.
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
        // The oldest mark always stays.
        if kept.count > SubscriptionMarks.countMax {
            kept.removeSubrange((SubscriptionMarks.countMax - 1)..<(kept.count - 1))
        }
        all = kept
    }

    /// Drops all marks newer than the newest valid mark; returns whether the newest mark was valid.
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

/// The file of a subscription's progress, with the exclusive right to deliver its events.
typealias SubscriptionFile = SlotFile<SubscriptionMarks>

// MARK: - Bytes

/// The format of a slot is specified in `schema/storage/v1.md`.
extension SubscriptionMarks: SlotContent {
    static let slotCount = 2_048
    static let format: UInt32 = 1

    static func isBusy(_ name: String) -> LogError {
        LogError(
            .busy, "subscription \(name) is already open",
            hint: "close the subscription, or use another name")
    }

    static func isDamaged(_ path: String) -> LogError {
        LogError(
            .damaged, "\(path) is damaged; the progress of its subscription is lost",
            hint: "remove the subscription to start over")
    }

    init?(decoding body: inout ByteReader) {
        guard let count = body.littleEndian(UInt32.self), count <= SubscriptionMarks.countMax else {
            return nil
        }
        var marks: [SubscriptionMark] = []
        for _ in 0..<count {
            guard let position = body.number(), position < marks.last?.position ?? .max,
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
