internal import Synchronization

/// A clock that stands still until it is told otherwise.
///
/// ```swift
/// let clock = ManualClock()
/// let log = try EventLog.create(path, options: .init(now: clock.now))
/// clock.advance(by: .seconds(60))
/// ```
public final class ManualClock: Sendable {
    private let time: Mutex<UInt64>

    /// Where a clock stands at first: 2023-11-14T22:13:20Z.
    public static let defaultMilliseconds: UInt64 = 1_700_000_000_000

    /// Makes a clock that shows `milliseconds` since 1970.
    public init(milliseconds: UInt64 = ManualClock.defaultMilliseconds) {
        time = Mutex(milliseconds)
    }

    /// The time, in Unix milliseconds.
    public var milliseconds: UInt64 { time.withLock { $0 } }

    /// The time as a function, for `EventLog.Options.now`.
    public var now: @Sendable () -> UInt64 { { self.milliseconds } }

    /// Moves the clock; a negative duration sets it back, as users do.
    public func advance(by duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let step = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        time.withLock { $0 = UInt64(max(0, Int64(clamping: $0) + step)) }
    }

    /// Sets the clock.
    public func set(milliseconds: UInt64) { time.withLock { $0 = milliseconds } }
}
