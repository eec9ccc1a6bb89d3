import Foundation
import TapedeckTesting

/// Writes `--events` lines of generated activity; `tools/generate` calls this program.
@main
struct GenerateActivity {
    /// The number of bytes written at once.
    static let chunkCount = 1 << 20

    static func main() {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            try write(options)
        } catch let error as Failure {
            FileHandle.standardError.write(Data("tools/generate: \(error.message)\n".utf8))
            exit(error.status)
        } catch {
            FileHandle.standardError.write(Data("tools/generate: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func write(_ options: Options) throws {
        switch options.mix {
        case .videos:
            var activity = ActivityGenerator(seed: options.seed, videos: options.videos)
            try write(options) { activity.next().appendLine(to: &$0) }
        case .all:
            var activity = MixedActivityGenerator(seed: options.seed, videos: options.videos)
            try write(options) { try activity.next().appendLine(to: &$0) }
        }
    }

    private static func write(
        _ options: Options, line: (inout [UInt8]) throws -> Void
    ) throws {
        let output = try Output(options.path)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(chunkCount + 4_096)
        for _ in 0..<options.events {
            try line(&bytes)
            if bytes.count >= chunkCount {
                try output.write(bytes)
                bytes.removeAll(keepingCapacity: true)
            }
        }
        try output.write(bytes)
        try output.close()
    }
}

/// A failure, described for people.
struct Failure: Error {
    var message: String
    var status: Int32 = 1
}

/// The command line.
struct Options {
    /// The kind of activity to generate.
    enum Mix: String {
        /// Events about videos and answers, by `ActivityGenerator`.
        case videos
        /// Every event in the catalogue, by `MixedActivityGenerator`.
        case all
    }

    var mix = Mix.videos
    var events = 1_000
    var seed: UInt64 = 1
    var videos = 10_000
    var path: String?

    init(_ arguments: some Sequence<String>) throws {
        var rest = arguments.makeIterator()
        while let name = rest.next() {
            guard ["--events", "--mix", "--seed", "--videos", "--out"].contains(name) else {
                throw Failure(
                    message: "unknown argument \(name); usage:"
                        + " tools/generate [--events N] [--mix videos|all] [--seed S] [--videos V]"
                        + " [--out FILE]",
                    status: 64)
            }
            guard let value = rest.next() else {
                throw Failure(message: "\(name) needs a value", status: 64)
            }
            switch name {
            case "--events": events = try Options.number(name, value, from: 0)
            case "--mix":
                guard let read = Mix(rawValue: value) else {
                    throw Failure(message: "--mix must be videos or all, not \(value)", status: 64)
                }
                mix = read
            case "--seed":
                guard let read = UInt64(value) else { throw Options.refusal(name, value) }
                seed = read
            case "--videos": videos = try Options.number(name, value, from: 1)
            default: path = value
            }
        }
    }

    private static func number(_ name: String, _ value: String, from least: Int) throws -> Int {
        guard let read = Int(value), read >= least, read <= 1_000_000_000 else {
            throw refusal(name, value)
        }
        return read
    }

    private static func refusal(_ name: String, _ value: String) -> Failure {
        Failure(message: "\(name) \(value) is not a valid number", status: 64)
    }
}

/// Standard output, or a file that gets its final name once it is complete.
struct Output {
    private let descriptor: Int32
    private let path: String?

    init(_ path: String?) throws {
        self.path = path
        // If the reader closes the pipe, as `head` does, the write must fail instead of a signal
        // ending the program.
        signal(SIGPIPE, SIG_IGN)
        guard let path else {
            descriptor = STDOUT_FILENO
            return
        }
        descriptor = open(path + ".part", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard descriptor >= 0 else { throw Output.failure("\(path).part") }
    }

    func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { all in
            var offset = 0
            while offset < all.count {
                let rest = UnsafeRawBufferPointer(rebasing: all[offset...])
                let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    // The reader has closed the pipe.
                    if errno == EPIPE { exit(0) }
                    throw Output.failure(path ?? "standard output")
                }
                offset += count
            }
        }
    }

    func close() throws {
        guard let path else { return }
        guard Foundation.close(descriptor) == 0, rename(path + ".part", path) == 0 else {
            throw Output.failure(path)
        }
    }

    private static func failure(_ path: String) -> Failure {
        Failure(message: "\(path): \(String(cString: strerror(errno)))")
    }
}
