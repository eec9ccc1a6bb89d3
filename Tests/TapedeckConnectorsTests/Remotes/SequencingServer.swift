import Tapedeck
@testable import TapedeckSync

/// Assigns a position and a time to every event, like a sync server.
final class SequencingServer {
    private let lineage = LineageID(high: 1, low: 1)
    private var receipts: [EventID: Receipt] = [:]

    /// Distributes the events of all devices and their receipts to all devices.
    func sync(_ devices: RemoteDevice...) throws {
        for from in devices { for to in devices where to !== from { try exchange(from, to) } }
        for device in devices {
            let clock = device.world.clock.milliseconds
            var events: [EventID] = []
            for event in try device.store.log.events(after: .start, limit: 100_000) {
                events.append(event.id)
                if receipts[event.id] != nil { continue }
                let position = UInt64(receipts.count + 1)
                receipts[event.id] = Receipt(
                    event: event.id, lineage: lineage, serverPosition: position,
                    receivedAt: Stamp(milliseconds: clock, counter: UInt16(position)))
            }
            try device.store.log.record(
                receipts: events.compactMap { receipts[$0] },
                rows: [ServerClock.row(clock, device.steadyClock)])
        }
    }
}
