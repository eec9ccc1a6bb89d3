import Foundation
import TapedeckTesting
import Testing

extension Caller where Simulator == BirdTubeSimulator {
    /// Returns a system with a generated world.
    static func birdTube(
        seed: UInt64 = 1, _ adversary: SimulatorAdversary = .none
    ) -> Caller<BirdTubeSimulator> {
        Caller(BirdTubeSimulator(seed: seed, at: Moments.start, adversary: adversary))
    }

    /// Posts an object, one second after the last call.
    mutating func answer(_ path: String, _ members: [String: Any]) throws -> SimulatedAnswer {
        now += 1_000
        let body = try JSONSerialization.data(withJSONObject: members, options: .sortedKeys)
        return simulator.respond(
            to: SimulatedRequest(
                "POST", path, headers: [SimulatedField("Content-Type", "application/json")],
                body: Array(body)), at: now)
    }

    /// Posts an object and requires a response with status 200.
    mutating func post(
        _ path: String, _ members: [String: Any], location: SourceLocation = #_sourceLocation
    ) throws -> [String: Any] {
        let response = try #require(
            try answer(path, members).response, sourceLocation: location)
        #expect(response.status == 200, "\(response.text)", sourceLocation: location)
        return try response.object
    }

    mutating func list(_ offset: Int, _ limit: Int = 20, order: Int) throws -> [[String: Any]] {
        let page = try post(
            "/video/list", ["offset": offset, "limit": limit, "order_by": order])
        #expect(page["result"] as? String == "success")
        return try #require(page["video_list"] as? [[String: Any]])
    }

    mutating func messages(
        _ channel: String, _ direction: String, from time: Int64, limit: Int = 50
    ) throws -> [[String: Any]] {
        let page = try post(
            "/channel/messages",
            ["channel_url": channel, "timestamp": time, "limit": limit, "direction": direction])
        return try #require(page["messages"] as? [[String: Any]])
    }

    mutating func signIn(
        _ user: String = SimulatorAccount.user, password: String = SimulatorAccount.password
    ) throws -> [String: Any] {
        try post(
            "/signin",
            ["email": user, "password": password, "device_token": "", "device_type": "WEB"])
    }

    mutating func session() throws -> String {
        let user = try #require(try signIn()["user"] as? [String: Any])
        return try #require(user["session"] as? String)
    }

    mutating func register(_ id: String, session: String) throws -> [String: Any] {
        try post(
            "/video/register",
            ["session": session, "video_id": id, "url": "u", "title": "t", "thumbnail": "p"])
    }
}

extension [String: Any] {
    var message: String? { self["message"] as? String }
    var isSuccess: Bool { self["result"] as? String == "success" }
}
