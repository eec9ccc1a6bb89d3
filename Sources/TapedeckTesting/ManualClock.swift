internal import Synchronization

/// A clock that moves only when a test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// let log = try EventLog.create(path, options: .init(now: clock.now))
/// clock.advance(by: .seconds(60))
/// ```
public final class ManualClock: Sendable {
    private let time: Mutex<UInt64>

    /// The initial time of a clock: 2023-11-14T22:13:20Z.
    public static let defaultMilliseconds: UInt64 = 1_700_000_000_000

    /// Creates a clock that shows `milliseconds` since 1970.
    public init(milliseconds: UInt64 = ManualClock.defaultMilliseconds) {
        time = Mutex(milliseconds)
    }

    /// The time, in milliseconds since 1970.
    public var milliseconds: UInt64 { time.withLock { $0 } }

    /// The time as a function, for `EventLog.Options.now`.
    public var now: @Sendable () -> UInt64 { { self.milliseconds } }

    /// Moves the clock; a negative duration moves it back.
    public func advance(by duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let step = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        time.withLock { $0 = UInt64(max(0, Int64(clamping: $0) + step)) }
    }

    /// Sets the clock to a time in milliseconds since 1970.
    public func set(milliseconds: UInt64) { time.withLock { $0 = milliseconds } }
}
