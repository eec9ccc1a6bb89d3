import Foundation

/// The SplitMix64 generator (Steele and others 2014), which returns the same numbers for the same
/// seed on every platform.
package struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    package init(_ seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    package mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    package mutating func pick<C: RandomAccessCollection>(_ from: C) -> C.Element {
        from[from.index(from.startIndex, offsetBy: Int.random(in: 0..<from.count, using: &self))]
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
}

/// The seed of a randomized test: `TAPEDECK_SEED`, or a random seed if it is not set.
package enum Seed {
    package static func fresh(_ name: String = #function) -> UInt64 {
        let seed =
            ProcessInfo.processInfo.environment["TAPEDECK_SEED"].flatMap { UInt64($0) }
            ?? .random(in: 0...999_999_999)
        print("\(name): seed \(seed); replay with TAPEDECK_SEED=\(seed)")
        return seed
    }

    /// Returns the number of rounds of a loop: the value of an environment variable, or a default.
    package static func rounds(_ variable: String, _ usual: Int) -> Int {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? usual
    }
}
