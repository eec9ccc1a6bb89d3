import Foundation

/// The seed of all random choices in a test, printed at the start and with failures;
/// `TAPEDECK_SEED` replays it.
struct Seed: Sendable, CustomStringConvertible {
    let value: UInt64

    /// - Parameter test: The name of the test, for the printed line.
    init(_ test: String = #function) {
        let given = ProcessInfo.processInfo.environment["TAPEDECK_SEED"].flatMap { UInt64($0) }
        value = given ?? .random(in: 0..<1_000_000_000)
        print("TAPEDECK_SEED=\(value) \(test)")
    }

    init(value: UInt64) { self.value = value }

    var description: String { "TAPEDECK_SEED=\(value)" }

    /// Returns a separate generator for the `round`-th part of a test.
    func generator(_ round: Int = 0) -> SeededGenerator {
        SeededGenerator(value &+ UInt64(round) &* 0x9E37_79B9)
    }

    /// Returns a number from the environment, for longer runs than the default.
    static func setting(_ name: String, default number: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? number
    }
}

/// SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// Returns true with a probability of `percent` percent.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func number(below end: Int) -> Int { Int.random(in: 0..<end, using: &self) }

    mutating func pick<Element>(_ choices: [Element]) -> Element {
        choices[number(below: choices.count)]
    }
}
