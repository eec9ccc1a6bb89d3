import Foundation

extension BenchSync {
    /// Opens `events` live connections that wait for a new head.
    ///
    /// Continues until each connection has received a keep-alive, which the server sends every 15
    /// seconds, so that the memory for keep-alives is measured too. `run` measures the memory of
    /// the server.
    func idle() throws {
        let client = try LoadClient(url, token: token, connections: events)
        let duration = try timed {
            try client.open(client.get("/v1/live"), until: "event: head")
            try client.wait(for: ": alive")
            try client.wait(for: ": alive")
        }
        line(duration)
    }
}
