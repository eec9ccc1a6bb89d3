import Foundation
import Tapedeck
import TapedeckTesting

/// A real device, with a store in its own directory.
struct Device: Sendable {
    let log: EventLog

    init(_ log: EventLog) { self.log = log }

    /// - Parameter mapSizeBytes: The size of the memory map; use a smaller size if one process
    ///   contains a thousand devices.
    init(_ directory: String, mapSizeBytes: Int = 16 << 30) throws {
        log = try EventLog.create(directory, options: .init(mapSizeBytes: mapSizeBytes))
    }

    /// Records generated activity and returns the number of bytes in its payloads and tags.
    @discardableResult
    func record(_ events: Int, seed: UInt64, videos: Int) throws -> Int {
        var activity = ActivityGenerator(seed: seed, videos: videos)
        var batch: [ProposedEvent] = []
        var bytes = 0
        for index in 0..<events {
            let event = try activity.next().event()
            bytes += event.payload.count + event.tags.reduce(0) { $0 + $1.text.utf8.count }
            batch.append(event)
            if batch.count == 10_000 || index == events - 1 {
                try log.appendBlocking(batch)
                batch.removeAll(keepingCapacity: true)
            }
        }
        return bytes
    }

    /// Syncs until everything is delivered in both directions; throws if that fails.
    @discardableResult
    func sync(
        _ url: String, token: String, progress: (@Sendable (SyncProgress) -> Void)? = nil
    ) async throws -> SyncReport {
        let engine = try SyncEngine(log, server: url, token: token)
        let report = try await engine.run(progress: progress)
        if let failure = report.failure { throw failure }
        guard report.refused.isEmpty, report.waitingCount == 0 else {
            throw BenchError("\(report.refused.count) refused, \(report.waitingCount) waiting")
        }
        return report
    }

    /// Returns a number that two stores share only if they have the same events, in any order.
    func digest() throws -> Digest {
        var digest = Digest()
        try log.scan { event in
            var hash = Hash()
            hash.add(event.id.origin.high)
            hash.add(event.id.origin.low)
            hash.add(event.id.sequence)
            let payload = event.payload
            for offset in 0..<payload.byteCount {
                hash.add(UInt64(payload.unsafeLoad(fromByteOffset: offset, as: UInt8.self)))
            }
            digest.add(hash, of: event.id.origin)
        }
        return digest
    }

    struct Digest: Equatable {
        private(set) var sum: UInt64 = 0
        private(set) var events: [OriginID: Int] = [:]

        mutating func add(_ hash: Hash, of origin: OriginID) {
            sum &+= hash.value
            events[origin, default: 0] += 1
        }
    }

    struct Hash {
        private(set) var value: UInt64 = 0

        mutating func add(_ word: UInt64) { value = SeededGenerator.mixed(value ^ word) &+ 1 }
    }
}
