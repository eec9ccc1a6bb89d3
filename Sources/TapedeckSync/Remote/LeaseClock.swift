package import TapedeckLog
@_spi(Core) internal import TapedeckModel

/// Measures the age of events while the wall clock runs evenly.
///
/// The lease clock compares the wall clock with the machine's continuous clock. If the wall clock
/// was set or the machine rebooted, the age is unknown and leases are treated as expired.
package struct LeaseClock {
    /// The maximum drift between the two clocks, in milliseconds.
    private static let driftMax: UInt64 = 2_000
    private static let name = "lease"

    private let clock: SteadyClock
    /// The boot id, the offset between the clocks, and the time since which that offset has been
    /// constant.
    private var trusted: (boot: String, offset: UInt64, since: UInt64)
    /// Whether `trusted` is recorded.
    private var isRecorded = false

    /// Loads the recorded clock offset; if no valid offset is recorded, the clock starts now.
    @available(*, noasync)
    init(_ log: EventLog, _ clock: SteadyClock) throws(LogError) {
        self.clock = clock
        trusted = LeaseClock.reading(clock, now: log.now())
        let stored = try log.syncRow(LeaseClock.name).flatMap { LeaseClock.read($0) }
        if let stored, stored.boot == trusted.boot,
            LeaseClock.isEven(stored.offset, trusted.offset)
        {
            (trusted, isRecorded) = (stored, true)
        }
    }

    /// Records the clock offset unless a valid one is already recorded.
    ///
    /// Once an offset is recorded, the age of new intents can be measured, even before the first
    /// remote is added.
    @available(*, noasync)
    package static func begin(
        in log: EventLog, _ clock: SteadyClock = .system
    ) throws(LogError) {
        var leases = try LeaseClock(log, clock)
        try leases.record(log)
    }

    private static func reading(
        _ clock: SteadyClock, now: UInt64
    ) -> (boot: String, offset: UInt64, since: UInt64) {
        let current = clock.read()
        return (current.boot, now &- current.milliseconds, now)
    }

    private static func read(
        _ value: [UInt8]
    ) -> (boot: String, offset: UInt64, since: UInt64)? {
        value.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            guard let boot = reader.prefixedString(),
                let offset = reader.littleEndian(UInt64.self),
                let since = reader.littleEndian(UInt64.self)
            else { return nil }
            return (boot, offset, since)
        }
    }

    /// Records the clock offset if it is not recorded yet or the clocks have diverged.
    mutating func record(_ log: EventLog) throws(LogError) {
        let current = LeaseClock.reading(clock, now: log.now())
        if !LeaseClock.isEven(trusted.offset, current.offset) {
            (trusted, isRecorded) = (current, false)
        }
        if isRecorded { return }
        var bytes: [UInt8] = []
        bytes.appendPrefixed(trusted.boot)
        bytes.appendLittleEndian(trusted.offset)
        bytes.appendLittleEndian(trusted.since)
        try log.setSyncRows([SyncRow(LeaseClock.name, bytes)])
        isRecorded = true
    }

    private static func isEven(_ left: UInt64, _ right: UInt64) -> Bool {
        let distance = left &- right
        return distance <= LeaseClock.driftMax || (0 &- distance) <= LeaseClock.driftMax
    }

    func age(of milliseconds: UInt64, now: UInt64) -> UInt64? {
        let current = clock.read()
        guard trusted.boot == current.boot,
            LeaseClock.isEven(trusted.offset, now &- current.milliseconds),
            trusted.since <= milliseconds,
            milliseconds <= now
        else { return nil }
        return now - milliseconds
    }
}
