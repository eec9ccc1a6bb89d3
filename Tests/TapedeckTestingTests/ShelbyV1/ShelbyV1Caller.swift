import TapedeckTesting
import Testing

extension Caller where Simulator == ShelbyV1Simulator {
    /// Returns a system with a generated world.
    static func shelbyV1(
        seed: UInt64 = 1, _ adversary: SimulatorAdversary = .none
    ) -> Caller<ShelbyV1Simulator> {
        Caller(ShelbyV1Simulator(seed: seed, at: Moments.start, adversary: adversary))
    }

    /// The account's user.
    var ada: ShelbyV1World.User {
        get throws {
            let id = try #require(simulator.world.tokens[SimulatorAccount.authToken])
            return try #require(simulator.world.users[id])
        }
    }

    /// Returns a path with the account's token and further query parameters.
    func path(_ path: String, _ query: String = "") -> String {
        "/v1/\(path)?auth_token=\(SimulatorAccount.authToken)" + (query.isEmpty ? "" : "&\(query)")
    }

    mutating func result(
        _ method: String, _ path: String, _ query: String = "",
        form: KeyValuePairs<String, String>? = nil
    ) throws -> Any {
        let answer = try call(method, self.path(path, query), form: form)
        #expect(answer.status == 200, "\(answer.text)")
        let object = try answer.object
        #expect(object["status"] as? Int == 200)
        return try #require(object["result"])
    }

    mutating func dashboard(_ query: String = "") throws -> [[String: Any]] {
        try #require(try result("GET", "dashboard", query) as? [[String: Any]])
    }

    mutating func frame(_ id: String) throws -> [String: Any] {
        try #require(
            try result("GET", "frame/\(id)", "include_children=true") as? [String: Any])
    }

    /// Returns the frames of a roll, newest first.
    mutating func frames(onRoll id: String, _ query: String = "") throws -> [[String: Any]] {
        let roll = try #require(try result("GET", "roll/\(id)/frames", query) as? [String: Any])
        return try #require(roll["frames"] as? [[String: Any]])
    }

    /// Returns a frame of another user with all of its parts.
    func wholeFrame() throws -> ShelbyV1World.Frame {
        let whole = simulator.world.frames.values.filter {
            $0.creator != nil && $0.roll != nil && $0.conversation != nil && $0.video != nil
                && $0.type == 0
        }
        return try #require(whole.max { $0.id < $1.id })
    }
}
