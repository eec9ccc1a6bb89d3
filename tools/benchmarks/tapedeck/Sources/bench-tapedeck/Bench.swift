import Foundation
import Tapedeck

/// Tapedeck's benchmarks in the suite; see "Adding a contender" in `tools/benchmarks/README.md`.
@main
struct Bench {
    let measure: String
    let directory: String
    let events: Int
    let videos: Int
    let seed: UInt64

    static let batchCount = 1_000

    static func main() async {
        do {
            guard let bench = Bench(Array(CommandLine.arguments.dropFirst())) else {
                report("usage: bench-tapedeck MEASURE --dir DIR --events N [--videos V] [--seed S]")
                exit(64)
            }
            try await bench.run()
        } catch {
            report("\(error)")
            exit(1)
        }
    }

    static func report(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

    init?(_ arguments: [String]) {
        var options: [String: String] = [:]
        for index in stride(from: 1, to: arguments.count - 1, by: 2) {
            options[arguments[index]] = arguments[index + 1]
        }
        guard let measure = arguments.first, let directory = options["--dir"],
            let events = options["--events"].flatMap({ Int($0) }), events > 0
        else { return nil }
        self.measure = measure
        self.directory = directory
        self.events = events
        videos = options["--videos"].flatMap { Int($0) } ?? 10_000
        seed = options["--seed"].flatMap { UInt64($0) } ?? 1
    }

    func run() async throws {
        switch measure {
        case "digest":
            let digest = Workload.digest(events: events, videos: videos, seed: seed)
            print(
                "{\"measure\":\"digest\",\"peer\":\"tapedeck\",\"events\":\(events),\"digest\":\""
                    + "\(digest.hex)\"}")
        case "append-1": try append(batch: 1)
        case "append-64": try await appendConcurrently(callers: 64)
        case "append-1000": try append(batch: Bench.batchCount)
        case "import": try importAll()
        case "read": try read()
        case "replay-10k", "replay-1m": try replay()
        case "append-p99": try appendBusy()
        case "flip": try flip()
        case "fill": try fill(tail: 0)
        case "fill-all": try fillAll()
        case "fill-activity": try writeActivity()
        case "append-live": try appendLive()
        case "fill-tail": try fill(tail: min(65_536, events / 10))
        case "cold-open": try coldOpen()
        case "fill-videos": try fillVideos()
        case "point-query", "first-page": try ask()
        case "as-of", "as-of-list": try lookBack()
        case "fill-search": try fillSearch()
        case "search": try search()
        case "live-diff", "live-diff-other": try await follow()
        case "live-writer": try write()
        case "playback-year": try await playYear()
        case "playback-year-compacted": try await compactYear()
        default:
            Bench.report("there is no benchmark \(measure)")
            exit(64)
        }
    }

    // MARK: - Shared by the benchmarks

    var store: String { directory + "/store" }

    func proposals(_ body: (ProposedEvent) throws -> Void) throws {
        var workload = Workload(events: events, videos: videos, seed: seed)
        for _ in 0..<events { try body(try proposal(workload.next())) }
    }

    func proposal(_ event: Event, isBroadcast: Bool = false) throws -> ProposedEvent {
        ProposedEvent(
            type: isBroadcast ? Broadcast.type : try EventType("Type\(event.type)"),
            tags: [try Tag("video", event.key)], atMilliseconds: UInt64(event.stamp),
            payload: isBroadcast ? Broadcast.payload(event) : event.payload)
    }

    /// Appends all events in batches, to fill a store before a benchmark.
    func append(to log: EventLog, isBroadcast: Bool) throws {
        var workload = Workload(events: events, videos: videos, seed: seed)
        var batch: [ProposedEvent] = []
        for index in 0..<events {
            batch.append(try proposal(workload.next(), isBroadcast: isBroadcast))
            if batch.count == 10_000 || index == events - 1 {
                try log.appendBlocking(batch)
                batch.removeAll(keepingCapacity: true)
            }
        }
        try log.indexAll()
    }

    func line(_ duration: Duration, _ extra: [(String, String)] = [], events: Int? = nil) {
        let count = events ?? self.events
        let seconds = duration.seconds
        var text =
            "{\"measure\":\"\(measure)\",\"peer\":\"tapedeck\",\"events\":\(count),\"seconds\":"
            + "\(seconds),\"perSecond\":\(Double(count) / seconds),\"version\":\"Tapedeck, LMDB"
            + " 0.9\",\"durability\":\"synced at each commit\""
        for (name, value) in extra { text += ",\"\(name)\":\(value)" }
        print(text + "}")
    }

    func timed(_ body: () throws -> Void) rethrows -> Duration {
        let started = ContinuousClock.now
        try body()
        return ContinuousClock.now - started
    }
}

extension Duration {
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

extension UInt64 {
    var hex: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
