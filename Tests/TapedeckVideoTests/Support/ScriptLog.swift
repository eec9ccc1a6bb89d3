import Foundation
import TapedeckLog
import TapedeckModel
import TapedeckProjections

/// A log with the events of a script, as received from a server.
///
/// The server refused some of the events, and received others earlier than their stamps claim.
final class ScriptLog {
    let log: EventLog
    private let directory: String

    init(_ events: [RecordedEvent], _ random: inout some RandomNumberGenerator) throws {
        directory = NSTemporaryDirectory() + "/tapedeck-script-\(UUID().uuidString)"
        log = try EventLog.create(directory)
        var foreign = ForeignEvents()
        var canonical = CanonicalEvent()
        for (place, event) in events.enumerated() {
            let receipt = Receipt(
                event: event.id, lineage: LineageID(high: 1, low: 1),
                serverPosition: UInt64(place + 1),
                receivedAt: Stamp(milliseconds: UInt64(Script.time(120)) + UInt64(place)),
                outcome: Int.random(in: 0..<12, using: &random) == 0 ? .refused(.fork) : .accepted)
            canonical.withBytes(of: event.proposal, id: event.id, stamp: event.stamp) {
                foreign.add($0, receipt)
            }
        }
        _ = try log.record(foreign)
    }

    deinit {
        log.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Returns points in the history: now, a random position and a random time.
    func points(_ random: inout some RandomNumberGenerator) throws -> [HistoryPoint?] {
        let head = try log.currentHead().rawValue
        return [
            nil, .position(LogPosition(rawValue: .random(in: 1...head, using: &random))),
            .time(milliseconds: UInt64(Script.time(.random(in: 1...130, using: &random)))),
        ]
    }
}
