internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

/// Decides whether a recorded event is folded, and with which stamp.
///
/// Refused events, events after the end of the requested history, and events that the caller
/// excludes are not folded. All other events are folded with their effective stamp.
struct EventAdmission: Sendable {
    private let overrides: OverrideTable
    /// The origins, indexed by their numbers in the log.
    private let origins: [OriginID]
    /// The latest allowed stamp; events with later stamps are ignored.
    private let latest: Stamp
    /// The positions of the events to exclude.
    private let excluded: Set<UInt64>
    // `hasExcluded` avoids a set lookup for each event, because the set is nearly always empty.
    private let hasExcluded: Bool

    /// - Parameters:
    ///   - origins: The origins from `Routing` or `EventLog.dictionaries`.
    ///   - limit: The end of the history. Only a limit by time is applied here; a limit by position
    ///     is applied when the log is read.
    ///   - excluded: The positions of the events to exclude.
    init(
        _ overrides: OverrideTable, origins: [OriginID], limit: Rebuild.Limit = .none,
        excluded: Set<UInt64> = []
    ) {
        self.overrides = overrides
        self.origins = origins
        self.excluded = excluded
        hasExcluded = !excluded.isEmpty
        if case .time(let end) = limit { latest = end } else { latest = Stamp(rawValue: .max) }
    }

    /// Returns the event with its effective stamp; nil if the event is ignored.
    @inline(__always)
    func admit(_ record: RecordView) -> EventReference? {
        let row = overrides.row(record.position)
        if row?.isRefused == true { return nil }
        if (row?.stamp ?? record.stamp) > latest { return nil }
        if hasExcluded, excluded.contains(record.position) { return nil }
        return reference(record, row?.stamp)
    }

    /// Returns the event if it was refused; otherwise nil.
    func refused(_ record: RecordView) -> EventReference? {
        guard let row = overrides.row(record.position), row.isRefused else { return nil }
        return reference(record, row.stamp)
    }

    @inline(__always)
    private func reference(_ record: RecordView, _ stamp: Stamp?) -> EventReference {
        EventReference(record, origin: origins[Int(record.origin)], effectiveStamp: stamp)
    }
}
