/// What the simulators share: how a request goes through weather, routes and ledger.
protocol SimulatorEngine {
    var core: SimulatorCore { get set }
    /// Lets time pass until `now`.
    mutating func pass(until now: Int64)
    /// Does what the request asks; throws where the system's tables do not know it.
    mutating func route(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse
}

extension SimulatorEngine {
    mutating func take(_ request: SimulatedRequest, at now: Int64) -> SimulatedAnswer {
        pass(until: now)
        let weather = core.weather(at: now)
        switch weather {
        case .lost: return .cut
        case .turnedAway(let response): return .answer(response)
        case .fair, .answerLost, .answerBroken: break
        }
        let response: SimulatedResponse
        do {
            response = try route(request, now)
        } catch {
            return .answer(core.violate(request, error.what, at: now))
        }
        switch weather {
        case .answerLost: return .cut
        case .answerBroken: return .answer(SimulatorCore.brokenAnswer)
        default: return .answer(response)
        }
    }
}
