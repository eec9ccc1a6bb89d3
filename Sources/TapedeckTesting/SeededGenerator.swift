internal import Foundation

/// A source of random numbers that generates the same numbers for the same seed, on every machine
/// and in every release.
///
/// The algorithm is splitmix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
/// Generators", 2014). Print `description` in a test, so that a failure can be reproduced:
///
/// ```swift
/// var random = SeededGenerator.fromEnvironment()
/// print(random)    // seed 42 (TAPEDECK_SEED=42 repeats it)
/// ```
public struct SeededGenerator: RandomNumberGenerator, Sendable, CustomStringConvertible {
    /// The seed that determines the numbers.
    public let seed: UInt64
    @usableFromInline
    var state: UInt64

    /// Creates a source from a seed.
    public init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// The name of the environment variable that sets the seed.
    public static let variable = "TAPEDECK_SEED"

    /// Creates a source with the seed set in the environment, or a random seed if none is set.
    public static func fromEnvironment() -> SeededGenerator {
        let named = ProcessInfo.processInfo.environment[variable].flatMap { UInt64($0) }
        return SeededGenerator(seed: named ?? .random(in: 0..<1 << 32))
    }

    /// The seed and how to repeat a run with it.
    public var description: String {
        "seed \(seed) (\(SeededGenerator.variable)=\(seed) repeats it)"
    }

    /// Returns the next 64 bits.
    @inlinable
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return SeededGenerator.mixed(state)
    }

    /// Returns a number below `bound`.
    ///
    /// The result depends only on the seed, not on the standard library's version.
    @inlinable
    public mutating func below(_ bound: UInt64) -> UInt64 {
        // The upper half of the product has a bias below bound / 2^64.
        next().multipliedFullWidth(by: bound).high
    }

    /// Returns a number below `bound`.
    @inlinable
    public mutating func below(_ bound: Int) -> Int { Int(below(UInt64(bound))) }

    /// Returns true once in `count` calls, on average.
    @inlinable
    public mutating func oneIn(_ count: UInt64) -> Bool { below(count) == 0 }

    /// Returns the mixed bits of `value`, so that similar values give unrelated results.
    @inlinable
    public static func mixed(_ value: UInt64) -> UInt64 {
        var bits = value
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
