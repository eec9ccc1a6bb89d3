import Foundation

extension BenchSync {
    /// Opens `events` connections that wait for news.
    ///
    /// It continues until each has received a keep-alive, which the server sends every 15 s, so
    /// that the memory for it is measured, too. `run` measures the server.
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
