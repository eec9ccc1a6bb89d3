import Foundation
import TapedeckLog
import TapedeckModel

/// A directory that is gone when the test is.
final class TemporaryDirectory {
    let path: String

    init(_ name: String = #function) throws {
        let word = name.prefix { $0.isLetter || $0.isNumber }
        path = NSTemporaryDirectory() + "tapedeck-\(word)-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

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
}
