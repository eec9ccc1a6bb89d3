internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

extension Rebuild {
    /// How many events up to `head` a rebuild takes in.
    ///
    /// Reads the log once more where it ends at a time: which events those are is known of none without
    /// looking at it.
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
