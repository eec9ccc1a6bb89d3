import Foundation
import Tapedeck

/// The load for the sync benchmarks; see "Adding a contender" in `tools/benchmarks/README.md`.
///
/// The server is another process, which `run` starts and measures. Benchmarks of devices use real
/// devices, which are stores with a `SyncEngine`. Other benchmarks use plain connections
/// (`LoadClient`), so that the load uses as little processor time as possible.
@main
struct BenchSync {
    let measure: String
    let directory: String
    let events: Int
    let videos: Int
    let seed: UInt64
    /// The server's address, `http://127.0.0.1:PORT`.
    let url: String
    let token: String
    /// The name of the contender that provides the server.
    let peer: String
    /// The path of the directory that contains one token file per space.
    let tokens: String?

    static func main() async {
        do {
            guard let bench = try BenchSync(Array(CommandLine.arguments.dropFirst())) else {
                report(
                    "usage: bench-sync MEASURE --dir DIR --events N [--videos V] [--seed S]"
                        + " --url URL --token-file FILE [--peer NAME] [--tokens DIR]")
                exit(64)
            }
            try await bench.run()
        } catch {
            report("\(error)")
            exit(1)
        }
    }

    static func report(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

    init?(_ arguments: [String]) throws {
        var options: [String: String] = [:]
        for index in stride(from: 1, to: arguments.count - 1, by: 2) {
            options[arguments[index]] = arguments[index + 1]
        }
        guard let measure = arguments.first, let directory = options["--dir"],
            let events = options["--events"].flatMap({ Int($0) }), events > 0,
            let url = options["--url"], let tokenFile = options["--token-file"]
        else { return nil }
        self.measure = measure
        self.directory = directory
        self.events = events
        videos = options["--videos"].flatMap { Int($0) } ?? 10_000
        seed = options["--seed"].flatMap { UInt64($0) } ?? 1
        self.url = url
        token = try BenchSync.token(in: tokenFile)
        peer = options["--peer"] ?? "tapedeck"
        tokens = options["--tokens"]
    }

    static func token(in file: String) throws -> String {
        try String(contentsOfFile: file, encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func run() async throws {
        switch measure {
        case "sync-push": try await push()
        case "sync-one": try pushSingly(connections: 64)
        // With one connection, the server has no other load, so its syncs can be counted.
        case "sync-one-alone": try pushSingly(connections: 1)
        case "sync-fill": try await fill()
        case "sync-bootstrap": try await bootstrap()
        case "sync-live": try await live()
        case "sync-reconnect": try await reconnect()
        case "sync-bytes": try await wireBytes()
        case "sync-idle": try idle()
        default:
            BenchSync.report("there is no benchmark \(measure)")
            exit(64)
        }
    }

    // MARK: - Shared by the benchmarks

    func line(
        _ duration: Duration, _ extra: [(String, Double)] = [], events: Int? = nil,
        peer: String? = nil
    ) {
        let count = events ?? self.events
        let seconds = duration.seconds
        var text =
            "{\"measure\":\"\(measure)\",\"peer\":\"\(peer ?? self.peer)\",\"events\":\(count),"
            + "\"seconds\":\(seconds),\"perSecond\":\(Double(count) / seconds)"
        for (name, value) in extra { text += ",\"\(name)\":\(value)" }
        print(text + "}")
    }

    func timed(_ body: () throws -> Void) rethrows -> Duration {
        let started = ContinuousClock.now
        try body()
        return ContinuousClock.now - started
    }
}

struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension Duration {
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
