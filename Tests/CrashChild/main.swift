// A process that the log's tests start and kill to check the files that it leaves. The process
// appends to a store and prints one line for each acknowledged append.
//
//     tapedeck-crash-child DIR SEED [COUNT]     appends until it is killed, or COUNT events
//     tapedeck-crash-child DIR SEED reading     keeps a read transaction open until it is killed
//     tapedeck-crash-child DIR SEED subscribing prints `got N` for each event, and acknowledges
//                                               every third event
//     tapedeck-crash-child DIR 0 doing COMMAND  runs the command and prints its result: `create`,
//                                               `append`, `look`, `erase`, `shrink`, `restore FILE`
//     tapedeck-crash-child FILE 0 drafting      begins to replace a file and waits to be killed
//     tapedeck-crash-child DIR 0 stepping       runs the commands that it reads, one per line, and
//                                               stops at each system call
//
// At each stop it writes a byte and waits for one; see `CTestCalls`. The process prints the result
// of each command after a `=`.
//
// The payload of each event is SEED and the number of the event within this process, eight bytes
// each, little-endian; `ack N` means that this process's events up to number N are on disk.

import CTestCalls
import Foundation
import TapedeckLog
import TapedeckModel

/// The SplitMix64 generator, which always gives the same numbers for a seed.
struct ChildRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Prints a line with one write call, so that it appears either completely or not at all.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
}

func event(_ seed: UInt64, _ number: UInt64, _ random: inout ChildRandom) -> ProposedEvent {
    var payload: [UInt8] = []
    payload.appendLittleEndian(seed)
    payload.appendLittleEndian(number)
    payload.append(
        contentsOf: repeatElement(
            UInt8(truncatingIfNeeded: number), count: Int(random.next() % 300)))
    let tags = [
        Tag(unchecked: "child/\(seed % 1_000)"), Tag(unchecked: "slot/\(random.next() % 50)"),
    ]
    return ProposedEvent(
        type: random.next() % 2 == 0 ? "PageTurned" : "NoteTaken", tags: tags, payload: payload)
}

/// Receives events as they arrive; `ack N` means that all events up to N are acknowledged.
func subscribe(_ log: EventLog) throws {
    let subscription = try log.subscribe(named: "child", from: .beginning, EventFilter())
    say("open")
    Task {
        do {
            var place: LogSubscription.Place?
            while let delivery = try await subscription.next(after: place) {
                for event in delivery.events {
                    say("got \(event.position)")
                    guard event.position.rawValue % 3 == 0 else { continue }
                    try await subscription.acknowledge(through: event)
                    say("ack \(event.position)")
                }
                place = delivery.place
            }
        } catch {
            say("error \(error)")
            exit(1)
        }
    }
    while true { sleep(60) }
}

/// Runs one command on the store and returns its result.
func step(_ line: String, _ store: String, _ options: EventLog.Options) -> String {
    let words = line.split(separator: " ", maxSplits: 1)
    do throws(LogError) {
        switch words[0] {
        case "create":
            let log = try EventLog.create(store, options: options)
            defer { log.close() }
            return "ok \(log.storeID)"
        case "append", "look":
            let log = try EventLog(opening: store, options: options)
            defer { log.close() }
            guard words[0] == "append" else { return "ok \(log.storeID)" }
            let appended = try log.appendBlocking([
                ProposedEvent(type: "PageTurned", tags: [], payload: [])
            ])
            return "ok \(log.storeID) \(appended.firstID)"
        case "erase": try EventLog.erase(store)
        case "shrink": try EventLog.shrink(store)
        case "restore": try EventLog.restore(from: String(words[1]), into: store)
        default: return "error unknown"
        }
        return "ok"
    } catch {
        return "error \(error.code.rawValue) \(error.message)"
    }
}

func run() throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 3, let seed = UInt64(arguments[2]) else {
        say("usage: tapedeck-crash-child DIR SEED [COUNT]")
        exit(64)
    }
    let options = EventLog.Options(mapSizeBytes: 1 << 20, unindexedEventsMax: 64)
    if arguments.count > 4, arguments[3] == "doing" {
        return say(step(arguments[4], arguments[1], options))
    }
    if arguments.count > 3, arguments[3] == "drafting" {
        let file = try ReplacedFile(replacing: arguments[1])
        try file.write(Array("half".utf8))
        say("ack 0")
        while true { withExtendedLifetime(file) { _ = pause() } }
    }
    if arguments.count > 3, arguments[3] == "stepping" {
        while let line = readLine() {
            test_calls_stop_at(1, 0)
            let result = step(line, arguments[1], options)
            test_calls_stop_at(-1, -1)
            say("=\(result)")
        }
        return
    }
    let log = try EventLog(opening: arguments[1], options: options)
    if arguments.count > 3, arguments[3] == "subscribing" { try subscribe(log) }
    if arguments.count > 3, arguments[3] == "reading" {
        try log.read { _ in
            say("ack 0")
            while true { sleep(60) }
        }
    }
    let most = arguments.count > 3 ? UInt64(arguments[3]) ?? .max : .max
    var random = ChildRandom(state: seed)
    var number: UInt64 = 0
    say("ack 0")
    while number < most {
        let count = min(most - number, 1 + random.next() % 20)
        let batch = (1...count).map { event(seed, number + $0, &random) }
        try log.appendBlocking(batch)
        number += count
        say("ack \(number)")
        if random.next() % 16 == 0 {
            try log.mergeIndex(keeping: random.next() % 40, eventsPerRun: 100)
        }
    }
    log.close()
}

do {
    try run()
} catch {
    say("error \(error)")
    exit(1)
}
