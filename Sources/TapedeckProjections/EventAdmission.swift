internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

/// Whether a recorded event counts in a fold, and as what.
///
/// One that was refused counts nowhere, one that happened behind the end that a fold is to have does not
/// count there, and a fold may leave out some events, to see what would be without them. Every other event
/// counts as of its effective stamp.
struct EventAdmission: Sendable {
    private let overrides: OverrideTable
    /// The origins by the log's small numbers.
    private let origins: [OriginID]
    /// No later event counts.
    private let latest: Stamp
    /// The positions of events that are left out.
    private let leftOut: Set<UInt64>
    // Asked at every event instead of the set, which nearly always is empty.
    private let leavesOut: Bool

    /// - Parameters:
    ///   - origins: those of `Routing`, or of `EventLog.dictionaries`.
    ///   - limit: where the history ends; a position is the affair of whoever reads the log.
    ///   - leftOut: positions of events that do not count.
    init(
        _ overrides: OverrideTable, origins: [OriginID], limit: Rebuild.Limit = .none,
        leftOut: Set<UInt64> = []
    ) {
        self.overrides = overrides
        self.origins = origins
        self.leftOut = leftOut
        leavesOut = !leftOut.isEmpty
        if case .time(let end) = limit { latest = end } else { latest = Stamp(rawValue: .max) }
    }

    /// The event as it counts; nil where it does not.
    @inline(__always)
    func admit(_ record: RecordView) -> EventReference? {
        let row = overrides.row(record.position)
        if row?.isRefused == true { return nil }
        if (row?.stamp ?? record.stamp) > latest { return nil }
        if leavesOut, leftOut.contains(record.position) { return nil }
        return reference(record, row?.stamp)
    }

    /// The event where it was refused; nil for one that was not.
    func refused(_ record: RecordView) -> EventReference? {
        guard let row = overrides.row(record.position), row.isRefused else { return nil }
        return reference(record, row.stamp)
    }

    @inline(__always)
    private func reference(_ record: RecordView, _ stamp: Stamp?) -> EventReference {
        EventReference(record, origin: origins[Int(record.origin)], effectiveStamp: stamp)
    }
}
