import Foundation
import TapedeckModel
import TapedeckSyncProtocol

extension OriginID {
    /// Returns a sample origin with a short id.
    static func sample(_ number: UInt64) -> OriginID { OriginID(high: 0xA, low: number) }
}

extension LineageID {
    static func sample(_ number: UInt64) -> LineageID { LineageID(high: 0xB, low: number) }
}

extension EventID {
    init(_ origin: UInt64, _ sequence: UInt64) {
        self.init(origin: .sample(origin), sequence: sequence)
    }
}

/// Returns the canonical bytes of a sample event.
func sampleEvent(_ id: EventID, _ text: String = "note", payload: Int = 16) -> [UInt8] {
    var writer = CanonicalEvent()
    var bytes = Array(text.utf8)
    bytes += [UInt8](
        repeating: UInt8(truncatingIfNeeded: id.sequence), count: max(0, payload - bytes.count))
    let event = ProposedEvent(
        type: "NoteTaken", tags: [Tag(unchecked: "note/\(id.sequence % 7)")], payload: bytes)
    return writer.withBytes(
        of: event, id: id, stamp: Stamp(milliseconds: 1_000 + id.sequence)
    ) { Array($0) }
}

/// Returns the entries of sample events of one origin.
func sampleEntries(_ origin: UInt64, _ sequences: ClosedRange<UInt64>, _ text: String = "note")
    -> Data
{
    var bytes: [UInt8] = []
    for sequence in sequences { bytes.appendEvent(sampleEvent(EventID(origin, sequence), text)) }
    return Data(bytes)
}

extension [UInt8] {
    mutating func appendEvent(_ event: [UInt8]) {
        event.withUnsafeBytes { appendEntry(.event, $0) }
    }
}

/// A clock that changes only when it is set.
final class TestClock: @unchecked Sendable {
    // Guarded by `lock`.
    private var time: UInt64
    private let lock = NSLock()

    init(_ time: UInt64 = 1_700_000_000_000) { self.time = time }

    var milliseconds: UInt64 {
        get { lock.withLock { time } }
        set { lock.withLock { time = newValue } }
    }
}

/// The SplitMix64 generator (Steele and others 2014), which returns the same numbers for the same
/// seed on every platform.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func pick<C: RandomAccessCollection>(_ from: C) -> C.Element {
        from[from.index(from.startIndex, offsetBy: Int.random(in: 0..<from.count, using: &self))]
    }
}

/// The seed of a randomized test: `TAPEDECK_SEED`, or a random seed if it is not set.
enum Seed {
    static func fresh(_ name: String = #function) -> UInt64 {
        let seed =
            ProcessInfo.processInfo.environment["TAPEDECK_SEED"].flatMap { UInt64($0) }
            ?? .random(in: 0...999_999_999)
        print("\(name): seed \(seed); TAPEDECK_SEED=\(seed) replays")
        return seed
    }
}
