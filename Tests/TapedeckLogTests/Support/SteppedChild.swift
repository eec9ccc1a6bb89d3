import Foundation
import Testing

/// A process that runs commands on a store and stops at each system call that other processes can
/// notice.
///
/// See `Tests/CrashChild/main.swift`. Only one such process runs at a time, so the test's choices
/// at the stops (`go`, `fail` or `end`) determine the run.
final class SteppedChild {
    /// The state of the process.
    enum State: Equatable {
        /// The process has stopped before a call of this kind.
        case stopped(Character)
        /// The process has stopped because the call would wait for another process.
        case waiting
        /// The process has finished its command with this result.
        case done(String)
        case dead
    }

    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())
    private(set) var state = State.done("")

    init(_ store: String) throws {
        process.executableURL = try ChildProcess.executable()
        process.arguments = [store, "0", "stepping"]
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    var isAlive: Bool { state != .dead }

    var isDone: Bool {
        if case .done = state { true } else { state == .dead }
    }

    /// The result of the last command; nil unless it is finished.
    var result: String? {
        if case .done(let result) = state { result } else { nil }
    }

    /// Starts a command; the process stops at its first call.
    func begin(_ command: String) { tell(Array((command + "\n").utf8)) }

    /// Makes the call and continues to the next call.
    func go() { tell([UInt8(ascii: "g")]) }

    /// Makes the call fail.
    func fail() { tell([UInt8(ascii: "f")]) }

    /// Kills the process before the call.
    func end() { tell([UInt8(ascii: "k")]) }

    private func tell(_ bytes: [UInt8]) {
        let written = bytes.withUnsafeBytes {
            write(input.fileHandleForWriting.fileDescriptor, $0.baseAddress, $0.count)
        }
        state = written == bytes.count ? listen() : .dead
    }

    private func listen() -> State {
        guard let kind = byte() else {
            process.waitUntilExit()
            return .dead
        }
        switch kind {
        case UInt8(ascii: "w"): return .waiting
        case UInt8(ascii: "="):
            var line: [UInt8] = []
            while let next = byte(), next != UInt8(ascii: "\n") { line.append(next) }
            return .done(String(decoding: line, as: UTF8.self))
        default: return .stopped(Character(UnicodeScalar(kind)))
        }
    }

    private func byte() -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = read(output.fileHandleForReading.fileDescriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            return count == 1 ? byte : nil
        }
    }
}
