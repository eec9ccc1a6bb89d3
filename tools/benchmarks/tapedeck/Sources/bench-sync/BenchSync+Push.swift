import Foundation
import Synchronization
import Tapedeck
import TapedeckTesting

extension BenchSync {
    /// One device with a backlog reads its log, compresses and pushes the events, and records the
    /// receipts.
    ///
    /// The measured time ends when the last event is acknowledged. Afterwards, the device still
    /// reads its own events from the server's log (`settledSeconds`). Then plain requests send the
    /// same number of events, to measure only the server.
    func push() async throws {
        let device = try Device(directory + "/device")
        try device.record(events, seed: seed, videos: videos)
        let acknowledged = Mutex<ContinuousClock.Instant?>(nil)
        let started = ContinuousClock.now
        let report = try await device.sync(url, token: token) { progress in
            guard progress.toPush == 0 else { return }
            acknowledged.withLock { if $0 == nil { $0 = .now } }
        }
        let settled = ContinuousClock.now - started
        guard let end = acknowledged.withLock({ $0 }), report.pushed == UInt64(events) else {
            throw BenchError("pushed \(report.pushed) of \(events) events")
        }
        line(end - started, [("settledSeconds", settled.seconds)])
        device.log.close()
        try pushPlainly()
    }

    /// Pushes the same events from another origin over one connection: 1,000 per request, not
    /// compressed.
    private func pushPlainly() throws {
        let client = try LoadClient(url, token: token, connections: 1)
        let origin = OriginID.random()
        let lineage = try lineage(client, origin)
        var activity = ActivityGenerator(seed: seed, videos: videos)
        var requests: [[UInt8]] = []
        for first in stride(from: 0, to: events, by: 1_000) {
            var entries: [UInt8] = []
            for index in first..<min(first + 1_000, events) {
                Wire.append(
                    try activity.next().event(), origin, sequence: UInt64(index + 1), to: &entries)
            }
            requests.append(client.post("/v1/push", Wire.push(lineage: lineage, entries: entries)))
        }
        var asked = 0
        var fresh = 0
        let duration = try timed {
            try client.run(
                next: { _ in
                    guard asked < requests.count else { return nil }
                    defer { asked += 1 }
                    return requests[asked]
                },
                answered: { _, answer in fresh += try taken(answer) })
        }
        guard fresh == events else { throw BenchError("pushed \(fresh) of \(events) events") }
        line(duration, peer: peer + "-plain")
    }

    /// Every connection sends one event, waits until it is on disk, and sends the next one.
    func pushSingly(connections: Int) throws {
        let client = try LoadClient(url, token: token, connections: connections)
        let isOurs = peer == "tapedeck"
        let origins = (0..<connections).map { _ in OriginID.random() }
        let lineage = isOurs ? try lineage(client, origins[0]) : []
        var activity = ActivityGenerator(seed: seed, videos: videos)
        var requests = [[[UInt8]]](repeating: [], count: connections)
        for index in 0..<events {
            let connection = index % connections
            let sequence = UInt64(index / connections + 1)
            let event = try activity.next().event()
            if isOurs {
                var entries: [UInt8] = []
                Wire.append(event, origins[connection], sequence: sequence, to: &entries)
                requests[connection].append(
                    client.post("/v1/push", Wire.push(lineage: lineage, entries: entries)))
            } else {
                var body = origins[connection].bytes
                body.append(littleEndian: sequence)
                let tag = Array((event.tags.first?.text ?? "").utf8)
                body.append(UInt8(tag.count))
                body.append(contentsOf: tag)
                body.append(contentsOf: event.payload)
                requests[connection].append(client.post("/events", body))
            }
        }
        var asked = [Int](repeating: 0, count: connections)
        var fresh = 0
        let duration = try timed {
            try client.run(
                next: { connection in
                    guard asked[connection] < requests[connection].count else { return nil }
                    defer { asked[connection] += 1 }
                    return requests[connection][asked[connection]]
                },
                answered: { _, answer in
                    if isOurs {
                        fresh += try taken(answer)
                    } else {
                        guard answer.status == 201, answer.body.count == 8 else {
                            throw BenchError("the service responded with \(answer.status)")
                        }
                        fresh += 1
                    }
                })
        }
        guard fresh == events else { throw BenchError("pushed \(fresh) of \(events) events") }
        line(duration)
    }

    // MARK: - Parts

    func lineage(_ client: LoadClient, _ origin: OriginID) throws -> [UInt8] {
        let answer = try client.ask(client.post("/v1/handshake", Wire.handshake(origin)))
        guard answer.status == 200 else {
            throw BenchError("the server responded to a handshake with \(answer.status)")
        }
        return try Wire.Handshake(answer.body).lineage
    }

    /// Returns the number of new events in a push; throws unless the entire push was accepted.
    func taken(_ answer: HTTPAnswer) throws -> Int {
        guard answer.status == 200 else {
            throw BenchError("the server responded to a push with \(answer.status)")
        }
        let pushed = try Wire.Pushed(answer.body)
        guard !pushed.hasProblem, !pushed.hasRefusals else {
            throw BenchError("the server did not accept an entire push")
        }
        return Int(pushed.fresh)
    }
}
