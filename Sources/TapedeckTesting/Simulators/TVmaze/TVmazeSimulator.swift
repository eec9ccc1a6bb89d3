internal import Tapedeck

/// TVmaze's system: when shows are on, and who plays in them.
///
/// Nobody logs in, and nothing is written. Traps, each as the system has it: the day of a network's list is that
/// of the beginning in the channel's zone, while nights count to the day before; a web channel's list goes by what an episode counts to, and has the
/// show embedded elsewhere; an episode without a time of day begins at noon; nothing tells that an episode is
/// cancelled, it is only missing; a show's weight churns without a new version; every answer, also a 404, may
/// be kept for an hour by its `Cache-Control`; more than 20 requests in 10 s are turned away.
public struct TVmazeSimulator: RemoteSimulator, SimulatorEngine {
    /// What the system holds; tests may change it at any time.
    public var world: TVmazeWorld
    /// What `Cache-Control` grants, in seconds; nil for no such header.
    public var maxAgeSeconds: Int? = 3_600
    /// The most requests in `SimulatorAdversary.quotaMilliseconds`.
    public static let requestsMax = 20
    var core: SimulatorCore

    /// Makes a system with a world made by hand.
    public init(world: TVmazeWorld, seed: UInt64 = 0, adversary: SimulatorAdversary = .none) {
        self.world = world
        core = SimulatorCore(seed: seed, adversary: adversary)
        self.adversary = adversary
    }

    /// Makes a system with a made-up world as of `now`.
    public init(seed: UInt64, at now: Int64, adversary: SimulatorAdversary = .none) {
        self.init(world: TVmazeWorld(seed: seed, at: now), seed: seed, adversary: adversary)
    }

    /// Requests that the described system does not know.
    public var violations: [SimulatorViolation] { core.violations }
    /// None: nothing can be written there.
    public var effects: [SimulatorEffect] { core.effects }

    /// How the system makes life hard, beyond the quota that it always has.
    public var adversary: SimulatorAdversary {
        get { core.adversary }
        set {
            core.adversary = newValue
            core.adversary.quotaMax = min(newValue.quotaMax ?? .max, TVmazeSimulator.requestsMax)
        }
    }

    /// Takes a request at a time, in Unix milliseconds.
    public mutating func respond(to request: SimulatedRequest, at now: Int64) -> SimulatedAnswer {
        take(request, at: now)
    }

    /// Lets the schedules change, until `now`.
    public mutating func advance(to now: Int64) { pass(until: now) }

    /// Nothing: there are no tokens.
    public mutating func expireTokens() {}

    // MARK: - Routes

    mutating func route(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let path = request.segments
        let id = path.count > 1 ? Int(path[1]) : nil
        let shape = path.enumerated().map { $0.offset == 1 && id != nil ? "#" : $0.element }
        let answer: SimulatedResponse
        switch (request.method, shape) {
        case ("GET", ["schedule"]): answer = try schedule(request, now, isWeb: false)
        case ("GET", ["schedule", "web"]): answer = try schedule(request, now, isWeb: true)
        case ("GET", ["shows", "#"]):
            _ = try SimulatedParameters(request, in: [])
            let weight = weight()
            let show = world.shows[id ?? 0].map { world.document($0, weight: weight) }
            answer = show.map { .json(200, $0) } ?? TVmazeSimulator.unknown
        case ("GET", ["shows", "#", "cast"]):
            _ = try SimulatedParameters(request, in: [])
            let cast = world.shows[id ?? 0].map { world.casts[$0.id] ?? [] }
            let roles = cast.map { SimulatedJSON.array($0.map { world.document($0) }) }
            answer = roles.map { .json(200, $0) } ?? TVmazeSimulator.unknown
        default: throw .route
        }
        return kept(answer)
    }

    private mutating func schedule(
        _ request: SimulatedRequest, _ now: Int64, isWeb: Bool
    ) throws(OutsideTables) -> SimulatedResponse {
        let parameters = try SimulatedParameters(
            request, in: .query, allowed: ["country", "date"])
        // Of web channels all countries are shown where none is named.
        let country = parameters["country"] ?? (isWeb ? nil : "US")
        let today = CalendarDay(milliseconds: now, offsetSeconds: 0)
        guard let day = parameters["date"].map({ CalendarDay($0) }) ?? today else {
            throw OutsideTables("the date is no day")
        }
        let rows = world.schedule(of: day.description, country: country, isWeb: isWeb).map {
            world.listed($0, weight: weight())
        }
        return .json(200, .array(rows))
    }

    private mutating func weight() -> Int { core.dice.below(100) }

    private func kept(_ answer: SimulatedResponse) -> SimulatedResponse {
        guard let maxAgeSeconds else { return answer }
        var answer = answer
        answer.headers.append(
            SimulatedField("Cache-Control", "public, max-age=\(maxAgeSeconds)"))
        return answer
    }

    private static let unknown = SimulatedResponse.json(
        404, ["name": "Not Found", "message": "Unknown show", "code": 0, "status": 404])
}
