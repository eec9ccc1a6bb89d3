import Foundation
import TestSupport
import Testing

/// `storectl serve` as a process that can be killed and restarted with the same port and files.
final class ServeProcess {
    /// The directory of the server's files.
    let data: String
    private(set) var port: Int
    private let storectl: Storectl
    private var process: RunningStorectl?
    /// The output on stderr since the first start.
    private(set) var diagnostics = ""

    /// Starts the server on a free port.
    init() throws {
        storectl = try Storectl()
        data = storectl.directory.path + "/server"
        port = try LocalSocket.freePort()
        for attempt in 0..<5 {
            if try launch() { return }
            try #require(attempt < 4, "serve did not start: \(diagnostics)")
            port = try LocalSocket.freePort()
        }
    }

    var url: String { "http://127.0.0.1:\(port)" }
    var tokenFile: String { data + "/token" }

    var token: String {
        get throws {
            try String(contentsOfFile: tokenFile, encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// The running process.
    var running: RunningStorectl { get throws { try #require(process) } }

    /// Starts the server again on the same port.
    func start(_ arguments: String...) throws { try start(arguments) }

    func start(_ arguments: [String]) throws {
        // A connection of another process may still use the port for a short time.
        try eventuallyBlocking("the start of serve at its port", state: { diagnostics }) {
            try launch(arguments)
        }
    }

    private func launch(_ arguments: [String] = []) throws -> Bool {
        let process = try storectl.start(
            ["serve", "--data", data, "--port", "\(port)", "--json"] + arguments)
        if try process.waitForOutput("\n") {
            self.process = process
            return true
        }
        diagnostics += try process.wait().stderr
        return false
    }

    /// Kills the server without letting it clean up.
    func kill() throws {
        guard let process else { return }
        process.send(SIGKILL)
        diagnostics += try process.wait().stderr
        self.process = nil
    }

    /// Stops the server cleanly.
    @discardableResult
    func end() throws -> Storectl.Run {
        let process = try running
        process.send(SIGTERM)
        let run = try process.wait()
        diagnostics += run.stderr
        self.process = nil
        return run
    }
}
