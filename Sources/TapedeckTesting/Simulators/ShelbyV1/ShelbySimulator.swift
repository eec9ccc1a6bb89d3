/// Both Shelby systems at one address: v2 with OAuth, used in 2012, and v1, used from 2012 to 2014.
///
/// Each system has its own world and its own fault injection.
public struct ShelbySimulator: RemoteSimulator {
    /// The system that handles `/v2` and `/oauth`.
    public var v2: ShelbyV2Simulator
    /// The system that handles `/v1`.
    public var v1: ShelbyV1Simulator
    /// For each write, in order, whether v1 handled it.
    private var order: [Bool] = []

    /// Creates both systems with worlds generated as of `now`; the dashboard of v1 has `count`
    /// entries.
    public init(
        seed: UInt64, at now: Int64, entries count: Int = ShelbyV1World.madeEntries,
        adversary: SimulatorAdversary = .none
    ) {
        v2 = ShelbyV2Simulator(seed: seed, at: now, adversary: adversary)
        v1 = ShelbyV1Simulator(seed: seed, at: now, entries: count, adversary: adversary)
    }

    /// The requests that the API description of the addressed system does not cover.
    public var violations: [SimulatorViolation] {
        (v2.violations + v1.violations).sorted { $0.atMilliseconds < $1.atMilliseconds }
    }

    /// The writes that took effect in either system, in order.
    public var effects: [SimulatorEffect] {
        var (first, second) = (v2.effects[...], v1.effects[...])
        return order.enumerated().compactMap { index, isV1 in
            var effect = isV1 ? second.popFirst() : first.popFirst()
            effect?.number = index + 1
            return effect
        }
    }

    /// The injected faults of both systems.
    public var adversary: SimulatorAdversary {
        get { v2.adversary }
        set {
            v2.adversary = newValue
            v1.adversary = newValue
        }
    }

    /// Handles a request that arrives at `now`, in milliseconds since 1970.
    public mutating func respond(to request: SimulatedRequest, at now: Int64) -> SimulatedAnswer {
        advance(to: now)
        let isV1 = request.segments.first == "v1"
        let answer = isV1 ? v1.respond(to: request, at: now) : v2.respond(to: request, at: now)
        while order.count < v2.effects.count + v1.effects.count { order.append(isV1) }
        return answer
    }

    /// Performs the actions of other users until `now`.
    public mutating func advance(to now: Int64) {
        v2.advance(to: now)
        v1.advance(to: now)
    }

    /// Invalidates every token in both systems.
    public mutating func expireTokens() {
        v2.expireTokens()
        v1.expireTokens()
    }
}
