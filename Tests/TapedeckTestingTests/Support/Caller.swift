import Foundation
import TapedeckTesting
import Testing

/// A client that calls a simulator and reads its responses.
struct Caller<Simulator: RemoteSimulator> {
    var simulator: Simulator
    var now: Int64
    /// The headers of every call.
    var headers: [SimulatedField] = []
    /// Signs a call that is made at the given time.
    var sign: (_ request: SimulatedRequest, _ now: Int64) -> SimulatedRequest = { request, _ in
        request
    }

    init(_ simulator: Simulator, at now: Int64 = Moments.start) {
        self.simulator = simulator
        self.now = now
    }

    /// Makes a call, one second after the previous one.
    mutating func answer(
        _ method: String, _ target: String, form: KeyValuePairs<String, String>? = nil
    ) -> SimulatedAnswer {
        now += 1_000
        var request = SimulatedRequest(method, target, headers: [:], form: form)
        request.headers += headers
        return simulator.respond(to: sign(request, now), at: now)
    }

    /// Makes a call and requires a response.
    mutating func call(
        _ method: String, _ target: String, form: KeyValuePairs<String, String>? = nil,
        location: SourceLocation = #_sourceLocation
    ) throws -> SimulatedResponse {
        let answer = answer(method, target, form: form)
        return try #require(answer.response, sourceLocation: location)
    }
}

enum Moments {
    /// 2012-06-01T12:00:00.400Z.
    static let start: Int64 = 1_338_552_000_400
    static let hour: Int64 = 3_600_000
    static let day: Int64 = 86_400_000
}

extension SimulatedResponse {
    /// The body as JSON.
    var json: Any? {
        try? JSONSerialization.jsonObject(with: Data(body), options: .fragmentsAllowed)
    }

    /// The body as an object.
    var object: [String: Any] {
        get throws { try #require(json as? [String: Any], "\(text)") }
    }

    /// The body as a list of objects.
    var list: [[String: Any]] {
        get throws { try #require(json as? [[String: Any]], "\(text)") }
    }
}

extension [[String: Any]] {
    /// The values of the named member in each object, as text.
    func texts(_ name: String) -> [String] { compactMap { $0[name] as? String } }

    /// The values of the named member in each object, as numbers.
    func numbers(_ name: String) -> [Int] { compactMap { $0[name] as? Int } }
}
