import Foundation

extension BenchSync {
    /// Opens `events` live connections that wait for a new head.
    ///
    /// Continues until the server has repeated its head twice on each connection, which it does
    /// every 15 seconds, so that the memory for this is measured too. `run` measures the memory of
    /// the server.
    func idle() throws {
        let client = try LoadClient(url, token: token, connections: events)
        let duration = try timed {
            let mark = "event: head"
            try client.open(client.get("/v1/live"), until: mark)
            for _ in 0..<2 { try client.wait(for: mark) }
        }
        line(duration)
    }
}
