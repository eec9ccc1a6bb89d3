/// A hybrid logical clock stamp: 48 bits of Unix milliseconds, then a 16-bit counter.
///
/// Comparing two stamps compares times first. The layout is that of Kulkarni and others, "Logical
/// Physical Clocks" (2014); a counter that overflows carries into the milliseconds.
public struct Stamp: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Milliseconds in the upper 48 bits, counter in the lower 16.
    public let rawValue: UInt64

    /// Wraps the 64 bits.
    @inlinable
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Makes a stamp of a time; `milliseconds` must fit in 48 bits.
    public init(milliseconds: UInt64, counter: UInt16 = 0) {
        precondition(milliseconds <= Stamp.millisecondsMax, "a stamp holds 48 bits of milliseconds")
        rawValue = milliseconds << 16 | UInt64(counter)
    }

    /// The greatest number of milliseconds that fits: the year 10889.
    public static let millisecondsMax: UInt64 = 1 << 48 - 1

    /// Before every stamp.
    public static let zero = Stamp(rawValue: 0)

    /// Unix milliseconds.
    public var milliseconds: UInt64 { rawValue >> 16 }

    /// What tells stamps of one millisecond apart.
    public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

    /// `milliseconds.counter`.
    public var description: String { "\(milliseconds).\(counter)" }

    /// Earlier in time, then in count.
    @inlinable
    public static func < (left: Stamp, right: Stamp) -> Bool { left.rawValue < right.rawValue }
}

/// The store's clock: it never goes back, whatever the system's clock does.
public struct HybridClock: Hashable, Sendable {
    /// The last stamp given or merged.
    public private(set) var last: Stamp

    /// Goes on from a stamp that is already in the log.
    public init(last: Stamp = .zero) { self.last = last }

    /// Gives the next stamp at the physical time `milliseconds`.
    public mutating func tick(milliseconds: UInt64) -> Stamp {
        let now = Stamp(milliseconds: min(milliseconds, Stamp.millisecondsMax))
        // At the end of time it stands still rather than begin again at 0.
        last = now > last ? now : Stamp(rawValue: max(last.rawValue, last.rawValue &+ 1))
        return last
    }

    /// Learns the *effective* stamp of an event that came from elsewhere.
    ///
    /// Effective stamps never exceed the time at which a server received the event, so a device
    /// whose clock stands in 2040 moves nobody's clock. Where no server has said anything, callers leave
    /// out stamps that are too far ahead of their own system's clock.
    public mutating func merge(_ stamp: Stamp) {
        last = max(last, stamp)
    }
}
