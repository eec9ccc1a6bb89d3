public import TapedeckLog
public import TapedeckModel

/// What the host of a device has said of its network: a row of the log that is this device's own.
///
/// Every sync of the store heeds it, in whatever process, also one that is under way, which looks again
/// every few seconds. It stands until the host says otherwise.
extension NetworkState {
    private static let rowName = "network"

    /// How often a sync that waits for the network looks again, in milliseconds.
    static let pause: UInt64 = 2_000

    /// What was said last; `online` where nothing was.
    ///
    /// Throws `LogError`: `.damaged`, `.closed`.
    @available(*, noasync)
    public static func current(in log: EventLog) throws(LogError) -> NetworkState {
        guard let bytes = try log.syncRow(rowName) else { return .online }
        return NetworkState(rawValue: String(decoding: bytes, as: UTF8.self)) ?? .online
    }

    /// Says what the network is from now on.
    ///
    /// Throws `LogError`: `.readOnly`, `.diskFull`, `.closed`.
    @available(*, noasync)
    public func set(in log: EventLog) throws(LogError) {
        try log.setSyncRows([
            SyncRow(NetworkState.rowName, self == .online ? nil : Array(rawValue.utf8))
        ])
    }

    /// Why no sync begins; nil where one may.
    package var failure: SyncFailure? {
        guard self == .offline else { return nil }
        return SyncFailure(
            .offline, "this device is said to have no network",
            hint: "storectl network online says that it has one")
    }

    /// Whether a lane goes on waiting for what it waited for when it was tried last.
    func upholds(_ wait: SyncWait) -> Bool { wait.reason != .metered || self == .metered }

    /// What everything waits for that needs a network; nil where nothing does.
    ///
    /// - Parameter until: when it is looked at again, in Unix milliseconds; 0 where nobody waits.
    package func wait(until: UInt64 = 0) -> SyncWait? {
        failure.map { SyncWait(reason: $0.code, message: $0.message, until: until) }
    }
}
