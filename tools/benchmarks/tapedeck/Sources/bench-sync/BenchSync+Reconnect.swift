import Foundation
import Tapedeck
import TapedeckTesting

extension BenchSync {
    private static let eventsPerDevice = 100
    private static let devicesPerSpace = 4

    /// Devices that were offline for a while reconnect at the same time, each with 100 events.
    ///
    /// 1. A thousand real devices, four per space. In the end, all devices of a space have the same
    ///    events. The devices' stores are also on the machine that is being measured.
    /// 2. The same number of connections, all in one space, which is the worst case for a server
    ///    that refuses stale pushes. Two real devices then read the result.
    func reconnect() async throws {
        let count = events / BenchSync.eventsPerDevice
        try await reconnectDevices(count)
        try await reconnectConnections(count)
    }

    private func reconnectDevices(_ count: Int) async throws {
        let tokens = try spaces()
        guard count == tokens.count * BenchSync.devicesPerSpace else {
            throw BenchError("\(count) devices cannot be divided among \(tokens.count) spaces")
        }
        var devices: [Device] = []
        for number in 0..<count {
            let device = try Device(directory + "/device-\(number)", mapSizeBytes: 256 << 20)
            // Each device syncs once before it goes offline.
            try await device.sync(url, token: tokens[number % tokens.count])
            try device.record(
                BenchSync.eventsPerDevice, seed: seed &+ UInt64(number), videos: videos)
            devices.append(device)
        }
        let before = try answers()
        let whole = UInt64(BenchSync.eventsPerDevice * BenchSync.devicesPerSpace)
        let started = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, device) in devices.enumerated() {
                let token = tokens[number % tokens.count]
                group.addTask {
                    try await device.sync(url, token: token)
                    while device.log.head.rawValue < whole {
                        guard ContinuousClock.now - started < .seconds(120) else {
                            throw BenchError("a device did not converge within 120 s")
                        }
                        try await Task.sleep(for: .milliseconds(50))
                        try await device.sync(url, token: token)
                    }
                }
            }
            try await group.waitForAll()
        }
        let duration = ContinuousClock.now - started
        let after = try answers()
        var digests = [Device.Digest?](repeating: nil, count: tokens.count)
        for (number, device) in devices.enumerated() {
            let digest = try device.digest()
            let space = number % tokens.count
            guard digest.events.values.allSatisfy({ $0 == BenchSync.eventsPerDevice }),
                digest.events.count == BenchSync.devicesPerSpace,
                digests[space] == nil || digests[space] == digest
            else { throw BenchError("device \(number) differs from its space") }
            digests[space] = digest
            device.log.close()
        }
        line(
            duration,
            [
                ("staleRefusals", after.stale - before.stale),
                ("otherRefusals", after.refused - before.refused - after.stale + before.stale),
                ("devices", Double(count)),
            ])
    }

    private func reconnectConnections(_ count: Int) async throws {
        let client = try LoadClient(url, token: token, connections: count)
        let origins = (0..<count).map { _ in OriginID.random() }
        let entries = try (0..<count).map { number in
            var activity = ActivityGenerator(seed: seed &+ UInt64(number), videos: videos)
            var entries: [UInt8] = []
            for sequence in 1...BenchSync.eventsPerDevice {
                Wire.append(
                    try activity.next().event(), origins[number], sequence: UInt64(sequence),
                    to: &entries)
            }
            return entries
        }
        var steps = [Int](repeating: 0, count: count)
        var lineages = [[UInt8]](repeating: [], count: count)
        var fresh = 0
        let before = try answers()
        let duration = try timed {
            try client.run(
                next: { number in
                    switch steps[number] {
                    case 0: client.post("/v1/handshake", Wire.handshake(origins[number]))
                    case 1:
                        client.post(
                            "/v1/push",
                            Wire.push(lineage: lineages[number], entries: entries[number]))
                    default: nil
                    }
                },
                answered: { number, answer in
                    if steps[number] == 0, answer.status == 200 {
                        lineages[number] = try Wire.Handshake(answer.body).lineage
                    } else {
                        fresh += try taken(answer)
                    }
                    steps[number] += 1
                })
        }
        let after = try answers()
        guard fresh == count * BenchSync.eventsPerDevice else {
            throw BenchError("the server accepted \(fresh) events")
        }
        var digests: [Device.Digest] = []
        for number in 0..<2 {
            let device = try Device(directory + "/reader-\(number)")
            try await device.sync(url, token: token)
            digests.append(try device.digest())
            device.log.close()
        }
        guard digests[0] == digests[1], Set(digests[0].events.keys) == Set(origins),
            digests[0].events.values.allSatisfy({ $0 == BenchSync.eventsPerDevice })
        else { throw BenchError("the server does not have each event exactly once") }
        line(
            duration,
            [
                ("staleRefusals", after.stale - before.stale),
                ("otherRefusals", after.refused - before.refused - after.stale + before.stale),
                ("devices", Double(count)),
            ], peer: peer + "-one-space")
    }

    // MARK: - Parts

    /// Returns a token for each space.
    private func spaces() throws -> [String] {
        guard let tokens else { throw BenchError("--tokens is missing") }
        return try FileManager.default.contentsOfDirectory(atPath: tokens).sorted()
            .map { try BenchSync.token(in: tokens + "/" + $0) }
    }

    /// Returns the number of refusals that the server has sent, and the number of refusals of stale
    /// pushes.
    private func answers() throws -> (refused: Double, stale: Double) {
        let client = try LoadClient(url, token: token, connections: 1)
        let answer = try client.ask(client.get("/metrics"))
        guard answer.status == 200 else { throw BenchError("/metrics gave \(answer.status)") }
        var found = (refused: 0.0, stale: 0.0)
        for line in String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
        where line.hasPrefix("tapedeck_requests_total{") {
            let count = line.split(separator: " ").last.flatMap { Double($0) } ?? 0
            if !line.contains("status=\"200\"") { found.refused += count }
            if line.contains("status=\"409\"") { found.stale += count }
        }
        return found
    }
}
