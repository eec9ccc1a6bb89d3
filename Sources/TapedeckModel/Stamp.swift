/// A hybrid logical clock stamp: 48 bits of Unix milliseconds, then a 16-bit counter.
///
/// Stamps are compared by time first. The layout follows Kulkarni et al., "Logical Physical Clocks"
/// (2014). A counter that overflows carries into the milliseconds.
public struct Stamp: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The milliseconds in the upper 48 bits and the counter in the lower 16 bits.
    public let rawValue: UInt64

    /// Wraps the 64 bits.
    @inlinable
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Creates a stamp from a time; `milliseconds` must fit in 48 bits.
    public init(milliseconds: UInt64, counter: UInt16 = 0) {
        precondition(milliseconds <= Stamp.millisecondsMax, "milliseconds must fit in 48 bits")
        rawValue = milliseconds << 16 | UInt64(counter)
    }

    /// The maximum number of milliseconds, which is reached in the year 10889.
    public static let millisecondsMax: UInt64 = 1 << 48 - 1

    /// The stamp before all others.
    public static let zero = Stamp(rawValue: 0)

    /// The time in Unix milliseconds.
    public var milliseconds: UInt64 { rawValue >> 16 }

    /// The counter, which distinguishes stamps in the same millisecond.
    public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

    /// `milliseconds.counter`.
    public var description: String { "\(milliseconds).\(counter)" }

    /// Compares the time, then the counter.
    @inlinable
    public static func < (left: Stamp, right: Stamp) -> Bool { left.rawValue < right.rawValue }
}

/// The store's clock, which never goes back, even if the system's clock does.
public struct HybridClock: Hashable, Sendable {
    /// The last stamp that was issued or merged.
    public private(set) var last: Stamp

    /// Creates a clock that continues from a stamp in the log.
    public init(last: Stamp = .zero) { self.last = last }

    /// Issues the next stamp for the physical time `milliseconds`.
    public mutating func tick(milliseconds: UInt64) -> Stamp {
        let now = Stamp(milliseconds: min(milliseconds, Stamp.millisecondsMax))
        // At the maximum the clock stops instead of overflowing to 0.
        last = now > last ? now : Stamp(rawValue: max(last.rawValue, last.rawValue &+ 1))
        return last
    }

    /// Advances the clock to the *effective* stamp of an event from another device.
    ///
    /// Effective stamps never exceed the time at which a server received the event, so a device
    /// whose clock is set to 2040 does not affect other clocks. For an event without a receipt,
    /// callers skip stamps that are too far ahead of their own system clock.
    public mutating func merge(_ stamp: Stamp) {
        last = max(last, stamp)
    }
}
