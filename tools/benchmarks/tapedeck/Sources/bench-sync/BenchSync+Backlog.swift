import Foundation
import Tapedeck

extension BenchSync {
    /// Fills the server for `bootstrap`.
    func fill() async throws {
        let device = try Device(directory + "/source")
        try device.record(events, seed: seed, videos: videos)
        let started = ContinuousClock.now
        try await device.sync(url, token: token)
        line(ContinuousClock.now - started)
        device.log.close()
        try FileManager.default.removeItem(atPath: directory + "/source")
    }

    /// A new device downloads, verifies and records everything, and builds its projections until
    /// the first page of the list is available.
    ///
    /// This process is the device, so the peak memory of the process is that of the device.
    func bootstrap() async throws {
        let place = directory + "/device"
        let started = ContinuousClock.now
        let store = try TapedeckStore.open(place)
        let device = Device(store.log)
        let report = try await device.sync(url, token: token)
        let synced = ContinuousClock.now - started
        let page = try await store.query { try VideoQueries($0).videos() }
        let duration = ContinuousClock.now - started
        guard report.pulled == UInt64(events), store.log.head.rawValue == UInt64(events),
            !page.videos.isEmpty
        else { throw BenchError("pulled \(report.pulled) of \(events) events") }
        store.close()
        try FileManager.default.removeItem(atPath: place)
        line(
            duration,
            [("syncSeconds", synced.seconds), ("projectSeconds", (duration - synced).seconds)])
    }

    /// Measures the bytes on the connection while one device delivers a backlog and another device
    /// reads it.
    ///
    /// Counts the bytes of requests and responses, including headers, relative to the bytes of
    /// payloads and tags.
    func wireBytes() async throws {
        let relay = try CountingRelay(to: url)
        let source = try Device(directory + "/source")
        let content = Double(try source.record(events, seed: seed, videos: videos))
        let started = ContinuousClock.now
        try await source.sync(relay.url, token: token)
        let push = relay.take()
        let reader = try Device(directory + "/reader")
        try await reader.sync(relay.url, token: token)
        let pull = relay.take()
        let duration = ContinuousClock.now - started
        guard try reader.digest() == source.digest() else {
            throw BenchError("the devices do not have the same events")
        }
        line(
            duration,
            [
                ("pushRatio", Double(push.up + push.down) / content),
                ("pushUpRatio", Double(push.up) / content),
                ("pullRatio", Double(pull.up + pull.down) / content),
                ("contentBytes", content),
            ])
        source.log.close()
        reader.log.close()
    }
}
