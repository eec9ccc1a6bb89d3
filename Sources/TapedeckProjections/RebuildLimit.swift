internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

extension Rebuild {
    /// Returns the number of events up to `head` that a rebuild folds.
    ///
    /// If the limit is a time, this method reads the log once more to check each event.
    static func eventCount(
        _ log: EventLog, _ limit: Limit, head: UInt64, _ routing: Routing,
        _ admission: EventAdmission
    ) throws -> UInt64 {
        guard case .time = limit else { return head }
        var count: UInt64 = 0
        try log.scan(after: 0, through: head) { record in
            try routing.check(record)
            if admission.admit(record) != nil { count += 1 }
        }
        return count
    }
}
