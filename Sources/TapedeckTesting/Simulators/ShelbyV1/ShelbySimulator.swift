/// Both of Shelby's systems at one address: v2 and OAuth as in 2012, v1 as from 2012 to 2014.
///
/// Each has a world and an adversary's dice of its own.
public struct ShelbySimulator: RemoteSimulator {
    /// What answers `/v2` and `/oauth`.
    public var v2: ShelbyV2Simulator
    /// What answers `/v1`.
    public var v1: ShelbyV1Simulator
    /// Which of the two took each write, in order.
    private var order: [Bool] = []

    /// Makes both systems with made-up worlds as of `now`.
    public init(seed: UInt64, at now: Int64, adversary: SimulatorAdversary = .none) {
        v2 = ShelbyV2Simulator(seed: seed, at: now, adversary: adversary)
        v1 = ShelbyV1Simulator(seed: seed, at: now, adversary: adversary)
    }

    /// Requests that neither system knows.
    public var violations: [SimulatorViolation] {
        (v2.violations + v1.violations).sorted { $0.atMilliseconds < $1.atMilliseconds }
    }

    /// Every write that took effect in either system, in order.
    public var effects: [SimulatorEffect] {
        var (first, second) = (v2.effects[...], v1.effects[...])
        return order.enumerated().compactMap { index, isV1 in
            var effect = isV1 ? second.popFirst() : first.popFirst()
            effect?.number = index + 1
            return effect
        }
    }

    /// How both systems make life hard.
    public var adversary: SimulatorAdversary {
        get { v2.adversary }
        set {
            v2.adversary = newValue
            v1.adversary = newValue
        }
    }

    /// Takes a request at a time, in Unix milliseconds.
    public mutating func respond(to request: SimulatedRequest, at now: Int64) -> SimulatedAnswer {
        advance(to: now)
        let isV1 = request.segments.first == "v1"
        let answer = isV1 ? v1.respond(to: request, at: now) : v2.respond(to: request, at: now)
        while order.count < v2.effects.count + v1.effects.count { order.append(isV1) }
        return answer
    }

    /// Lets others do what they do until `now`.
    public mutating func advance(to now: Int64) {
        v2.advance(to: now)
        v1.advance(to: now)
    }

    /// Forgets every token of both.
    public mutating func expireTokens() {
        v2.expireTokens()
        v1.expireTokens()
    }
}
