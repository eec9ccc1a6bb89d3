import Foundation
@testable import TapedeckLog
import TapedeckModel

/// A directory that is gone when the tests are.
///
/// Not sooner: a store may be in use longer than the variable that made its directory.
struct TemporaryDirectory {
    let path: String

    private static let base: String = {
        let path = NSTemporaryDirectory() + "tapedeck-tests-\(getpid())"
        atexit { try? FileManager.default.removeItem(atPath: TemporaryDirectory.base) }
        return path
    }()

    init(_ name: String = #function) throws {
        let word = name.prefix { $0.isLetter || $0.isNumber }
        path = TemporaryDirectory.base + "/\(word)-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// A place inside; nothing is made.
    func file(_ name: String) -> String { path + "/" + name }

    func store(_ name: String = "store", _ options: EventLog.Options = .init()) throws -> EventLog {
        try EventLog.create(file(name), options: options)
    }
}

extension EventLog {
    /// Everything in log order.
    func allEvents() throws -> [EventEnvelope] {
        var all: [EventEnvelope] = []
        while true {
            let more = try events(after: all.last?.position ?? .start, limit: 10_000)
            if more.isEmpty { return all }
            all += more
        }
    }

    /// `append` with `.buffered`, for tests that are no tasks and must not wait for one.
    func appendBuffered(_ events: [ProposedEvent]) throws {
        try queue.add(
            AppendRequest(events, nil, isBuffered: true) { _ in }, drain: { self.drain() })
    }
}
