import Foundation
import TapedeckTesting
import Testing

extension Caller where Simulator == WhaleSimulator {
    /// Returns a client of the first user for a system with a generated world.
    static func whale(
        seed: UInt64 = 1, _ adversary: SimulatorAdversary = .none
    ) -> Caller<WhaleSimulator> {
        var caller = Caller(WhaleSimulator(seed: seed, at: Moments.start, adversary: adversary))
        caller.become(1)
        return caller
    }

    /// Makes all subsequent calls as another user.
    mutating func become(_ user: Int) {
        let token = simulator.token(forUser: user, at: now)
        headers = [SimulatedField("Authorization", "Bearer \(token)")]
    }

    /// Returns the rows of a page.
    mutating func page(_ target: String) throws -> [[String: Any]] {
        try #require(try call("GET", "/api/v1/\(target)").object["data"] as? [[String: Any]])
    }

    /// Uploads an answer.
    mutating func upload(
        question: Int, video: String = "clip.mov", thumbnail: String = "still.jpg"
    ) throws -> SimulatedResponse {
        now += 1_000
        var body = ""
        for (name, file) in [("video", video), ("thumbnail", thumbnail)] {
            body +=
                "--fence\r\nContent-Disposition: form-data; name=\"\(name)\";"
                + " filename=\"\(file)\"\r\nContent-Type: application/octet-stream\r\n\r\n"
                + "bytes\r\n--fen of \(file)\r\n"
        }
        let request = SimulatedRequest(
            "POST", "/api/v1/questions/\(question)/answers",
            headers: headers + [
                SimulatedField("Content-Type", "multipart/form-data; boundary=fence")
            ], body: Array((body + "--fence--\r\n").utf8))
        return try #require(simulator.respond(to: request, at: now).response)
    }

    /// Returns the open questions to a user, oldest first.
    func open(to user: Int) -> [Int] {
        simulator.world.questions.filter { question in
            question.receiver == user
                && !simulator.world.answers.contains { $0.question == question.id }
        }.map(\.id)
    }
}
