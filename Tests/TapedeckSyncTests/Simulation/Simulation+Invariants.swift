import TapedeckLog
import TapedeckModel
import TapedeckProjections
@testable import TapedeckServer
import TapedeckSync
import TapedeckTesting

/// The final state of an event, apart from its content.
private struct Standing: Hashable, CustomStringConvertible {
    var chain: HashChain
    var effectiveStamp: Stamp
    var isRefused: Bool

    var description: String { "\(effectiveStamp)\(isRefused ? " refused" : "")" }
}

extension Simulation {
    func violate(_ invariant: Int, _ what: String) {
        failure = failure ?? "invariant \(invariant): \(what)"
    }

    // MARK: - During the run

    /// Checks invariant 6: a device's stamps follow only its own clock and the server's clock.
    func checkStamp(of event: EventID, by device: Device) {
        guard let stamp = try? device.log?.event(event)?.stamp.milliseconds else { return }
        let most = max(device.latestTime, latestServerTime) + 1_000
        if stamp > most {
            violate(
                6, "\(device.name) stamps \(event.short) with \(stamp), \(stamp - most) ms ahead")
        }
    }

    /// Checks invariant 5: a settled device has delivered everything.
    func checkSettled(_ device: Device, _ life: Int) {
        // A device cannot know what the server has lost since the handshake.
        guard life == serverLife, let log = device.log else { return }
        do {
            let held = try serverEvents()
            for row in try log.origins() where row.lastSequence > 0 {
                for sequence in 1...row.lastSequence {
                    let event = EventID(origin: row.origin, sequence: sequence)
                    if !held.contains(event) {
                        return violate(
                            5, "\(device.name) is settled, but the server lacks \(event.short)")
                    }
                }
            }
        } catch {
            violate(5, "\(error)")
        }
    }

    // MARK: - At the end

    func checkEnd() throws {
        try checkProjections()
        try checkBoard()
        var first: (device: Device, events: [EventID: Standing])?
        for device in devices {
            guard let log = device.log else { return violate(4, "\(device.name) is down") }
            let problems = try log.verify().problems
            if let problem = problems.first {
                return violate(7, "\(device.name): verify: \(problem)")
            }
            let events = try standings(log)
            try checkPayloads(device, log)
            if let first {
                try compare(first.device, first.events, device, events)
            } else {
                first = (device, events)
            }
            if failure != nil { return }
        }
    }

    /// Checks invariant 1 for projections, and that live projections equal rebuilt projections.
    private func checkProjections() throws {
        guard options.folds || options.hasBoard || options.compacts else { return }
        var digests: [String: Set<String>] = [:]
        for device in devices {
            guard let projections = device.projections else { continue }
            try projections.read(nil) { _ in }
            let (report, differences) = try projections.verify(nil)
            if let difference = differences.first {
                violate(1, "\(device.name): live and rebuilt differ: \(difference)")
            }
            for built in report.projections {
                digests[built.name, default: []].insert(built.digest)
            }
        }
        if let name = digests.filter({ $0.value.count > 1 }).keys.min() {
            violate(1, "\(name) differs")
        }
    }

    /// Checks invariant 1, except for events that one of the two devices has compacted.
    private func compare(
        _ left: Device, _ leftEvents: [EventID: Standing], _ right: Device,
        _ rightEvents: [EventID: Standing]
    ) throws {
        guard leftEvents != rightEvents else { return }
        for event in Set(leftEvents.keys).union(rightEvents.keys).sorted()
        where leftEvents[event] != rightEvents[event] {
            if leftEvents[event] == nil, try left.log?.compacted(event) != nil { continue }
            if rightEvents[event] == nil, try right.log?.compacted(event) != nil { continue }
            func text(_ standing: Standing?) -> String {
                standing.map { "\($0), chain \($0.chain.bytes.prefix(2).map { $0 })" } ?? "nothing"
            }
            return violate(
                1,
                "\(event.short): \(left.name) has \(text(leftEvents[event])),"
                    + " \(right.name) has \(text(rightEvents[event]))")
        }
    }

    /// Checks invariants 2 and 3.
    ///
    /// Refused events are not lost. Several events may have the same payload only if they have the
    /// same source and all of them, or all but one, are refused.
    private func checkPayloads(_ device: Device, _ log: EventLog) throws {
        var found: [UInt64: [EventEnvelope]] = [:]
        for event in try device.named() {
            guard event.type == "Noted",
                let payload = UInt64(String(decoding: event.payload, as: UTF8.self))
            else { continue }
            found[payload, default: []].append(event)
        }
        if let lost = required.subtracting(found.keys).min() {
            return violate(2, "\(device.name) has lost \(lost)")
        }
        for (payload, events) in found.sorted(by: { $0.key < $1.key }) where events.count > 1 {
            let sources = Set(events.map { $0.reissuedFrom ?? $0.id })
            let counting = try events.filter { try !log.standing(of: $0).isRefused }
            guard sources.count > 1 || counting.count > 1 else { continue }
            let names = events.map { event in
                event.id.short + (event.reissuedFrom.map { " from \($0.short)" } ?? "")
            }
            return violate(
                3, "\(device.name) has \(payload) as \(names.joined(separator: " and as "))")
        }
    }

    private func standings(_ log: EventLog) throws -> [EventID: Standing] {
        var found: [EventID: Standing] = [:]
        for row in try log.origins() where row.lastSequence > 0 {
            for sequence in 1...row.lastSequence {
                let id = EventID(origin: row.origin, sequence: sequence)
                if try log.compacted(id) != nil { continue }
                guard let event = try log.event(id),
                    let chain = try log.chain(of: row.origin, at: sequence)
                else {
                    violate(7, "\(id.short) is missing")
                    continue
                }
                let override = try log.read { transaction in
                    try log.override(at: event.position.rawValue, transaction)
                }
                found[id] = Standing(
                    chain: chain, effectiveStamp: override?.effectiveStamp ?? event.stamp,
                    isRefused: override?.isRefused ?? false)
            }
        }
        return found
    }
}

extension Device {
    /// Returns the events that have kept their ids.
    func named() throws -> [EventEnvelope] {
        guard let log else { return [] }
        return try log.origins().flatMap { row in
            try (0..<row.lastSequence).compactMap {
                try log.event(EventID(origin: row.origin, sequence: $0 + 1))
            }
        }
    }

    /// Returns the payloads of the device's notes, even if the device is down.
    func payloads() throws -> Set<UInt64> {
        let wasUp = isUp
        if !wasUp { try openAlone() }
        defer { if !wasUp { shutDown() } }
        return Set(
            try named().compactMap { UInt64(String(decoding: $0.payload, as: UTF8.self)) })
    }
}
