// Runs the benchmarks for GRDB: `grdb-peer MEASURE --dir DIR --events N [--videos V] [--seed S]`.
//
//   append-1      log only, one durable commit per event
//   append-1000   1,000 events per commit, a unique index on the event id, an index on the video
//   read          every event as a record, including its payload
//   replay-*      the video list, by four methods; see Replay.swift
//   append-live   1,000 events per commit, with the upserts for every list; see Live.swift

import Foundation
import GRDB

/// The maximum number of events that `records` replays; a million would take tens of seconds.
///
/// The printed line contains this number. With fewer events, the table stays smaller, which favours
/// `records` in the comparison.
let recordEventsMax = 100_000

struct Options {
    var measure: String
    var directory = ""
    var events = 0
    var videos = 10_000
    var seed: UInt64 = 1

    init?(_ arguments: [String]) {
        guard arguments.count > 1 else { return nil }
        measure = arguments[1]
        var rest = arguments.dropFirst(2)
        while let name = rest.popFirst(), let value = rest.popFirst() {
            switch name {
            case "--dir": directory = value
            case "--events": events = Int(value) ?? 0
            case "--videos": videos = Int(value) ?? 0
            case "--seed": seed = UInt64(value) ?? 1
            default: return nil
            }
        }
        guard !directory.isEmpty, events > 0, videos > 0 else { return nil }
    }
}

func seconds(_ body: () throws -> Void) rethrows -> Double {
    let duration = try ContinuousClock().measure(body)
    return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}

func hex(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}

func fail(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data("grdb-peer: \(message)\n".utf8))
    exit(code)
}

func printLine(
    _ options: Options, peer: String = "grdb", events: Int, seconds: Double, checksum: UInt64? = nil
) {
    let sum = checksum.map { ",\"checksum\":\"\(hex($0))\"" } ?? ""
    print(
        """
        {"measure":"\(options.measure)","peer":"\(peer)","events":\(events),\
        "seconds":\(seconds),"perSecond":\(Double(events) / seconds),"version":"GRDB 7.10.0",\
        "durability":"DatabasePool, WAL, synchronous=FULL"\(sum)}
        """)
}

func run(_ options: Options) throws {
    let workload = Workload(events: options.events, videos: options.videos, seed: options.seed)
    if options.measure == "digest" {
        let digest = Workload.digest(
            events: options.events, videos: options.videos, seed: options.seed)
        print(
            """
            {"measure":"digest","peer":"grdb","events":\(options.events),"digest":"\(hex(digest))"}
            """)
        return
    }
    if options.measure == "append-live" { return try appendLive(options) }
    let store = try Store(directory: options.directory)
    switch options.measure {
    case "append-1":
        try store.createEvents(indexed: false)
        let time = try seconds { try store.append(workload, perCommit: 1) }
        printLine(options, events: options.events, seconds: time)
    case "append-1000":
        try store.createEvents(indexed: true)
        let time = try seconds { try store.append(workload, perCommit: 1000) }
        printLine(options, events: options.events, seconds: time)
    case "read":
        try store.createEvents(indexed: false)
        try store.append(workload, perCommit: 1000)
        var result = (count: 0, sum: UInt64(0))
        let time = try seconds { result = try store.sumOfRecords() }
        guard result.count == options.events else { fail("events are missing", code: 1) }
        printLine(options, events: options.events, seconds: time, checksum: result.sum)
    case let measure where measure.hasPrefix("replay-"):
        try store.createEvents(indexed: false, isReplay: true)
        try store.append(workload, perCommit: 10_000, isReplay: true)
        for way in ReplayWay.allCases {
            let isWhole = way != .records || options.events <= recordEventsMax
            let events = isWhole ? options.events : recordEventsMax
            try store.clearVideos()
            let time = try seconds { try store.replay(way, events: events) }
            printLine(
                options, peer: "grdb \(way.rawValue)", events: events, seconds: time,
                checksum: isWhole ? try store.videoChecksum() : nil)
        }
    default:
        fail("there is no benchmark \(options.measure)", code: 64)
    }
}

/// Runs in a directory that contains the activity and possibly the database of an earlier run.
func appendLive(_ options: Options) throws {
    let place = options.directory + "/grdb"
    try? FileManager.default.removeItem(atPath: place)
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    let events = try Store.liveEvents(directory: options.directory)
    let store = try Store(directory: place)
    try store.createLive()
    let time = try seconds { try store.appendLive(events, perCommit: 1000) }
    printLine(
        options, events: events.count, seconds: time, checksum: try store.liveChecksum())
}

guard let options = Options(CommandLine.arguments) else {
    fail("usage: grdb-peer MEASURE --dir DIR --events N [--videos V] [--seed S]", code: 64)
}
do {
    try run(options)
} catch {
    fail("\(error)", code: 1)
}
