internal import Tapedeck

/// The TVmaze system: broadcast schedules of shows, and their casts.
///
/// The system has no logins and no writes. The simulator reproduces these quirks of the real
/// system:
///
/// - The network schedule lists an episode on the day when it begins in the channel's time zone,
///   although a late-night episode belongs to the previous day.
/// - The web schedule lists an episode on the day that it belongs to, and embeds the show in a
///   different place.
/// - An episode without a time of day begins at noon.
/// - A cancelled episode is not reported; it is simply missing.
/// - A show's `weight`, a measure of its popularity, changes although its `updated` time does not.
/// - Every response, including a 404, can be cached for an hour according to its `Cache-Control`.
/// - More than 20 requests in 10 s are rejected.
public struct TVmazeSimulator: RemoteSimulator, SimulatorEngine {
    /// The system's data; tests may change it at any time.
    public var world: TVmazeWorld
    /// The maximum age in `Cache-Control`, in seconds; nil to omit the header.
    public var maxAgeSeconds: Int? = 3_600
    /// The maximum number of requests per `SimulatorAdversary.quotaMilliseconds`.
    public static let requestsMax = 20
    var core: SimulatorCore

    /// Creates a simulator with the given world.
    public init(world: TVmazeWorld, seed: UInt64 = 0, adversary: SimulatorAdversary = .none) {
        self.world = world
        core = SimulatorCore(seed: seed, adversary: adversary)
        self.adversary = adversary
    }

    /// Creates a simulator with a world generated as of `now`.
    public init(seed: UInt64, at now: Int64, adversary: SimulatorAdversary = .none) {
        self.init(world: TVmazeWorld(seed: seed, at: now), seed: seed, adversary: adversary)
    }

    /// The requests that the system's API description does not cover.
    public var violations: [SimulatorViolation] { core.violations }
    /// Always empty, because the system has no writes.
    public var effects: [SimulatorEffect] { core.effects }

    /// The injected faults, in addition to the permanent quota.
    public var adversary: SimulatorAdversary {
        get { core.adversary }
        set {
            core.adversary = newValue
            core.adversary.quotaMax = min(newValue.quotaMax ?? .max, TVmazeSimulator.requestsMax)
        }
    }

    /// Handles a request that arrives at `now`, in milliseconds since 1970.
    public mutating func respond(to request: SimulatedRequest, at now: Int64) -> SimulatedAnswer {
        take(request, at: now)
    }

    /// Applies the schedule changes that occur up to `now`.
    public mutating func advance(to now: Int64) { pass(until: now) }

    /// Does nothing, because TVmaze has no tokens.
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
        // The web schedule covers all countries unless a country is given.
        let country = parameters["country"] ?? (isWeb ? nil : "US")
        let today = CalendarDay(milliseconds: now, offsetSeconds: 0)
        guard let day = parameters["date"].map({ CalendarDay($0) }) ?? today else {
            throw OutsideTables("date is not a day")
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
