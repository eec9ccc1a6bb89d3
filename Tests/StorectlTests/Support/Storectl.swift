import Foundation
import TestSupport
import Testing

/// Runs `storectl` as a separate process, on a store in a temporary directory.
///
/// The program was built together with the tests.
struct Storectl {
    /// The output and the exit code of a run.
    struct Run {
        let arguments: [String]
        let stdout: String
        let stderr: String
        /// The exit code, or the negative number of the signal that ended the process.
        let exit: Int32

        /// The document on stdout.
        var document: OrderedJSON {
            get throws { try OrderedJSON(parsing: stdout) }
        }
    }

    let directory: TemporaryDirectory
    /// The path of the store.
    let store: String

    init() throws {
        directory = try TemporaryDirectory()
        store = directory.path + "/store"
    }

    /// The number of events in a demo store.
    static let demoEvents = 75

    /// Creates a demo store.
    static func demo() throws -> Storectl {
        let storectl = try Storectl()
        try storectl.succeed("init", "--demo")
        return storectl
    }

    /// Creates an empty store.
    static func empty() throws -> Storectl {
        let storectl = try Storectl()
        try storectl.succeed("init")
        return storectl
    }

    static var executable: URL {
        get throws {
            #if os(Linux)
                let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            #else
                let own = try #require(Bundle(for: RunningStorectl.self).bundleURL as URL?)
            #endif
            let url = own.deletingLastPathComponent().appendingPathComponent("storectl")
            try #require(FileManager.default.fileExists(atPath: url.path), "no \(url.path)")
            return url
        }
    }

    /// Runs the program to its end.
    @discardableResult
    func run(
        _ arguments: String..., input: String = "", environment: [String: String] = [:]
    ) throws -> Run {
        try run(arguments, input: Data(input.utf8), environment: environment)
    }

    func run(
        _ arguments: [String], input: Data = Data(), environment: [String: String] = [:]
    ) throws -> Run {
        let process = try start(arguments, input: input, environment: environment)
        return try process.wait()
    }

    /// Starts the program without waiting for its end.
    ///
    /// - Parameter pipe: The program's stdin; nil if `input` is its complete input.
    func start(
        _ arguments: [String], input: Data = Data(), through pipe: Pipe? = nil,
        environment: [String: String] = [:]
    ) throws -> RunningStorectl {
        try RunningStorectl(
            arguments, input: input, through: pipe,
            environment: ["TAPEDECK_STORE": store].merging(environment) { $1 }, directory)
    }

    /// Runs the program and expects exit code 0 and nothing on stderr.
    @discardableResult
    func succeed(
        _ arguments: String..., input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Run {
        let run = try run(arguments, input: Data(input.utf8))
        #expect(run.exit == 0, "\(arguments): \(run.stderr)", sourceLocation: sourceLocation)
        // If a remote limits requests, storectl announces each wait.
        let lines = run.stderr.split(separator: "\n").filter { !$0.hasPrefix("waiting ") }
        #expect(lines.isEmpty, "\(arguments)", sourceLocation: sourceLocation)
        return run
    }

    /// Runs the program with `--json` and expects it to fail, with the same error on both streams.
    func checkFails(
        _ arguments: String..., code: String, exit: Int32, says text: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let run = try run(arguments + ["--json"])
        #expect(run.exit == exit, "\(arguments): \(run.stderr)", sourceLocation: sourceLocation)
        let error = try #require(
            try run.document["error"], "\(run.stdout)", sourceLocation: sourceLocation)
        #expect(error["code"]?.text == code, sourceLocation: sourceLocation)
        #expect(error.names == ["code", "message", "hint"], sourceLocation: sourceLocation)
        let message = try #require(error["message"]?.text, sourceLocation: sourceLocation)
        #expect(
            text.isEmpty || message.contains(text), "\(message)", sourceLocation: sourceLocation)
        #expect(run.stderr.contains("error: \(message)\n"), sourceLocation: sourceLocation)
        if let hint = error["hint"]?.text {
            #expect(run.stderr.contains("hint: \(hint)\n"), sourceLocation: sourceLocation)
        }
    }

    /// Writes a file into the test's directory and returns its path.
    func file(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        let path = "\(directory.path)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }
}

/// A running `storectl` process.
final class RunningStorectl {
    private let process = Process()
    private let arguments: [String]
    private let out: URL
    private let error: URL

    init(
        _ arguments: [String], input: Data, through pipe: Pipe? = nil,
        environment: [String: String], _ directory: TemporaryDirectory
    ) throws {
        self.arguments = arguments
        let folder = URL(fileURLWithPath: directory.path)
        let name = UUID().uuidString
        out = folder.appendingPathComponent(name + ".out")
        error = folder.appendingPathComponent(name + ".err")
        let inputFile = folder.appendingPathComponent(name + ".in")
        // Output goes to files instead of pipes, because a full pipe would block the program.
        try input.write(to: inputFile)
        try Data().write(to: out)
        try Data().write(to: error)
        process.executableURL = try Storectl.executable
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = [
            "PATH": "/usr/bin:/bin", "HOME": directory.path, "TZ": "UTC",
            "TMPDIR": directory.path,
        ].merging(environment) { $1 }
        process.standardInput = try pipe ?? FileHandle(forReadingFrom: inputFile)
        process.standardOutput = try FileHandle(forWritingTo: out)
        process.standardError = try FileHandle(forWritingTo: error)
        try process.run()
    }

    /// The output on stdout so far.
    var stdoutSoFar: String {
        get throws { String(decoding: try Data(contentsOf: out), as: UTF8.self) }
    }

    /// The output on stderr so far.
    var stderrSoFar: String {
        get throws { String(decoding: try Data(contentsOf: error), as: UTF8.self) }
    }

    var identifier: Int32 { process.processIdentifier }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    var isRunning: Bool { process.isRunning }

    // No process outlives its test.
    deinit { if process.isRunning { send(SIGKILL) } }

    /// Returns whether the process ends by itself within the given number of milliseconds.
    func ends(withinMilliseconds limit: Int) -> Bool {
        for _ in 0..<limit / 5 where process.isRunning { usleep(5_000) }
        return !process.isRunning
    }

    /// Waits until the output contains `text`; returns false if the process ends without it.
    func waitForOutput(_ text: String) throws -> Bool {
        try eventuallyBlocking("\(text) in the output of \(arguments)", state: { try stdoutSoFar })
        {
            try stdoutSoFar.contains(text) || !isRunning
        }
        return try stdoutSoFar.contains(text)
    }

    /// Waits for the end of the process; if it does not end, kills it and fails the test.
    func wait() throws -> Storectl.Run {
        do {
            try eventuallyBlocking("the end of \(arguments)") { !isRunning }
        } catch {
            Issue.record(error)
            send(SIGKILL)
        }
        process.waitUntilExit()
        let status = process.terminationStatus
        return Storectl.Run(
            arguments: arguments, stdout: try stdoutSoFar,
            stderr: String(decoding: try Data(contentsOf: error), as: UTF8.self),
            exit: process.terminationReason == .uncaughtSignal ? -status : status)
    }
}
