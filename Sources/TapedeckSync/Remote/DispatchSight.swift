internal import TapedeckLog
internal import TapedeckModel

/// The first sight of a dispatch by this device, which measures how long the request has had to
/// take effect if the age of the dispatch is unknown.
///
/// The sight is stored in a row, because a sync may be much shorter than the time that a request
/// takes to settle. Within a boot, the steady clock measures the time. From one boot to the next,
/// only the wall clock can measure it; if that clock was set back, the time is not counted.
struct DispatchSight: Hashable {
    /// The device that recorded the dispatch, and the time of the dispatch, in milliseconds since
    /// 1970.
    private var origin: OriginID
    private var milliseconds: UInt64
    /// The measured time between the dispatch and the last update of this sight, in milliseconds.
    private var passed: UInt64
    /// The boot id, the steady clock and the wall clock at the last update.
    private var boot: String
    private var steady: UInt64
    private var wall: UInt64

    /// The age, in milliseconds, at which a sight is updated within a boot; this saves commits.
    private static let updatePause: UInt64 = 10_000

    /// Returns a lower bound of the time since a dispatch, in milliseconds.
    ///
    /// - Parameters:
    ///   - row: The name of the row that stores the sight.
    ///   - known: The time since the dispatch according to other clocks; 0 if it is unknown.
    @available(*, noasync)
    static func passed(
        since dispatch: OutboxItem.Part, atLeast known: UInt64, _ row: String,
        _ clock: SteadyClock, in log: EventLog
    ) throws(LogError) -> UInt64 {
        let ((boot, steady), wall) = (clock.read(), log.now())
        let stored = try log.syncRow(row).flatMap { DispatchSight($0) }
        let held = stored.flatMap { $0.isOf(dispatch) ? $0 : nil }
        let passed = max(known, held?.passed(boot, steady, wall) ?? 0)
        if let held, held.boot == boot, held.isRecent(at: steady) { return passed }
        let sight = DispatchSight(
            origin: dispatch.origin, milliseconds: dispatch.milliseconds, passed: passed,
            boot: boot, steady: steady, wall: wall)
        try log.setSyncRows([SyncRow(row, sight.bytes)])
        return passed
    }

    private func isOf(_ dispatch: OutboxItem.Part) -> Bool {
        origin == dispatch.origin && milliseconds == dispatch.milliseconds
    }

    private func isRecent(at steady: UInt64) -> Bool {
        steady >= self.steady && steady - self.steady < DispatchSight.updatePause
    }

    private func passed(_ boot: String, _ steady: UInt64, _ wall: UInt64) -> UInt64 {
        let (start, end) = boot == self.boot ? (self.steady, steady) : (self.wall, wall)
        return passed + (end > start ? end - start : 0)
    }
}

// MARK: - Bytes

extension DispatchSight {
    private init?(_ value: [UInt8]) {
        let read = value.withUnsafeBytes { bytes -> DispatchSight? in
            var reader = ByteReader(bytes)
            guard let high = reader.littleEndian(UInt64.self),
                let low = reader.littleEndian(UInt64.self),
                let milliseconds = reader.littleEndian(UInt64.self),
                let passed = reader.littleEndian(UInt64.self), let boot = reader.prefixedString(),
                let steady = reader.littleEndian(UInt64.self),
                let wall = reader.littleEndian(UInt64.self)
            else { return nil }
            return DispatchSight(
                origin: OriginID(high: high, low: low), milliseconds: milliseconds, passed: passed,
                boot: boot, steady: steady, wall: wall)
        }
        guard let read else { return nil }
        self = read
    }

    private var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for number in [origin.high, origin.low, milliseconds, passed] {
            bytes.appendLittleEndian(number)
        }
        bytes.appendPrefixed(boot)
        bytes.appendLittleEndian(steady)
        bytes.appendLittleEndian(wall)
        return bytes
    }
}

extension RemoteRow {
    /// Returns the prefix of the rows that store the first sights of dispatches.
    static func sightPrefix(_ remote: String) -> String { "\(key(remote))/dispatch/" }

    /// Returns the name of the row that stores the first sight of the dispatch of a part.
    static func dispatch(
        _ remote: String, _ event: EventID, isDerived: Bool, _ target: String
    ) -> String {
        let part = "\(event) \(isDerived) \(target)"
        return sightPrefix(remote) + Digest16(hashing: Array(part.utf8)).text
    }
}
