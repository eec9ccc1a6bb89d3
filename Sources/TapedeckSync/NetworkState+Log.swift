public import TapedeckLog
public import TapedeckModel

/// The network state set by the app or by `storectl network`, stored in a row of the log that is
/// not synced.
///
/// The state applies to every sync of the store in any process, and remains until it is set again.
/// A sync in progress checks the state every few seconds.
extension NetworkState {
    private static let rowName = "network"

    /// The interval, in milliseconds, at which a sync that waits for the network checks its state.
    static let pause: UInt64 = 2_000

    /// Returns the network state that was last set; `online` by default.
    ///
    /// Throws `LogError`: `.damaged`, `.closed`.
    @available(*, noasync)
    public static func current(in log: EventLog) throws(LogError) -> NetworkState {
        guard let bytes = try log.syncRow(rowName) else { return .online }
        return NetworkState(rawValue: String(decoding: bytes, as: UTF8.self)) ?? .online
    }

    /// Sets the network state.
    ///
    /// Throws `LogError`: `.readOnly`, `.diskFull`, `.closed`.
    @available(*, noasync)
    public func set(in log: EventLog) throws(LogError) {
        try log.setSyncRows([
            SyncRow(NetworkState.rowName, self == .online ? nil : Array(rawValue.utf8))
        ])
    }

    /// The reason why no sync can begin; nil if a sync can begin.
    package var failure: SyncFailure? {
        guard self == .offline else { return nil }
        return SyncFailure(
            .offline, "this device is set to offline",
            hint: "run storectl network online to sync again")
    }

    /// Returns whether the reason for a wait still applies.
    func upholds(_ wait: SyncWait) -> Bool { wait.reason != .metered || self == .metered }

    /// Returns the wait that applies to every request; nil if requests can be sent.
    ///
    /// - Parameter until: The time of the next check, in milliseconds since 1970; 0 if there is no
    ///   next check.
    package func wait(until: UInt64 = 0) -> SyncWait? {
        failure.map { SyncWait(reason: $0.code, message: $0.message, until: until) }
    }
}
