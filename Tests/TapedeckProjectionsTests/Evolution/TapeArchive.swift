import TapedeckModel
import TapedeckProjections

// An archive of tapes, as modelled by three generations of one program. The length of a tape was
// first recorded in minutes, then in seconds; then tapes got a format and could be split.

/// The recording of a tape; each generation of the program has its own type for this event.
protocol TapeRecording: Event {
    var tape: String { get }
    var seconds: UInt64 { get }
    var format: String { get }
}

extension TapeRecording {
    static var eventType: EventType { "TapeRecorded" }
    var tags: [Tag] { get throws { [try Tag("tape", tape)] } }
}

/// Converts the minutes of version 1 to seconds.
private let minutesToSeconds: Upcaster = { payload in
    let fields = try Fields.read(payload, count: 2)
    guard let minutes = UInt64(fields[1]) else {
        throw ModelError(.invalidPayload, "\(fields[1]) is not a number of minutes")
    }
    return Fields.write([fields[0], String(minutes * 60)])
}

/// Adds the format `beta`, which all tapes had before the format was recorded.
private let formatToBeta: Upcaster = { $0 + Array("\u{1F}beta".utf8) }

/// The event as the first version of the program recorded it.
struct TapeInMinutes: TapeRecording {
    var tape: String
    var minutes: UInt64

    var seconds: UInt64 { minutes * 60 }
    var format: String { "beta" }

    init(tape: String, minutes: UInt64) { (self.tape, self.minutes) = (tape, minutes) }
    init(payload: [UInt8]) throws {
        let fields = try Fields.read(payload, count: 2)
        self.init(tape: fields[0], minutes: UInt64(fields[1]) ?? 0)
    }
    func payload() -> [UInt8] { Fields.write([tape, String(minutes)]) }
}

/// The event of the second program.
struct TapeInSeconds: TapeRecording {
    static let upcasters: [Upcaster] = [minutesToSeconds]
    var tape: String
    var seconds: UInt64

    var format: String { "beta" }

    init(tape: String, seconds: UInt64) { (self.tape, self.seconds) = (tape, seconds) }
    init(payload: [UInt8]) throws {
        let fields = try Fields.read(payload, count: 2)
        self.init(tape: fields[0], seconds: UInt64(fields[1]) ?? 0)
    }
    func payload() -> [UInt8] { Fields.write([tape, String(seconds)]) }
}

/// The event of the third and newest program.
struct TapeWithFormat: TapeRecording {
    static let upcasters: [Upcaster] = [minutesToSeconds, formatToBeta]
    var tape: String
    var seconds: UInt64
    var format: String

    init(tape: String, seconds: UInt64, format: String) {
        (self.tape, self.seconds, self.format) = (tape, seconds, format)
    }
    init(payload: [UInt8]) throws {
        let fields = try Fields.read(payload, count: 3)
        self.init(tape: fields[0], seconds: UInt64(fields[1]) ?? 0, format: fields[2])
    }
    func payload() -> [UInt8] { Fields.write([tape, String(seconds), format]) }
}

/// The splitting of a tape, which only the third program knows.
struct TapeSplit: Event {
    static let eventType: EventType = "TapeSplit"
    var tape: String

    var tags: [Tag] { get throws { [try Tag("tape", tape)] } }

    init(tape: String) { self.tape = tape }
    init(payload: [UInt8]) throws { tape = try Fields.read(payload, count: 1)[0] }
    func payload() -> [UInt8] { Fields.write([tape]) }
}

/// The tapes as one generation of the program knows them; the fold reads events both in place and
/// as decoded types.
struct Tapes<Recording: TapeRecording>: Projection {
    struct State: ProjectionState, Hashable {
        var seconds: UInt64 = 0
        var parts: UInt64 = 1
        var bytes = Chain()

        init() {}
        init(decoding bytes: inout StateReader) throws {
            seconds = try bytes.uint64()
            parts = try bytes.uint64()
            self.bytes = Chain(value: try bytes.uint64())
        }
        func encode(into bytes: inout StateWriter) {
            bytes.add(seconds)
            bytes.add(parts)
            bytes.add(self.bytes.value)
        }
    }

    let name = "tapes"
    let version = 1
    let tagKind = "tape"
    let tables = ["longest-first"]
    var events: [any Event.Type] {
        let recorded: [any Event.Type] = [Recording.self]
        return Recording.self == TapeWithFormat.self ? recorded + [TapeSplit.self] : recorded
    }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.bytes.add(UInt64(event.schemaVersion))
        key.state.bytes.add(event.payload.withUnsafeBytes { Array($0) })
        if event.typeIndex == 1 {
            key.state.parts += 1
        } else {
            key.state.seconds += try event.decode(Recording.self).seconds
        }
    }

    func rows(of state: State, key: Tag, into rows: inout RowSink) {
        rows.add(table: 0, key: RowKey().descending(state.seconds).text(key.name))
    }
}

/// Like `Tapes` of the second program, but declares its events only by name.
struct NamedTapes: Projection {
    typealias State = Tapes<TapeInSeconds>.State

    let name = "named-tapes"
    let version = 1
    let tagKind = "tape"
    let eventTypes = [TapeInSeconds.eventType]

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.seconds += try event.decode(TapeInSeconds.self).seconds
        key.state.parts = UInt64(event.schemaVersion)
    }
}
