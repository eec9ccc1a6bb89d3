/// The 2012 Shelby system: API v2 with OAuth 1.0a.
///
/// The simulator reproduces these quirks of the real system:
///
/// - A successful read returns an array; a failed read or write returns an object with `err`,
///   whatever the HTTP status. In the response to a successful write, `err` is null.
/// - There is no paging and no `since`. Every poll returns the complete list, and a deleted row is
///   simply missing.
/// - Dates are truncated to the second and end in `.000Z`.
/// - Older rows lack `owner_watch_later`.
///
/// Every request must be signed as OAuth 1.0a requires: the token, the signature, the time and the
/// nonce are checked.
public struct ShelbyV2Simulator: RemoteSimulator, SimulatorEngine {
    /// The system's data; tests may change it at any time.
    public var world: ShelbyV2World
    /// The HTTP status of a response with `err`; 200 by default, so that clients cannot rely on the
    /// status.
    public var errorStatus = 200
    /// The HTTP status of a response with `err` to an unauthorized request.
    public var unauthorizedStatus = 401
    var core: SimulatorCore
    var access: ShelbyV2Access
    var made = 0

    /// Creates a simulator with the given world.
    public init(world: ShelbyV2World, seed: UInt64 = 0, adversary: SimulatorAdversary = .none) {
        self.world = world
        core = SimulatorCore(seed: seed, adversary: adversary)
        access = ShelbyV2Access()
    }

    /// Creates a simulator with a world generated as of `now`.
    public init(seed: UInt64, at now: Int64, adversary: SimulatorAdversary = .none) {
        self.init(world: ShelbyV2World(seed: seed, at: now), seed: seed, adversary: adversary)
    }

    /// The requests that the system's API description does not cover.
    public var violations: [SimulatorViolation] { core.violations }
    /// The writes that took effect, in order.
    public var effects: [SimulatorEffect] { core.effects }

    /// The injected faults.
    public var adversary: SimulatorAdversary {
        get { core.adversary }
        set { core.adversary = newValue }
    }

    /// Handles a request that arrives at `now`, in milliseconds since 1970.
    public mutating func respond(to request: SimulatedRequest, at now: Int64) -> SimulatedAnswer {
        take(request, at: now)
    }

    /// Performs the actions of other users until `now`.
    public mutating func advance(to now: Int64) { pass(until: now) }

    /// Invalidates every access token.
    public mutating func expireTokens() { world.tokens = [:] }

    // MARK: - Routes

    mutating func route(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let path = request.segments
        if path.first == "oauth" { return try routeAccess(request, now) }
        switch (request.method, path.count) {
        case ("GET", 2) where path == ["v2", "users.json"]:
            _ = try SimulatedParameters(request, in: .query)
            return authorized(request, now) { .array([$0.document]) }
        case ("GET", 2) where path == ["v2", "authentications.json"]:
            _ = try SimulatedParameters(request, in: .query)
            return authorized(request, now) { .array($0.services.map { .text($0) }) }
        case ("GET", 2) where path == ["v2", "channels.json"]:
            _ = try SimulatedParameters(request, in: .query)
            let channels = world.channels
            return authorized(request, now) { user in
                .array(channels.filter { $0.owner == user.id }.map(\.document))
            }
        case ("GET", 4)
        where path[0] == "v2" && path[1] == "channels" && path[3] == "broadcasts.json":
            return try broadcasts(of: path[2], request, now)
        case ("PUT", 3)
        where path[0] == "v2" && path[1] == "broadcasts" && path[2].hasSuffix(".json"):
            return try update(String(path[2].dropLast(".json".count)), request, now)
        case ("POST", 2) where path == ["v2", "socializations.json"]:
            return try share(request, now)
        default: throw .route
        }
    }

    func failure(_ text: String) -> SimulatedResponse { .json(errorStatus, ["err": .text(text)]) }

    /// Returns the user of a request, or nil if the request's token is unknown or expired, or its
    /// signature is invalid.
    mutating func user(of request: SimulatedRequest, _ now: Int64) -> ShelbyV2World.User? {
        guard let token = SimulatedOAuth.parameters(of: request)["oauth_token"],
            let user = world.tokens[token],
            access.isSigned(request, world.secrets[token] ?? "", at: now),
            access.isAlive(token, at: now, core.adversary.tokenLifeMilliseconds)
        else { return nil }
        return world.user(user)
    }

    var unauthorized: SimulatedResponse {
        .json(unauthorizedStatus, ["err": "You must be logged in to do that"])
    }

    private mutating func authorized(
        _ request: SimulatedRequest, _ now: Int64,
        _ answer: (ShelbyV2World.User) -> SimulatedJSON
    ) -> SimulatedResponse {
        guard let user = user(of: request, now) else { return unauthorized }
        return .json(200, answer(user))
    }
}
