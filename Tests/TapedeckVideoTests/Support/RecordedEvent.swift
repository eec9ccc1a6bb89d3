import TapedeckModel
import TapedeckVideo

/// Swift Testing has its own `Tag`.
typealias Tag = TapedeckModel.Tag

/// An event as a log stores it, reduced to the parts that folds read.
struct RecordedEvent {
    let id: EventID
    let stamp: Stamp
    let proposal: ProposedEvent

    var order: FoldOrder { proposal.fact?.order ?? FoldOrder(stamp: stamp, id: id) }
}

/// Collects events of several origins at given times; each origin numbers its events separately.
struct Script {
    private(set) var events: [RecordedEvent] = []
    private var sequences: [UInt64: UInt64] = [:]

    /// The time of second 0 of the script, in milliseconds since 1970.
    static let start: UInt64 = 1_700_000_000_000

    static func time(_ second: Double) -> Int64 { Int64(start) + Int64(second * 1_000) }

    mutating func add(_ proposal: ProposedEvent, at second: Double = 0, origin: UInt64 = 1) {
        let sequence = sequences[origin, default: 0] + 1
        sequences[origin] = sequence
        events.append(
            RecordedEvent(
                id: EventID(origin: OriginID(high: origin, low: 7), sequence: sequence),
                stamp: Stamp(milliseconds: UInt64(Script.time(second))), proposal: proposal))
    }

    mutating func add(_ event: some Event, at second: Double = 0, origin: UInt64 = 1) throws {
        add(try ProposedEvent(event), at: second, origin: origin)
    }

    mutating func add(
        _ type: String, _ json: String, at second: Double = 0, origin: UInt64 = 1
    ) throws {
        add(try EventCatalogue.video.proposal(type: type, json: json), at: second, origin: origin)
    }
}

/// A reproducible random number generator: SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
