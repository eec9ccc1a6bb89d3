import Foundation

/// A `tapedeck-crash-child` process; see `Tests/CrashChild/main.swift`.
final class ChildProcess {
    private let process = Process()
    private let output = Pipe()

    /// Starts the process.
    convenience init(_ directory: String, seed: UInt64, _ rest: String...) throws {
        try self.init(directory, seed: seed, rest)
    }

    init(_ directory: String, seed: UInt64, _ rest: [String]) throws {
        process.executableURL = try ChildProcess.executable()
        process.arguments = [directory, String(seed)] + rest
        process.standardOutput = output
        try process.run()
    }

    deinit { if process.isRunning { kill() } }

    /// Returns the executable, which is next to the test bundle in the build directory.
    static func executable() throws -> URL {
        let places = [
            URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent(),
            Bundle(for: ChildProcess.self).bundleURL.deletingLastPathComponent(),
            Bundle.main.bundleURL, Bundle.main.bundleURL.deletingLastPathComponent(),
        ]
        for place in places {
            let file = place.appendingPathComponent("tapedeck-crash-child")
            if FileManager.default.isExecutableFile(atPath: file.path) { return file }
        }
        throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: "tapedeck-crash-child"])
    }

    /// Waits for the first line of output.
    func waitUntilOpen() { _ = firstBytes }

    private lazy var firstBytes: Data = output.fileHandleForReading.availableData

    /// Whether the process has a file open.
    func hasOpen(_ path: String) -> Bool {
        let folder = "/proc/\(process.processIdentifier)/fd"
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.contains { file in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + file))
                == path
        }
    }

    /// Kills the process immediately, as kill -9 does.
    func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }

    /// Waits for the end of the process and returns the last number it acknowledged, whether it
    /// succeeded, and its output.
    func finish() throws -> (acknowledged: UInt64, isDone: Bool, lines: [String]) {
        var data = firstBytes
        data.append(try output.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
        let last = lines.last { $0.hasPrefix("ack ") }?.dropFirst("ack ".count)
        let isDone = process.terminationReason == .exit && process.terminationStatus == 0
        return (last.flatMap { UInt64($0) } ?? 0, isDone, lines)
    }
}
