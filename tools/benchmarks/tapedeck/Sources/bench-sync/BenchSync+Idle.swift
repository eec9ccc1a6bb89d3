import Foundation

extension BenchSync {
    /// Connections that wait for news: `events` of them.
    ///
    /// It goes on until each has heard that the connection is alive, which the server says every 15
    /// s, so that what that costs in memory is seen, too. `run` measures the server.
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
