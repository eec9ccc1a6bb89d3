internal import Foundation

/// A random source that gives the same numbers for the same seed, on every machine and for ever.
///
/// It is splitmix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014). A
/// test that draws from it prints `description`, so that a failure can be run again:
///
/// ```swift
/// var random = SeededGenerator.fromEnvironment()
/// print(random)    // seed 42 (TAPEDECK_SEED=42 repeats it)
/// ```
public struct SeededGenerator: RandomNumberGenerator, Sendable, CustomStringConvertible {
    /// What the numbers follow from.
    public let seed: UInt64
    @usableFromInline
    var state: UInt64

    /// Makes a source.
    public init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// The name of the environment variable that sets the seed.
    public static let variable = "TAPEDECK_SEED"

    /// Makes a source with the seed that the environment names, or else with a fresh one.
    public static func fromEnvironment() -> SeededGenerator {
        let named = ProcessInfo.processInfo.environment[variable].flatMap { UInt64($0) }
        return SeededGenerator(seed: named ?? .random(in: 0..<1 << 32))
    }

    /// The seed, and how to use it again.
    public var description: String {
        "seed \(seed) (\(SeededGenerator.variable)=\(seed) repeats it)"
    }

    /// The next 64 bits.
    @inlinable
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return SeededGenerator.mixed(state)
    }

    /// A number below `bound`; the same for the same seed whatever the standard library does.
    @inlinable
    public mutating func below(_ bound: UInt64) -> UInt64 {
        // The upper half of a product: uneven by less than bound / 2^64.
        next().multipliedFullWidth(by: bound).high
    }

    /// A number below `bound`.
    @inlinable
    public mutating func below(_ bound: Int) -> Int { Int(below(UInt64(bound))) }

    /// True once in `count` draws, on average.
    @inlinable
    public mutating func oneIn(_ count: UInt64) -> Bool { below(count) == 0 }

    /// The bits of `value` mixed, so that neighbours have nothing in common.
    @inlinable
    public static func mixed(_ value: UInt64) -> UInt64 {
        var bits = value
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
