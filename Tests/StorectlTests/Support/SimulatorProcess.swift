import Foundation
import TestSupport
import Testing

/// A `storectl simulate` process that can be killed and that, when started again, resumes from its
/// journal.
class SimulatorProcess {
    /// A write that took effect on the simulated system.
    struct Effect: Decodable, Hashable, CustomStringConvertible {
        let kind: String
        let entity: String
        let text: String
        /// The time of the write, in Unix milliseconds.
        let atMilliseconds: Int

        var description: String { "\(kind) \(entity) \(text)" }
    }

    let port: Int
    let storectl: Storectl
    /// The report that the simulator printed when it started.
    let document: OrderedJSON
    private let arguments: [String]
    private var process: RunningStorectl?

    init(_ system: String, seed: Int = 7) throws {
        storectl = try Storectl()
        let journal = storectl.directory.path + "/journal"
        var launched: (process: RunningStorectl, document: OrderedJSON)?
        var (port, arguments) = (0, [String]())
        for _ in 0..<5 where launched == nil {
            port = try LocalSocket.freePort()
            arguments = [
                "simulate", system, "--seed", "\(seed)", "--port", "\(port)", "--journal",
                journal, "--json",
            ]
            launched = try SimulatorProcess.launch(storectl, arguments)
        }
        (process, document) = try #require(launched, "the simulator did not start")
        self.port = port
        self.arguments = arguments
    }

    var url: String { "http://127.0.0.1:\(port)" }

    private static func launch(
        _ storectl: Storectl, _ arguments: [String]
    ) throws -> (process: RunningStorectl, document: OrderedJSON)? {
        let process = try storectl.start(arguments)
        guard try process.waitForOutput("\n") else { return nil }
        return (process, try OrderedJSON(parsing: process.stdoutSoFar))
    }

    /// Kills the simulator without letting it clean up.
    func kill() throws {
        guard let process else { return }
        process.send(SIGKILL)
        _ = try process.wait()
        self.process = nil
    }

    /// Starts the simulator again with the same port and journal.
    func start() throws {
        // A connection of another process may still use the port for a short time.
        try eventuallyBlocking("the start of the simulator at its port") {
            process = try SimulatorProcess.launch(storectl, arguments)?.process
            return process != nil
        }
    }

    var effects: [Effect] {
        get throws {
            let body = try LocalSocket.get("/_simulator/effects", port: port)
            return try JSONDecoder().decode([Effect].self, from: body)
        }
    }

    var violations: String {
        get throws {
            String(
                decoding: try LocalSocket.get("/_simulator/violations", port: port), as: UTF8.self)
        }
    }
}
