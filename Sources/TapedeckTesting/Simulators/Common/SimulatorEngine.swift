/// The request handling common to all simulators: faults, routes and the ledger.
protocol SimulatorEngine {
    var core: SimulatorCore { get set }
    /// Advances time to `now`.
    mutating func pass(until now: Int64)
    /// Executes a request; throws if the system's API description does not cover it.
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
